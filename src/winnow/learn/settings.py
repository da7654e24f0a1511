"""What is fixed before data are looked at: shares of epsilon, the noise, rounds, and the kind.

All of it follows from public numbers: rows (where their number is public), rules, columns, classes,
rows per person, relation, epsilon and delta.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction

from winnow.core.checks import Real, delta_range, exact, positive
from winnow.core.unit import counted
from winnow.errors import ParameterError
from winnow.learn.crossing.additive import AdditiveModel
from winnow.learn.crossing.balanced import BalancedRule
from winnow.learn.crossing.boosted import BoostedRules
from winnow.learn.crossing.either import EitherModel
from winnow.learn.crossing.rows import SealedLabelled
from winnow.learn.features import Feature
from winnow.learn.rules import RuleClass
from winnow.learn.words import CONJUNCTIONS
from winnow.privacy import Event, Guarantee, calibrate, guarantee_of

CHOICE = Fraction(1, 6)
"""The part of epsilon that chooses among the models; the tables get what is left."""
BETWEEN = Fraction(1, 10)
"""The part of epsilon that chooses an additive model, rules or both; these share the rest."""
SIZES = Fraction(1, 10)
"""The part of epsilon that the noisy sizes of the classes get, before rules are chosen."""
ASSUMED = 2_000
"""Rows that are assumed where their number is not public."""
MOST_ROUNDS = 50
"""Rounds that are taken unasked."""
_WANTED = 4
"""Rows over the scale of a round's noise, for each round and each nat of the class of rules."""
_GUMBEL = math.pi / math.sqrt(6.0)
"""The standard deviation of the exponential mechanism's noise; that of permute-and-flip's is 1."""


@dataclass(frozen=True)
class Given:
    """The public numbers that sizes follow from."""

    epsilon: Real
    delta: Real
    balanced: bool
    rows: int | None
    accountant: str
    where_rare: bool = False


@dataclass(frozen=True)
class SizedModel:
    """An additive model within a budget, what it promises, and why its noise was taken."""

    model: AdditiveModel
    guarantee: Guarantee
    reason: str


@dataclass(frozen=True)
class SizedRules:
    """Boosted rules within a budget, what they promise, and why so many rounds."""

    rules: BoostedRules
    guarantee: Guarantee
    reason: str


@dataclass(frozen=True)
class SizedEither:
    """An additive model and a vote within a budget, what they promise, and why so many rounds."""

    either: EitherModel
    guarantee: Guarantee
    reason: str


def sized_either(labelled: SealedLabelled, columns: int, size: int, given: Given) -> SizedEither:
    """Both models with half each of what the choice between them leaves of epsilon and delta.

    With a delta the three together may cost less than their sum: then all have more of epsilon, if
    what they promise together is no more than what was asked for. A budget that adds up in its own
    way gets the sum.
    """
    total = exact("epsilon", given.epsilon)
    rules = rules_of_half(labelled, size, given, total)
    either = _sized_either(labelled, columns, given, total, rules)
    if either.guarantee.delta > 0 and given.accountant == "best":
        stretched = _OF_SPARE * total**2 / exact("epsilon", either.guarantee.epsilon)
        if stretched > total:
            rules = rules_of_half(labelled, size, given, stretched, rules.rules.rounds)
            more = _sized_either(labelled, columns, given, stretched, rules)
            if exact("epsilon", more.guarantee.epsilon) <= total:
                return replace(more, reason=either.reason)
    return either


_OF_SPARE = Fraction(49, 50)
"""Of what the first try left over; all of it would not always fit, for costs are not linear."""


def rules_of_half(
    labelled: SealedLabelled, size: int, given: Given, total: Fraction, rounds: int | None = None
) -> SizedRules:
    """The vote, with its half; weights of classes come from the tables of the other model."""
    part = _half(given, total)
    if given.balanced:
        labelled = replace(labelled, class_weights=(1000,) * len(labelled.classes))
    plain = replace(part, balanced=False, where_rare=False)
    return sized_rules(labelled, size, rounds=rounds, **vars(plain))


def _half(given: Given, total: Fraction) -> Given:
    epsilon, delta = (1 - BETWEEN) * total / 2, exact("delta", given.delta) / 2
    return replace(given, epsilon=epsilon, delta=delta)


def _sized_either(
    labelled: SealedLabelled, columns: int, given: Given, total: Fraction, rules: SizedRules
) -> SizedEither:
    model = sized_model(labelled, columns, **vars(_half(given, total)))
    made = EitherModel(model.model, rules.rules, BETWEEN * total)
    delta = model.guarantee.delta + rules.guarantee.delta
    together = guarantee_of(made.promise(labelled.relation).event, delta)
    return SizedEither(made, together, rules.reason)


