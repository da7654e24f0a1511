"""The guarantee table: which noise, reduced in which way, promises what, and why.

One sampler serves many mechanisms, so the guarantee cannot be read off the sampler. It
is looked up here, in one table with a citation per row; a combination that has no row
raises ``GuaranteeError``, however plausible it looks.

Every row holds under both neighbour relations. The proofs use only how far one person
moves a score, and ``core.utility`` computes that number natively for the relation
(monotone halving under add-remove, none under substitution). Scores are divided by that
sensitivity before noise of scale 1 is added: for the five selection laws the noisy score
is epsilon/(2 kappa sensitivity) x score + noise.

Citations: Canonical, LMM, Joint are the papers that this library implements, with their
errata; the others are named by authors and year.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from winnow.core.checks import Real, count, exact, positive, probability
from winnow.core.relation import Relation
from winnow.errors import GuaranteeError, ParameterError
from winnow.privacy.charges import Charge, charged_event, laplace_event
from winnow.privacy.events import (
    CappedRounds,
    DiscreteGaussian,
    Event,
    Truncated,
    describe,
)


@dataclass(frozen=True)
class Row:
    """One line of the table."""

    law: str
    reduction: str
    charge: Charge
    released: str
    citation: str
    relations: tuple[Relation, ...] = tuple(Relation)


@dataclass(frozen=True)
class Promise:
    """The event to charge for one run, why it is right, and the sentence for the receipt."""

    event: Event
    citation: str
    statement: str


_ONE = "the index of the largest noisy score, and nothing else"
_SET = "the unordered set of the kappa indices with the largest noisy scores"
_SEQUENCE = "the kappa indices with the largest noisy scores, largest first"

_ORDER = "order and leads: Ding-Wang-Zhang-Kifer 2019, Thm 2; proved beside the mechanism"

_SUBSET = "the unordered k-subset with the largest noisy canonical score"

_CANONICAL = "Canonical, Thm 3.5, 4.1"
_EXPONENTIAL_MECHANISM = (
    "exponential mechanism: Canonical, Thm 4.1 and A.7; "
    "bounded range: Durfee-Rogers 2019, Dong-Durfee-Rogers 2020"
)
_PEELING = (
    "one draw of Gumbel noise equals peeling the exponential mechanism kappa times: "
    "Durfee-Rogers 2019; Canonical, Thm A.7"
)

TABLE: tuple[Row, ...] = (
    Row("gumbel", "argmax", Charge.RANGE, _ONE, _EXPONENTIAL_MECHANISM),
    # Permute-and-flip is not bounded-range with this epsilon: never epsilon^2/8 for it.
    Row(
        "exponential",
        "argmax",
        Charge.PURE,
        _ONE,
        "Canonical, Thm 4.1, A.3 and A.5; permute-and-flip: McKenna-Sheldon 2020",
    ),
    Row("laplace", "argmax", Charge.PURE, _ONE, "Canonical, Thm 4.1, A.9 and A.11"),
    Row("logistic", "argmax", Charge.PURE, _ONE, "Canonical, Thm 4.1 and A.13"),
    Row("half-logistic", "argmax", Charge.PURE, _ONE, "Canonical, Thm 4.1 and A.12"),
    Row("gumbel", "top-set", Charge.PEELED_RANGE, _SET, _PEELING),
    Row("exponential", "top-set", Charge.PURE, _SET, "Canonical, Thm 4.1 and A.3"),
    Row("laplace", "top-set", Charge.PURE, _SET, "Canonical, Thm 4.1, A.9 and A.11"),
    Row("logistic", "top-set", Charge.PURE, _SET, "Canonical, Thm 4.1 and A.13"),
    Row("half-logistic", "top-set", Charge.PURE, _SET, "Canonical, Thm 4.1 and A.12"),
    Row("gumbel", "top-sequence", Charge.PEELED_RANGE, _SEQUENCE, _PEELING),
    *(
        Row(law, "top-sequence", Charge.PURE, _SEQUENCE, _ORDER)
        for law in ("exponential", "laplace", "logistic", "half-logistic")
    ),
    *(
        Row(
            law,
            "top-leads",
            Charge.PURE,
            f"{_SEQUENCE}, and by how much each leads the next",
            _ORDER,
        )
        for law in ("laplace", "logistic")
    ),
    *(
        Row(law, "top-leads", Charge.PURE, f"{_SEQUENCE}, and the leads between them", _ORDER)
        for law in ("gumbel", "exponential", "half-logistic")
    ),
    Row(
        "exponential",
        "peeled-sequence",
        Charge.PEELED_PURE,
        "kappa indices in order, each the argmax of fresh noise over those not yet taken",
        "PNF-Peel: Joint, Alg 2 and Lemma 4.1; Canonical, Thm A.5",
    ),
    Row(
        "gumbel",
        "joint",
        Charge.RANGE,
        "a sequence of k indices, drawn with probability ~ exp(epsilon u/(2 width))",
        "Joint, Lemma 3.1 and Thm 3.2; bounded range: Durfee-Rogers 2019",
    ),
    Row(
        "gumbel",
        "joint-quantiles",
        Charge.RANGE,
        "an ascending list of quantiles, drawn with probability ~ exp(-epsilon loss/width)",
        "Gillenwater-Joseph-Kulesza 2021; widths and ties: proved beside the mechanism",
    ),
    Row(
        "gumbel",
        "halving",
        Charge.PEELED_RANGE,
        "quantiles, on each of kappa levels one of every segment by the exponential mechanism",
        "Smith 2011; Kaplan-Schnapp-Stemmer 2022; units and ties: proved beside the mechanism",
    ),
    Row(
        "gumbel",
        "indexed",
        Charge.PEELED_RANGE,
        "kappa indices in order, each by the exponential mechanism with a certified tail",
        "FastMWEM, Alg 4 and 6, Thm G.10; bounded range: Durfee-Rogers 2019",
    ),
    Row(
        "gumbel",
        "indexed-slack",
        Charge.PEELED_RANGE,
        "kappa indices in order, each by lazy Gumbel sampling at epsilon/kappa - 2c, c public",
        "FastMWEM, Alg 5, Thm 3.5 and G.2; bounded range: proved beside the mechanism",
    ),
    Row("gumbel", "canonical", Charge.RANGE, _SUBSET, f"{_CANONICAL}, A.7 and A.15"),
    Row("exponential", "canonical", Charge.PURE, _SUBSET, f"{_CANONICAL}, A.3 and A.15"),
    Row("laplace", "canonical", Charge.PURE, _SUBSET, f"{_CANONICAL}, A.11 and A.15"),
    Row("logistic", "canonical", Charge.PURE, _SUBSET, f"{_CANONICAL}, A.13 and A.15"),
    Row("half-logistic", "canonical", Charge.PURE, _SUBSET, f"{_CANONICAL}, A.12 and A.15"),
    Row(
        "laplace",
        "first-above",
        Charge.PURE,
        "whether each value, in order, passes the noisy threshold, until cutoff of them did",
        "AboveThreshold: Dwork-Roth 2014, Thm 3.23; Lyu-Su-Li 2017, Alg 1 and Thm 2 and 3; "
        "asymmetric sensitivity: proved beside the mechanism",
    ),
    Row(
        "laplace",
        "large-margin",
        Charge.APPROX,
        "one index: Laplace noise certifies a margin, then Gumbel noise selects among the leaders",
        "LMM, Alg 1 and Thm 2",
    ),
    Row(
        "laplace",
        "distance-to-instability",
        Charge.APPROX,
        "the best candidate if its lead passes a noisy test, else none",
        "Smith-Thakurta 2013; proved beside the mechanism",
    ),
    Row(
        "gumbel",
        "bounded-growth",
        Charge.APPROX,
        "one candidate of positive count if the largest count passes a noisy test, else none",
        "choosing mechanism: Beimel-Nissim-Stemmer 2013; proved beside the mechanism",
    ),
    Row(
        "gamma",
        "top-sequence",
        Charge.PURE,
        "the kappa indices with the largest noisy scores, largest first",
        "Steinke-Ullman 2015, Thm 4.1; Canonical, Thm A.15",
    ),
    Row(
        "laplace",
        "top-set-approximate",
        Charge.APPROX,
        "the unordered set of the k indices with the largest noisy scores",
        "Qiao-Su-Zhang 2021, oneshot Laplace, for epsilon <= 0.2 and delta <= 0.05",
    ),
    Row(
        "gumbel",
        "limited-domain",
        Charge.TRUNCATED_RANGE,
        "up to kappa labels in order, fewer when the noisy threshold is reached first",
        "limited domain: Durfee-Rogers 2019; the truncation is proved beside the mechanism",
    ),
    Row(
        "discrete-laplace",
        "stability-threshold",
        Charge.TRUNCATED_LAPLACE,
        "labels with noisy counts, of those whose noisy count reaches the threshold",
        "stability-based histogram: Korolova et al. 2009, Bun-Nissim-Stemmer 2016; "
        "proved beside the mechanism",
    ),
    Row(
        "discrete-laplace",
        "additive",
        Charge.DISCRETE_LAPLACE,
        "integers, each plus discrete Laplace noise; sensitivity in the l1 norm",
        "Canonne-Kamath-Steinke 2020",
    ),
    Row(
        "discrete-box",
        "additive",
        Charge.PURE,
        "integers, in groups that get one vector of noise each; sensitivity of the largest move",
        "K-norm mechanism: Hardt-Talwar 2010, Awan-Slavkovic 2021; proved beside the mechanism",
    ),
    Row(
        "discrete-laplace",
        "capped-rounds",
        Charge.CAPPED,
        "for each question whether its noisy count is far from a public guess, and the noisy "
        "count if it is, until `updates` of them were",
        "PMW, Fig 1 and Section IV-B, with the errata; target charging: Cohen-Lyu 2023, proved "
        "beside the accountant",
    ),
    Row(
        "discrete-gaussian",
        "additive",
        Charge.GAUSSIAN,
        "integers, each plus discrete Gaussian noise; sensitivity in the l2 norm",
        "Canonne-Kamath-Steinke 2020",
    ),
    Row(
        "discrete-gaussian",
        "additive-joint",
        Charge.JOINT_GAUSSIAN,
        "integers, each plus discrete Gaussian noise of its own variance",
        "Canonne-Kamath-Steinke 2020; Dong-Roth-Su 2022, proved beside the accountant",
    ),
)


def rows() -> tuple[Row, ...]:
    """The whole table, for documentation and audits."""
    return TABLE


def promise(
    law: str,
    reduction: str,
    relation: str | Relation,
    *,
    epsilon: Real | None = None,
    delta: Real = 0,
    kappa: int = 1,
    noise_multiplier: Real | None = None,
    squared_ratio: Real | None = None,
    least_variance: Real | None = None,
    updates: int | None = None,
    steps: int | None = None,
    moved: int = 1,
) -> Promise:
    """The event that one run of a mechanism is charged, or an error when no theorem covers it.

    Selections take ``epsilon`` (the total of the run), the large margin mechanism also
    ``delta``, top sets and sequences also ``kappa``; released integers take
    ``noise_multiplier``, the noise scale over the sensitivity, or ``squared_ratio`` and
    ``least_variance`` where their noise has several variances; capped rounds take the
    ``epsilon`` of one round, ``updates`` and ``steps``.

    ``moved`` is for discrete Laplace noise on integers of which neighbours move at most so many,
    each by at most one ``moved``-th of the l1 sensitivity. Proof: for two fixed neighbours the
    integers that stay have one law, and the others are independent, each an integer with discrete
    Laplace noise that moves by at most 1/(moved noise_multiplier) of its scale. So the release is
    no more than ``moved`` such measurements, one after the other. Its epsilon is the same,
    1/noise_multiplier, and its rho about one ``moved``-th.
    """
    relation = Relation.parse(relation)
    row = _find(law, reduction, relation)
    if row.charge is Charge.JOINT_GAUSSIAN:
        if squared_ratio is None or least_variance is None:
            raise ParameterError("additive-joint needs squared_ratio and least_variance; give both")
        if (epsilon, noise_multiplier, updates, steps) != (None,) * 4 or (
            (kappa, moved) != (1, 1) or delta
        ):
            raise ParameterError("additive-joint takes squared_ratio and least_variance only")
        return _stated(row, DiscreteGaussian(squared_ratio, least_variance, relation))
    if squared_ratio is not None or least_variance is not None:
        raise ParameterError(f"{row.reduction} takes no squared_ratio and no least_variance")
    number = _number(row, epsilon, delta, kappa, noise_multiplier)
    count(moved=moved)
    if moved > 1 and row.charge not in (Charge.DISCRETE_LAPLACE, Charge.TRUNCATED_LAPLACE):
        raise ParameterError(f"moved={moved} is for discrete Laplace noise on several integers")
    if row.charge is Charge.CAPPED:
        if updates is None or steps is None:
            raise ParameterError(
                "capped rounds need updates and steps; calibrate_capped finds them"
            )
        return _stated(row, CappedRounds(updates, number, steps, relation))
    if updates is not None or steps is not None:
        raise ParameterError(f"{row.reduction} takes no updates and no steps; leave them out")
    return _promised(row, relation, number, delta, kappa, moved)


@lru_cache(maxsize=256, typed=True)  # typed: 1 and 1.0 are written differently
def _promised(
    row: Row, relation: Relation, number: Real, delta: Real, kappa: int, moved: int
) -> Promise:
    """Kept: every release of a loop asks for it twice."""
    if row.charge in (Charge.DISCRETE_LAPLACE, Charge.TRUNCATED_LAPLACE):
        noise = laplace_event(number, moved, relation)
        up_to = row.charge is Charge.TRUNCATED_LAPLACE
        return _stated(row, Truncated(noise, delta) if up_to else noise)
    return _stated(row, charged_event(row.charge, relation, number, delta, kappa))


def _stated(row: Row, event: Event) -> Promise:
    statement = f"Released: {row.released}. Charged: {describe(event)}. [{row.citation}]"
    return Promise(event, row.citation, statement)


def _find(law: str, reduction: str, relation: Relation) -> Row:
    same_law = [row for row in TABLE if row.law == law]
    for row in same_law:
        if row.reduction == reduction and relation in row.relations:
            return row
    if same_law:
        known = f"for {law} noise there is: {', '.join(row.reduction for row in same_law)}"
    else:
        known = f"the laws are: {', '.join(dict.fromkeys(row.law for row in TABLE))}"
    raise GuaranteeError(
        f"no theorem here covers law={str(law)!r} with reduction={reduction!r} under {relation}; "
        f"{known}"
    )


def _number(
    row: Row, epsilon: Real | None, delta: Real, kappa: int, noise_multiplier: Real | None
) -> Real:
    """The epsilon or the noise multiplier; a parameter that would be ignored is refused."""
    count(kappa=kappa)
    if row.charge in (Charge.GAUSSIAN, Charge.DISCRETE_LAPLACE, Charge.TRUNCATED_LAPLACE):
        needed, number, useless, other = "noise_multiplier", noise_multiplier, "epsilon", epsilon
    else:
        needed, number, useless, other = "epsilon", epsilon, "noise_multiplier", noise_multiplier
    if number is None:
        raise ParameterError(f"{row.law} with {row.reduction} needs {needed}; give {needed}=...")
    positive(**{needed: number})
    if other is not None:
        raise ParameterError(
            f"{row.law} with {row.reduction} takes no {useless}; give {needed} only"
        )
    if row.charge in (Charge.APPROX, Charge.TRUNCATED_RANGE, Charge.TRUNCATED_LAPLACE):
        probability(delta=delta)
    elif exact("delta", delta) != 0:
        raise ParameterError(f"delta={delta} is not used by {row.reduction}; leave it out")
    takes_kappa = (Charge.PEELED_RANGE, Charge.PEELED_PURE, Charge.TRUNCATED_RANGE)
    of_several = ("top-set", "top-sequence", "top-leads")
    if kappa > 1 and row.charge not in takes_kappa and row.reduction not in of_several:
        raise ParameterError(
            f"kappa={kappa} is not used by {row.reduction}, which releases one answer; use top-set"
        )
    return number
