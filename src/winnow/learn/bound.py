"""Generalisation of a privately chosen hypothesis, with every constant written out.

Let n rows be independent draws from one distribution, err the error rate on a new row, err^ the
share of wrong rows, h* the best of the class H and h the one released. Three events, each with
probability at most eta/3, spoil the bound:

  err(h) > err^(h) + sqrt(ln(3 |H|/eta)/(2n))        Hoeffding for every member of H, added up
  err^(h*) > err(h*) + sqrt(ln(3/eta)/(2n))          Hoeffding for h* alone
  err^(h) > err^(h*) + E/n                           the mechanism's own error, in rows

so err(h) - err(h*) is at most the sum of the three terms. [Hoeffding 1963; LMM, Section 4.2,
whose Corollary 2 hides these constants]

E, with the sensitivity Delta of a number of correct rows, at eta' = eta/3:

  exponential, permute-and-flip   2 Delta (ln |H| + ln(1/eta'))/epsilon
  large margin                    6 Delta ln(2 l/eta')/epsilon       [LMM, Thm 3, ln(3/eta)]

For the large margin mechanism l = |H| needs no assumption. If at most l hypotheses lie within
Delta (21 ln(3/eta')/epsilon + T(l)) correct rows of the best, that l serves.

With a noisy number of correct rows C + Z, discrete Laplace noise of scale s: the events
err(h) > err^(h) + sqrt(ln(2 |H|/eta)/(2n)) and Z > s ln(2/eta) have probability eta/2 each,
so err(h) <= 1 - (C + Z)/n + s ln(2/eta)/n + sqrt(ln(2 |H|/eta)/(2n)).
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from winnow.core.checks import Real, count, delta_range, exact, one_of, positive, probability
from winnow.core.notebook import Card, InNotebook, text_card
from winnow.core.relation import Relation
from winnow.core.utility import Utility
from winnow.errors import ParameterError
from winnow.foreign import guarded
from winnow.select.mechanisms.margin_search import THRESHOLDS, stopping_margin


@dataclass(frozen=True)
class GeneralisationBound:
    """How far the classifier is from the best of its class, on new rows of the same source.

    It holds with probability `confidence` over the draw of the rows and of the noise, if the
    rows are independent draws from one distribution, one for each person.
    """

    confidence: float
    rows: int
    hypotheses: int
    estimation: float
    """What finitely many rows cost: Hoeffding's inequality over the class."""
    privacy: float
    """What privacy costs, in accuracy."""
    error: float | None
    """A bound on the error rate itself, at the same confidence, if a noisy accuracy was paid
    for; else None."""
    statement: str
    citation: str

    @property
    def excess(self) -> float:
        """err(released) - min err over the class is at most this; 1 where nothing is promised."""
        return min(self.estimation + self.privacy, 1.0)

    def to_dict(self) -> dict[str, Any]:
        """The bound as plain data, ready for JSON."""
        return {**asdict(self), "excess": self.excess}

    def __str__(self) -> str:
        sure = f"{100 * self.confidence:.6g} %"
        about = f"at {sure}, the error rate exceeds the best of the class by {self.excess:.4g}"
        if self.error is not None:
            about += f" at most, and is {min(self.error, 1.0):.4g}"
        return f"{about} at most"


MECHANISMS = ("large-margin", "permute-and-flip", "exponential")


def estimation_error(hypotheses: int, rows: int, miss: float) -> float:
    """What finitely many rows cost: the first two terms."""
    every = math.sqrt(math.log(3.0 * hypotheses / miss) / (2.0 * rows))
    return every + math.sqrt(math.log(3.0 / miss) / (2.0 * rows))


def privacy_error(
    mechanism: str, hypotheses: int, sensitivity: float, epsilon: Real, miss: float
) -> float:
    """What privacy costs, in rows, when nothing is assumed: E at eta' = miss/3.

    ``hypotheses`` may be the l of the large margin mechanism.
    """
    share = miss / 3.0
    if mechanism == "large-margin":
        return 6.0 * sensitivity * math.log(2.0 * hypotheses / share) / float(epsilon)
    return 2.0 * sensitivity * (math.log(hypotheses) - math.log(share)) / float(epsilon)


def margin_in_rows(
    near: int, sensitivity: float, epsilon: Real, delta: Real, thresholds: str, miss: float
) -> float:
    """How many correct rows hypothesis l + 1 must lie behind the best for l to serve."""
    stop = stopping_margin(np.array([near]), float(epsilon), float(delta), thresholds)
    return sensitivity * (21.0 * math.log(9.0 / miss) / float(epsilon) + float(stop[0]))


def error_bound(correct: int, scale: float, hypotheses: int, rows: int, miss: float) -> float:
    """A bound on the error rate itself from a noisy number of correct rows."""
    noise = scale * math.log(2.0 / miss)
    return (
        1.0 - (correct - noise) / rows + math.sqrt(math.log(2.0 * hypotheses / miss) / (2.0 * rows))
    )


