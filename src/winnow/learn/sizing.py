"""How the budget of an additive model is divided, and which noise its tables get."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from winnow.core.checks import Real, delta_range, exact, positive
from winnow.learn.crossing import AdditiveModel, SealedLabelled
from winnow.privacy import Event, Guarantee, calibrate, guarantee_of

CHOICE = Fraction(1, 6)
"""The part of epsilon that chooses among the models; the tables get what is left."""


@dataclass(frozen=True)
class SizedModel:
    """An additive model within a budget, what it promises, and why its noise was taken."""

    model: AdditiveModel
    guarantee: Guarantee
    reason: str


def sized_model(
    labelled: SealedLabelled,
    columns: int,
    *,
    epsilon: Real,
    delta: Real,
    balanced: bool,
    accountant: str,
) -> SizedModel:
    """The noise with the smaller standard deviation: Laplace, or Gaussian where a delta allows.

    Both follow from public numbers: columns, rows per person, relation, epsilon and delta.
    """
    positive(epsilon=epsilon)
    delta_range(delta=delta)
    total, relation = exact("epsilon", epsilon), labelled.relation
    share = total * CHOICE

    def made(law: str, multiplier: Real) -> AdditiveModel:
        allowed = delta if law == "gaussian" else 0
        return AdditiveModel(law, multiplier, share, columns, balanced, allowed)

    plain = made("laplace", 1 / (total - share))
    least = guarantee_of(plain.promise(relation).event)
    if exact("delta", delta) == 0 or accountant == "pure":
        return SizedModel(plain, least, "")

    def plan(parameter: float) -> Event:
        return made("gaussian", 1 / exact("parameter", parameter)).promise(relation).event

    found = calibrate(plan, epsilon=epsilon, delta=delta, accountant=accountant)
    normal = made("gaussian", 1 / exact("parameter", found.parameter))
    laplace, gaussian = plain.deviation(labelled), normal.deviation(labelled)
    reason = f"standard deviation of a cell: Laplace {laplace:.3g}, Gaussian {gaussian:.3g}"
    if laplace <= gaussian:
        return SizedModel(plain, least, reason)
    return SizedModel(normal, found.guarantee, reason)
