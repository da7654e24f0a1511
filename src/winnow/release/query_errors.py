"""How wrong the answers of a synthetic distribution may be, from public numbers only.

Each round compares its distribution with the data in one place: the gap between the noisy count
of the selected query and the distribution's answer. The noise is fresh and the selected query
is near the worst one, so gaps tell about the largest error over the workload. Nothing here
looks at the data again.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from winnow.core.checks import probability

Floats = NDArray[np.float64]


class KnownErrors(Protocol):
    """What every method can say about the errors of its answers, as fractions of the total."""

    @property
    def noise(self) -> float:
        """Standard deviation of one measurement, or of an answer in the mean."""

    @property
    def estimate(self) -> float:
        """An estimate of the largest error over the workload's queries."""

    def bound(self, confidence: float = 0.95) -> float:
        """What the largest error over the workload stays below with this probability."""

    def to_dict(self) -> dict[str, Any]:
        """The numbers as plain data."""


@dataclass(frozen=True, eq=False)
class RunErrors:
    """What the rounds of one run tell about the errors over its queries.

    All numbers are fractions of the public total.
    """

    gaps: Floats
    """Of each round: measured minus what the distribution then said."""
    noise: float
    """Standard deviation of one measurement."""
    laplace: bool
    selection: float
    """2 L/(epsilon N): by how much per nat the selected query may miss the worst one."""
    queries: int
    average: bool
    """Whether the result is the mean of the measured distributions, or came after the last."""
    drift: float
    """By how much an answer can differ between the last measured distribution and the result."""

    @property
    def estimate(self) -> float:
        """An estimate of the largest error over the workload's queries.

        The largest gap of the last quarter of the rounds; where the result is the mean of all
        distributions, the mean size of all gaps plus the noise of one. It is no bound: gaps carry
        noise, and the selection may miss the worst query. On generated tables (mixtures, 1,000
        to 3,000 cells, 2,000 to 30,000 rows) and on ADULT (20,000 to 1.8M cells) it was 0.75
        to 1.6 times the true largest error for the last distribution, 0.6 to 1.7 times for the
        mean.
        """
        if not len(self.gaps):
            return math.nan
        if self.average:
            return float(np.mean(np.abs(self.gaps))) + self.noise
        return float(np.max(np.abs(self.gaps[-max(1, len(self.gaps) // 4) :])))

    def bound(self, confidence: float = 0.95) -> float:
        """What the largest error stays below with this probability, whatever the data are.

        By the exponential mechanism's utility [McSherry-Talwar 2007] the distribution of round
        t errs nowhere by more than the error at its selected query plus
        selection x ln(2m/beta'), and that error is the gap up to the noise. The mean of
        distributions errs by at most the mean of their errors; the last one by its own, plus the
        drift of the final update. beta' = (1 - confidence)/(2 rounds looked at).
        """
        probability(confidence=confidence)
        looked = self.gaps if self.average else self.gaps[-1:]
        if not len(looked):
            return 1.0
        share = (1 - float(confidence)) / (2 * len(looked))
        if self.laplace:
            noise = self.noise / math.sqrt(2) * (math.log(1 / share) + 1)
        else:
            noise = self.noise * math.sqrt(2 * math.log(2 / share))
        slack = self.selection * math.log(2 * self.queries / share)
        return min(1.0, float(np.mean(np.abs(looked))) + noise + slack + self.drift)


@dataclass(frozen=True, eq=False)
class TableErrors:
    """What rounds over whole tables tell about the errors over their cells."""

    gaps: Floats
    """Of each round: the largest of its table's, measured minus what the distribution said."""
    noise: float
    """Standard deviation of one measured cell."""

    @property
    def estimate(self) -> float:
        """An estimate of the largest error over the workload's cells.

        The largest gap of the last quarter of the rounds. It holds the largest noise of a
        table, and not what that table taught: usually it is too large.
        """
        return float(np.max(np.abs(self.gaps[-max(1, len(self.gaps) // 4) :])))

    def bound(self, confidence: float = 0.95) -> float:
        """Nothing is proved about the largest error: the selection is by sums over tables."""
        probability(confidence=confidence)
        return 1.0


@dataclass(frozen=True)
class QueryErrors:
    """The errors of all runs of a release: one, or one for each group of columns."""

    runs: tuple[RunErrors | TableErrors, ...]

    @property
    def noise(self) -> float:
        """Standard deviation of one measurement, as a fraction of the total."""
        return self.runs[0].noise

    @property
    def estimate(self) -> float:
        """An estimate of the largest error over the workload's queries."""
        return max(run.estimate for run in self.runs)

    def bound(self, confidence: float = 0.95) -> float:
        """What the largest error over the workload stays below with this probability."""
        probability(confidence=confidence)
        each = 1 - (1 - float(confidence)) / len(self.runs)
        return max(run.bound(each) for run in self.runs)

    def to_dict(self) -> dict[str, Any]:
        """The numbers as plain data."""
        return {
            "estimate": self.estimate,
            "bound_95": self.bound(0.95),
            "noise": self.noise,
            "rounds": [len(run.gaps) for run in self.runs],
        }


def farthest(fractions: Floats) -> Floats:
    """How far an answer can be from the truth at all, both between 0 and all rows."""
    return np.asarray(np.maximum(fractions, 1.0 - fractions))
