"""What is predicted of each method, from public numbers only."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

EXACT, THUMB, PROMISED, UNKNOWN = "exact formula", "rule of thumb", "promised", "unknown"


def unknown(method: str, note: str, seconds: float = 0.0) -> Prediction:
    """Nothing is known of the errors of a method."""
    return Prediction(method, None, None, None, seconds, UNKNOWN, note)


@dataclass(frozen=True)
class Prediction:
    """The errors to expect of a method over all queries, in rows; None: nothing is known."""

    method: str
    largest: float | None
    mean: float | None
    rms: float | None
    seconds: float
    kind: str
    note: str = ""

    def capped(self, rows: int | None) -> Prediction:
        """A prediction with no error above the number of rows: more cannot be wrong."""
        if rows is None:
            return self

        def at_most(error: float | None) -> float | None:
            return None if error is None else min(error, float(rows))

        return replace(
            self, largest=at_most(self.largest), mean=at_most(self.mean), rms=at_most(self.rms)
        )

    @property
    def errors(self) -> tuple[float | None, float | None, float | None]:
        """The largest, the mean and the root mean square error."""
        return self.largest, self.mean, self.rms

    @property
    def score(self) -> float:
        """What is minimised: the geometric mean of the largest and the mean error."""
        if self.largest is None or self.mean is None:
            return math.inf
        return math.sqrt(self.largest * self.mean)

    def worse_than(self, other: Prediction) -> bool:
        """Whether anything is predicted to be worse, in the largest or in the mean error."""
        if self.largest is None or self.mean is None:
            return True
        assert other.largest is not None and other.mean is not None
        slack = 1 + 1e-9
        return self.largest > slack * other.largest or self.mean > slack * other.mean


def reason_for(taken: Prediction, plain: Prediction) -> str:
    """Why a method is taken, for the receipt."""
    if taken.largest is None or taken.mean is None:
        return f"{taken.method}: {taken.note}"
    against = "" if plain.largest is None or plain.mean is None else (
        f", against {plain.largest:.3g} and {plain.mean:.3g} of {plain.method}"
    )  # fmt: skip
    return (
        f"{taken.method}: predicted largest error {taken.largest:.3g} rows and mean "
        f"{taken.mean:.3g} ({taken.kind}){against}"
    )