def statement(mechanism: str) -> str:
    """E in words, Delta being the sensitivity of a number of correct rows."""
    if mechanism == "large-margin":
        return "E(eta) = 6 Delta ln(2 |H|/eta)/epsilon"
    return "E(eta) = 2 Delta ln(|H|/eta)/epsilon"


def source(mechanism: str) -> str:
    """Where E comes from."""
    if mechanism == "large-margin":
        return "LMM, Thm 3, with ln(3/eta) for the printed ln(3/n)"
    extra = "; McKenna-Sheldon 2020" if mechanism == "permute-and-flip" else ""
    return f"FastMWEM, Thm 2.3; Canonical, Lemma A.19{extra}"


@dataclass(frozen=True)
class RuleBound:
    """What one mechanism promises of one rule on new rows."""

    mechanism: str
    privacy: float
    """What privacy costs, in accuracy; 1: all of it."""
    excess: float
    """err(released) - min err over the class is at most this, at the confidence; 1 where nothing
    is promised."""
    margin: float | None
    """The assumption, in correct rows: at most so many hypotheses lie within it of the best;
    None: nothing is assumed."""
    citation: str


@dataclass(frozen=True)
class RuleBounds(InNotebook):
    """What each mechanism promises of one rule on new rows, from public numbers alone."""

    hypotheses: int
    rows: int
    epsilon: float
    """For the choice."""
    delta: float
    thresholds: str
    confidence: float
    relation: str
    estimation: float
    """What finitely many rows cost, with or without privacy."""
    table: tuple[RuleBound, ...]

    @property
    def best(self) -> RuleBound:
        """The row with the least excess among those that assume nothing.

        Where none promises anything, permute-and-flip, which needs no assumption to do well.
        """
        return min(
            (row for row in self.table if row.margin is None),
            key=lambda row: (row.excess, row.mechanism == "large-margin"),
        )

    def near(self, number: int) -> RuleBounds:
        """With what large-margin promises if only so many hypotheses lie near the best."""
        count(near=number)
        if not self.delta:
            raise ParameterError("near is for the large margin mechanism, which needs delta > 0")
        if number > self.hypotheses:
            raise ParameterError(f"near={number} exceeds {self.hypotheses} hypotheses; lower it")
        return replace(self, table=(*self.table, self._row("large-margin", int(number))))

    def _row(self, mechanism: str, near: int | None = None) -> RuleBound:
        utility = Utility.declare(1, monotone=True, relation=Relation.parse(self.relation))
        half, miss = float(utility.half_width), 1.0 - self.confidence
        among = self.hypotheses if near is None else near
        cost = privacy_error(mechanism, among, half, self.epsilon, miss) / self.rows
        excess = min(self.estimation + cost, 1.0)  # an error rate is no higher
        margin = None
        if near is not None:
            margin = margin_in_rows(near, half, self.epsilon, self.delta, self.thresholds, miss)
        return RuleBound(mechanism, min(cost, 1.0), excess, margin, source(mechanism))

    def to_dict(self) -> dict[str, Any]:
        """The bounds as plain data, ready for JSON."""
        return {**vars(self), "table": [vars(row) for row in self.table]}

    def _card(self) -> Card:
        return text_card(str(self))

    def __str__(self) -> str:
        lines = [
            f"{self.hypotheses:,} hypotheses, {self.rows:,} rows, epsilon {self.epsilon:.6g}: at "
            f"{100 * self.confidence:.6g} % the error rate exceeds the best of the class by at "
            "most"
        ]
        for row in self.table:
            words = "" if row.margin is None else f", if the next lies {row.margin:.0f} rows behind"
            promised = f"{row.excess:.4f}{words}" if row.excess < 1 else "nothing is promised"
            lines.append(f"{row.mechanism:<18}{promised}")
        return "\n".join(lines)


@guarded
def learning_bound(
    hypotheses: int,
    *,
    rows: int,
    epsilon: Real,
    delta: Real = 0.0,
    near: int | None = None,
    thresholds: str = "tight",
    confidence: Real = 0.95,
    relation: str | Relation = Relation.SUBSTITUTION,
) -> RuleBounds:
    """Say what is promised of one of so many hypotheses on new rows, for each mechanism.

    ``rows`` is the number of rows, one for each person. With ``near`` there is a further row for
    the large margin mechanism: what it promises if all but `near` hypotheses lie far enough
    behind the best, and how far that is.
    """
    count(hypotheses=hypotheses)
    count(rows=rows)
    positive(epsilon=epsilon)
    delta_range(delta=delta)
    probability(confidence=confidence)
    one_of(THRESHOLDS, thresholds=thresholds)
    sure = float(confidence)
    bounds = RuleBounds(
        hypotheses=int(hypotheses),
        rows=int(rows),
        epsilon=float(epsilon),
        delta=float(delta),
        thresholds=thresholds,
        confidence=sure,
        relation=str(Relation.parse(relation)),
        estimation=min(estimation_error(int(hypotheses), int(rows), 1.0 - sure), 1.0),
        table=(),
    )
    named = MECHANISMS[0 if exact("delta", delta) > 0 else 1 :]
    bounds = replace(bounds, table=tuple(map(bounds._row, named)))
    return bounds if near is None else bounds.near(near)
