"""Audit 4: the accountant adds up, rounds up, and agrees with independently known numbers."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from fractions import Fraction

import numpy as np

from winnow.audit.closed_plans import closed_plans
from winnow.audit.result import AuditResult
from winnow.core.relation import Relation
from winnow.errors import BudgetExceeded
from winnow.privacy import (
    ApproxDP,
    BoundedRange,
    Budget,
    Compose,
    DiscreteLaplace,
    Event,
    Gaussian,
    PureDP,
    Repeat,
    ZcdpCost,
    as_substitution,
    calibrate,
    pure_cost,
    zcdp_cost,
    zcdp_delta,
    zcdp_epsilon,
    zcdp_rho,
)

_HERE = Relation.ADD_REMOVE
_EVENTS: tuple[Event, ...] = (
    PureDP(Fraction(1, 10), _HERE),
    BoundedRange(0.3, _HERE),
    DiscreteLaplace(7, _HERE),
    Gaussian(12.5, _HERE),
    ApproxDP(0.2, 1e-9, _HERE),
)
_CONVERSION = "Canonne-Kamath-Steinke 2020, Prop. 12"

ROUNDS = {
    (1e-3, 100): 0.0619,
    (1e-6, 10): 0.1259,
    (1e-6, 50): 0.0560,
    (1e-6, 100): 0.0396,
    (1e-6, 500): 0.0177,
    (1e-6, 1000): 0.0125,
    (1e-9, 100): 0.0310,
}
"""(delta, T): the largest e for (1, delta) with T rounds of an exponential mechanism and a
measurement with continuous Laplace noise, e/2 each; computed elsewhere."""


def accounted() -> Iterator[AuditResult]:
    """Every check of the accountant."""
    yield repeat_costs_its_count(zcdp_cost)
    yield compose_sums()
    yield from monotone()
    yield from conversions()
    yield from rounds_of_selection_and_measurement()
    yield substitution_doubles()
    yield budget_stops_at_its_cap()
    yield from closed_plans()


def repeat_costs_its_count(cost: Callable[[Event], ZcdpCost]) -> AuditResult:
    """Repeat(event, k) is charged as k single charges, exactly."""
    count = 1000
    worst = Fraction(count)
    for event in _EVENTS:
        single, repeated = cost(event), cost(Repeat(event, count))
        ratios = [repeated.rho / single.rho]
        if single.delta:
            ratios.append(repeated.delta / single.delta)
        worst = min([worst, *ratios])
    pure = all(
        pure_cost(Repeat(event, count)).epsilon == count * pure_cost(event).epsilon
        for event in _EVENTS
        if not isinstance(event, Gaussian)
    )
    return _result(
        f"A loop of {count} rounds is charged {count} times its body.",
        count,
        float(worst),
        worst == count and pure,
        "in rho and delta, and in pure epsilon; exact",
        citation="Bun-Steinke 2016, Lemma 2.3",
    )


def compose_sums() -> AuditResult:
    """Compose is charged as the sum of its parts, whatever the nesting."""
    flat = zcdp_cost(Compose(_EVENTS)).rho
    nested = zcdp_cost(Compose((Compose(_EVENTS[:2]), Repeat(Compose(_EVENTS[2:]), 1)))).rho
    parts = sum((zcdp_cost(event).rho for event in _EVENTS), Fraction(0))
    return _result(
        "A composition is charged the sum of its parts.",
        float(parts),
        float(flat),
        flat == nested == parts,
        "nested in two ways; exact",
        citation="Bun-Steinke 2016, Lemma 2.3",
    )


def monotone() -> Iterator[AuditResult]:
    """More rounds, more epsilon or less delta never cost less."""
    rounds = [zcdp_epsilon(t * Fraction(1, 1000), 1e-6) for t in range(1, 60)]
    yield _increasing("The stated epsilon grows with the number of rounds.", rounds)
    deltas = [zcdp_epsilon(0.01, 10.0**-power) for power in range(1, 60)]
    yield _increasing("The stated epsilon grows as delta falls.", deltas)
    falling = [-zcdp_delta(0.1, k / 10) for k in range(60)]
    yield _increasing("The stated delta falls as epsilon grows.", falling)
    caps = [zcdp_rho(k / 10, 1e-6) for k in range(1, 60)]
    yield _increasing("The rho that fits into epsilon grows with it.", caps)
    for kind in (PureDP, BoundedRange):
        rhos = [float(zcdp_cost(kind(k / 10, _HERE)).rho) for k in range(1, 120)]
        yield _increasing(f"The rho of {kind.__name__} grows with epsilon.", rhos)


def _increasing(claim: str, values: list[float]) -> AuditResult:
    steps = np.diff(values)
    return _result(
        claim, 0.0, float(steps.min()), bool(np.all(steps > 0)), "smallest step on a grid"
    )


def conversions() -> Iterator[AuditResult]:
    """rho and (epsilon, delta) agree with known numbers, and with the Gaussian mechanism."""
    rho = zcdp_rho(1, 1e-6)
    loose = (math.sqrt(1 + math.log(1e6)) - math.sqrt(math.log(1e6))) ** 2
    yield _result(
        "rho for (1, 1e-6) is .0244, by the optimal conversion and not the loose one.",
        0.0244,
        rho,
        round(rho, 4) == 0.0244 and rho > 1.3 * loose,
        f"the loose conversion gives {loose:.4f}",
        citation=_CONVERSION,
    )
    back = zcdp_epsilon(rho, 1e-6)
    yield _result(
        "Converting rho to epsilon and back loses nothing beyond rounding up.",
        1.0,
        back,
        abs(back - 1) <= 1e-9,
        "zcdp_epsilon(zcdp_rho(1, 1e-6), 1e-6)",
        citation=_CONVERSION,
    )
    for rho, epsilon in ((0.01, 0.5), (0.0244, 1.0), (0.5, 4.0)):
        stated, truth = zcdp_delta(rho, epsilon), _gaussian_delta(rho, epsilon)
        yield _result(
            f"The delta stated for rho={rho:g} at epsilon={epsilon:g} covers Gaussian noise.",
            stated,
            truth,
            truth <= stated <= 20 * truth,
            "against the exact delta of the Gaussian mechanism with that rho",
            citation=_CONVERSION,
        )


def _gaussian_delta(rho: float, epsilon: float) -> float:
    """Exact, for sensitivity 1 and sigma^2 = 1/(2 rho) [Balle-Wang 2018, Thm 8]."""
    from scipy.special import ndtr

    shift = math.sqrt(2 * rho)
    return float(ndtr(shift / 2 - epsilon / shift)) - math.exp(epsilon) * float(
        ndtr(-shift / 2 - epsilon / shift)
    )


def rounds_of_selection_and_measurement() -> Iterator[AuditResult]:
    """The largest epsilon per round of MWEM, against a table computed elsewhere."""
    for (delta, rounds), expected in ROUNDS.items():
        continuous = _continuous_rounds(zcdp_rho(1, delta), rounds)
        yield _result(
            f"{rounds} rounds of selection and continuous Laplace noise at (1, {delta:g}) allow "
            f"{expected:.4f} each.",
            expected,
            continuous,
            round(continuous, 4) == expected,
            "the audit's own sum against the rho of the library, to four digits",
            citation=_CONVERSION,
        )

        def plan(e: float, rounds: int = rounds) -> Event:
            half = Fraction(e) / 2
            return Repeat(
                Compose((BoundedRange(half, _HERE), DiscreteLaplace(1 / half, _HERE))), rounds
            )

        parameter = calibrate(plan, epsilon=1, delta=delta, accountant="zcdp").parameter
        yield _result(
            f"{rounds} rounds with discrete noise at (1, {delta:g}) allow at most 1 % less.",
            continuous,
            parameter,
            0.99 * continuous <= parameter <= continuous,
            "discrete noise is a little dearer than continuous noise, which is never released",
            citation=_CONVERSION,
        )
    half_of_rho = zcdp_rho(1, 1e-6) / 2 / 100
    epsilon, sigma = math.sqrt(8 * half_of_rho), 1 / math.sqrt(2 * half_of_rho)
    pair: Event = Repeat(Compose((BoundedRange(epsilon, _HERE), Gaussian(sigma, _HERE))), 100)
    spent = float(zcdp_cost(pair).rho)
    yield _result(
        "Half of rho each: 100 rounds at (1, 1e-6) have selections of .0312 and sigma of 64.",
        zcdp_rho(1, 1e-6),
        spent,
        round(epsilon, 4) == 0.0312
        and round(sigma) == 64
        and math.isclose(spent, zcdp_rho(1, 1e-6), rel_tol=1e-5),  # epsilon^2/8 is a little high
        f"epsilon {epsilon:.4f}, sigma {sigma:.1f}",
        citation=_CONVERSION,
    )


def _continuous_rounds(rho: float, rounds: int) -> float:
    """The e with rounds * ((e/2)^2/8 + e/2 - 1 + exp(-e/2)) = rho, by bisection."""
    low, high = 0.0, 1.0
    for _ in range(60):
        e = (low + high) / 2
        cost = rounds * (e**2 / 32 + e / 2 + math.expm1(-e / 2))
        low, high = (e, high) if cost < rho else (low, e)
    return low


def substitution_doubles() -> AuditResult:
    """The conversion to substitution doubles epsilon and quadruples rho."""
    event = BoundedRange(0.3, _HERE)
    noise = Gaussian(5, _HERE)
    ratio = zcdp_cost(as_substitution(noise)).rho / zcdp_cost(noise).rho
    doubled = pure_cost(as_substitution(event)).epsilon == 2 * pure_cost(event).epsilon
    return _result(
        "From add-remove to substitution epsilon doubles and rho is four times as large.",
        4,
        float(ratio),
        doubled and math.isclose(ratio, 4, rel_tol=1e-12),
        "the explicit conversion of Gaussian noise, and of a bounded-range event",
        citation="Dwork-Roth 2014, Thm 2.2",
    )


def budget_stops_at_its_cap() -> AuditResult:
    """Ten charges of a tenth fit into one, and nothing more does."""
    budget = Budget(1, relation=_HERE)
    charged = 0
    try:
        while charged < 100:
            budget.charge(PureDP(0.1, _HERE))
            charged += 1
    except BudgetExceeded:
        pass
    return _result(
        "A budget of 1 takes ten charges of 0.1 and refuses the eleventh.",
        10,
        charged,
        charged == 10,
        "exact arithmetic: no rounding lets one more in or keeps one out",
        citation="Rogers-Roth-Ullman-Vadhan 2016",
    )


def _result(
    claim: str, claimed: float, measured: float, passed: bool, detail: str, citation: str = ""
) -> AuditResult:
    return AuditResult(
        "accounting",
        claim,
        "accountant",
        str(_HERE),
        citation,
        float(claimed),
        float(measured),
        passed,
        detail,
    )