def sized_model(
    labelled: SealedLabelled,
    columns: int,
    *,
    epsilon: Real,
    delta: Real,
    balanced: bool,
    accountant: str,
    rows: int | None = None,
    where_rare: bool = False,
) -> SizedModel:
    """The noise with the smaller standard deviation: Laplace, or Gaussian where a delta allows."""
    positive(epsilon=epsilon)
    delta_range(delta=delta)
    total, relation = exact("epsilon", epsilon), labelled.relation
    share = total * CHOICE

    def made(law: str, multiplier: Real) -> AdditiveModel:
        allowed = delta if law == "gaussian" else 0
        return AdditiveModel(law, multiplier, share, columns, balanced, allowed, where_rare)

    plain = made("laplace", 1 / (total - share))
    least = guarantee_of(plain.promise(relation).event)
    if exact("delta", delta) == 0 or accountant == "pure":
        return SizedModel(plain, least, "")

    def plan(parameter: float) -> Event:
        return made("gaussian", 1 / exact("parameter", parameter)).promise(relation).event

    calibrated = calibrate(plan, epsilon=epsilon, delta=delta, accountant=accountant)
    normal = made("gaussian", 1 / exact("parameter", calibrated.parameter))
    laplace, gaussian = plain.deviation(labelled), normal.deviation(labelled)
    reason = f"standard deviation of a cell: Laplace {laplace:.3g}, Gaussian {gaussian:.3g}"
    if laplace <= gaussian:
        return SizedModel(plain, least, reason)
    return SizedModel(normal, calibrated.guarantee, reason)


def sized_rules(
    labelled: SealedLabelled,
    size: int,
    *,
    rows: int | None,
    rounds: int | None,
    epsilon: Real,
    delta: Real,
    balanced: bool,
    accountant: str,
    where_rare: bool = False,
) -> SizedRules:
    """Boosted rules of a class of this size; as many rounds as its rows can tell apart.

    Each round gets its part of epsilon by permute-and-flip, or by the exponential mechanism
    where a delta composes its rounds to noise of a smaller standard deviation. More rounds vote
    better and choose with more noise: the most rounds T are taken for which the rows, over the
    scale of a round's noise, are 4 T ln(size) or more. Weights of classes halve the rows, because
    rows of the heaviest class alone count fully.
    """
    positive(epsilon=epsilon)
    delta_range(delta=delta)

    def sized(number: int) -> SizedRules:
        rules_sized = _rounds(labelled, number, epsilon, delta, balanced, accountant)
        return replace(rules_sized, rules=replace(rules_sized.rules, where_rare=where_rare))

    if rounds is not None:
        return sized(int(rounds))
    weighed = balanced or labelled.class_weights is not None
    known = ASSUMED if rows is None else rows
    rows_of_rules = known / (2 if weighed else 1)
    width = labelled.rows_per_person * labelled.relation.people

    def enough(number: int) -> bool:
        rows_over_noise = rows_of_rules * _strength(sized(number).rules) / width
        return rows_over_noise >= _WANTED * number * math.log(max(2, size))

    low, high = 1, MOST_ROUNDS + 1  # strength falls as rounds grow
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if enough(middle) else (low, middle)
    taken = 1 if low == 2 else low  # the second of two votes is never decisive
    rules_sized = sized(taken)
    noted = "assumed" if rows is None else "public"
    why = f"{counted(taken, 'round')} for {known:,} rows ({noted}) and {size:,} rules"
    return SizedRules(rules_sized.rules, rules_sized.guarantee, f"{why}; {rules_sized.reason}")


def _strength(rules: BoostedRules) -> float:
    """One over the standard deviation of a round's noise, if one person moves scores by 1."""
    spread = _GUMBEL if rules.selection == "exponential" else 1.0
    return float(exact("epsilon", rules.epsilon)) / spread


def _rounds(
    labelled: SealedLabelled,
    number: int,
    epsilon: Real,
    delta: Real,
    balanced: bool,
    accountant: str,
) -> SizedRules:
    """So many rounds, with the noise of the smaller standard deviation."""
    total, relation = exact("epsilon", epsilon), labelled.relation
    sizes = total * SIZES if balanced else None
    plain = BoostedRules(number, (total - (sizes or 0)) / number, sizes=sizes)
    least = guarantee_of(plain.promise(relation).event)
    reason = f"permute-and-flip with epsilon {float(exact('epsilon', plain.epsilon)):.3g} each"
    if exact("delta", delta) == 0 or accountant == "pure":
        return SizedRules(plain, least, reason)

    def made(parameter: Real) -> BoostedRules:
        return BoostedRules(number, parameter, "exponential", sizes, delta)

    calibrated = calibrate(
        lambda parameter: made(exact("parameter", parameter)).promise(relation).event,
        epsilon=epsilon, delta=delta, accountant=accountant,
    )  # fmt: skip
    composed = made(exact("parameter", calibrated.parameter))
    if _strength(composed) <= _strength(plain):
        return SizedRules(plain, least, f"{reason}; the delta would not help")
    each = f"the exponential mechanism with epsilon {calibrated.parameter:.3g} each"
    return SizedRules(composed, calibrated.guarantee, each)


def longest_rules(features: tuple[Feature, ...]) -> int:
    """Two tests in a rule, or one where pairs would be too many to score."""
    try:
        RuleClass(features, CONJUNCTIONS, 2)
    except ParameterError:
        return 1
    return 2


def balanced_rule(epsilon: Real, where_rare: bool = False) -> BalancedRule:
    """One rule for balanced accuracy: a tenth of epsilon for the sizes of the classes."""
    positive(epsilon=epsilon)
    total = exact("epsilon", epsilon)
    return BalancedRule(total * SIZES, total * (1 - SIZES), where_rare)


def because(why: str, own: str) -> str:
    """The reason for the kind, where Winnow chose it, and that for its mechanism."""
    return "; ".join(part for part in (why, "" if own and own in why else own) if part)
