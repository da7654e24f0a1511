"""Twelve usual programmes of a year: epsilon charged before, now, and what nobody can go below.

Each programme is a list of events with how often each comes; delta is the same for all. *Now* is
``guarantee_of`` where the plan is closed. Where releases come one after another, chosen as they
come, it is the smallest cap of a budget that takes them: by pure sums, by sums of rho, by two
normals, or, of few releases, as a budget adds up by default. *Before* is the old
charging rule, written out here (``old_rho``): noise on L counts as one measurement with all of
epsilon, bounded range at epsilon^2/8, a choice among plans and lost mass by sums only, capped
rounds by lost mass and composition. The *lower bound* is what a real pair of neighbours reaches:
the same noise without choosing anything as one goes, its privacy loss composed by dp_accounting,
rounded down.

Run without arguments it writes accounting.json. It takes about a minute, and no data.
"""

from __future__ import annotations

import logging
import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from dp_accounting.pld import privacy_loss_distribution as pld

import winnow as wn
from _common import arguments, report, save
from winnow.errors import GuaranteeError
from winnow.privacy import (
    AnyOf,
    ApproxDP,
    BoundedRange,
    CappedRounds,
    Compose,
    DiscreteGaussian,
    DiscreteLaplace,
    Event,
    Gaussian,
    PureDP,
    Repeat,
    Truncated,
    guarantee_of,
    pure_cost,
    zcdp_cost,
    zcdp_epsilon,
)
from winnow.privacy.capped import lost_mass, optimal_composition
from winnow.privacy.charges import laplace_event
from winnow.privacy.discrete_gaussian import normal_epsilon
from winnow.privacy.residue import needed
from winnow.release.rounds.mwem_plan import mwem_settings
from winnow.release.terms import ReleaseTerms

DELTA, HERE = 1e-6, "add-remove"
MANY = 60
"""Charges that a budget is tried with at every cap."""
GRID = 1e-5
"""Of losses that are rounded down: 3,000 of them lose some hundredths."""


@dataclass(frozen=True)
class Noise:
    """Laplace noise on so many counts that a person moves by one each, for epsilon in all."""

    epsilon: Fraction
    moved: int

    @property
    def event(self) -> Event:
        return laplace_event(1 / self.epsilon, self.moved, HERE)


@dataclass(frozen=True)
class Lost:
    """Such noise on labels that are private, up to a lost mass."""

    noise: Noise
    delta: Fraction

    @property
    def event(self) -> Event:
        return Truncated(self.noise.event, self.delta)


Part = Noise | Lost | Event
Programme = list[tuple[Part, int]]


def event_of(part: Part) -> Event:
    return part.event if isinstance(part, Noise | Lost) else part


def old_rho(part: Part) -> tuple[Fraction, Fraction]:
    """(rho, delta) as they were charged: the old rules."""
    match part:
        case Noise(epsilon, _):
            cost = zcdp_cost(DiscreteLaplace(1 / epsilon, HERE))
        case Lost(noise, delta):
            rho, _ = old_rho(noise)
            return rho, delta
        case BoundedRange(epsilon):
            return Fraction(epsilon) ** 2 / 8, Fraction(0)
        case Repeat(inner, count):
            rho, delta = old_rho(inner)
            return count * rho, count * delta
        case Compose(events):
            known = [old_rho(each) for each in events]
            return sum((k[0] for k in known), Fraction(0)), sum((k[1] for k in known), Fraction(0))
        case AnyOf(events):
            known = [old_rho(each) for each in events]
            return max(k[0] for k in known), max(k[1] for k in known)
        case Truncated(inner, delta):
            rho, own = old_rho(inner)
            return rho, own + Fraction(delta)
        case _:
            cost = zcdp_cost(part)
    return cost.rho, cost.delta


def before(programme: Programme, delta: float) -> float:
    known = [(old_rho(part), count) for part, count in programme]
    rho = sum((count * each[0] for each, count in known), Fraction(0))
    own = sum((count * each[1] for each, count in known), Fraction(0))
    found = [zcdp_epsilon(rho, Fraction(delta) - own)]
    try:
        pure = [(pure_cost(event_of(part)), count) for part, count in programme]
    except GuaranteeError:  # Gaussian noise has no pure epsilon
        return min(found)
    if sum(float(cost.delta) * count for cost, count in pure) <= delta:
        found.append(float(sum(cost.epsilon * count for cost, count in pure)))
    if len(programme) == 1 and isinstance(programme[0][0], CappedRounds):
        event = programme[0][0]
        found.append(_two_sums(event.updates, Fraction(event.epsilon), Fraction(delta)))
    return min(found)


def _two_sums(updates: int, epsilon: Fraction, delta: Fraction) -> float:
    """Capped rounds by lost mass and composition, at the best number of steps."""

    def meets(target: float) -> bool:
        return any(
            lost_mass(updates, epsilon, steps)
            + Fraction(optimal_composition(epsilon, steps, Fraction(target)))
            <= delta
            for steps in range(2 * updates, 8 * updates + 60)
        )

    low, high = 0.0, 50.0
    while high - low > 1e-4:
        middle = (low + high) / 2
        low, high = (low, middle) if meets(middle) else (middle, high)
    return high


def now(programme: Programme, delta: float, *, closed: bool) -> float:
    events = tuple(
        event_of(part) if count == 1 else Repeat(event_of(part), count) for part, count in programme
    )
    whole = events[0] if len(events) == 1 else Compose(events)
    if closed:
        return min(guarantee_of(whole, delta, how).epsilon for how in (None, "tight"))
    own = zcdp_cost(whole).delta
    found = [zcdp_epsilon(zcdp_cost(whole).rho, Fraction(delta) - own)]
    found.append(normal_epsilon(Fraction(needed(whole, 0.0)), Fraction(delta) - own))
    if sum(count for _, count in programme) <= MANY:
        found.append(_smallest_cap(programme, delta))
    try:
        pure = pure_cost(whole)
    except GuaranteeError:
        return min(found)
    return min([*found, float(pure.epsilon)] if float(pure.delta) <= delta else found)


def _smallest_cap(programme: Programme, delta: float) -> float:
    """Of a budget that adds up as it is used by default, and takes the charges one by one."""

    def fits(cap: float) -> bool:
        budget = wn.Budget(cap, delta)
        try:
            for part, count in programme:
                for _ in range(count):
                    budget.charge(event_of(part))
        except wn.BudgetExceeded:
            return False
        return True

    low, high = 0.0, 32.0
    while high - low > 1e-3 * high:
        middle = (low + high) / 2
        low, high = (low, middle) if fits(middle) else (middle, high)
    return high


def losses(part: Part, t: float, which: int) -> Any:
    """The privacy loss of one pair of neighbours for such an event, rounded down."""
    match part:
        case Noise(epsilon, moved):
            one = _responses(float(epsilon) / moved)
            return one.self_compose(moved) if moved > 1 else one
        case Lost(noise, delta):
            return losses(noise, t, which).compose(_told(float(delta)))
        case BoundedRange(epsilon):
            return _two_points(float(epsilon), t)
        case PureDP(epsilon):
            return _responses(float(epsilon))
        case DiscreteLaplace(multiplier):
            return _responses(1 / float(multiplier))
        case ApproxDP(epsilon, delta):
            return _responses(float(epsilon)).compose(_told(float(delta)))
        case Gaussian(multiplier):
            return _normals(float(multiplier))
        case DiscreteGaussian(ratio, _):
            return _normals(1 / math.sqrt(ratio))
        case CappedRounds(updates, epsilon, _):
            return _accesses(updates, float(epsilon))
        case Repeat(inner, count):
            return losses(inner, t, which).self_compose(count)
        case Compose(events):
            found = losses(events[0], t, which)
            for each in events[1:]:
                found = found.compose(losses(each, t, which))
            return found
        case Truncated(inner, delta):
            return losses(inner, t, which).compose(_told(float(delta)))
        case AnyOf(events):  # one of them, whatever was released
            return losses(events[min(which, len(events) - 1)], t, which)
    raise AssertionError(part)


def _pair(upper: list[float], lower: list[float]) -> Any:
    logs = [{i: math.log(p) for i, p in enumerate(law) if p > 0} for law in (lower, upper)]
    return pld.from_two_probability_mass_functions(
        *logs, value_discretization_interval=GRID, pessimistic_estimate=False
    )


def _responses(epsilon: float) -> Any:
    p = 1 / (1 + math.exp(-epsilon))
    return _pair([p, 1 - p], [1 - p, p])


def _two_points(epsilon: float, t: float) -> Any:
    p = math.expm1((t - 1) * epsilon) / math.expm1(-epsilon)
    return _pair(
        [p, 1 - p], [p * math.exp(-t * epsilon), (1 - p) * math.exp(epsilon - t * epsilon)]
    )


def _normals(multiplier: float) -> Any:
    return pld.from_gaussian_mechanism(
        multiplier, value_discretization_interval=GRID, pessimistic_estimate=False
    )


def _told(delta: float) -> Any:
    """With probability delta everything is told, otherwise nothing."""
    return _pair([1 - delta, delta, 0.0], [1 - delta, 0.0, delta])


def _accesses(updates: int, epsilon: float) -> Any:
    """Rounds that say "no update" where it helps most, until so many exceptions were made."""
    r, most = 1 / (1 + math.exp(-epsilon)), 12 * updates + 200

    def law(quiet: float) -> list[float]:
        known = math.log(quiet), updates * math.log1p(-quiet) - math.lgamma(updates)
        ways = (math.lgamma(n + updates) - math.lgamma(n + 1) for n in range(most))
        return [math.exp(way + n * known[0] + known[1]) for n, way in enumerate(ways)]

    upper, lower = law(r), law(1 - r)
    return _pair(upper, lower)


def below(programme: Programme, delta: float) -> float:
    """The best of a few pairs of neighbours."""
    found = 0.0
    for t, which in ((0.35, 0), (0.5, 0), (0.5, 3), (0.65, 3)):
        whole: Any = None
        for part, count in programme:
            one = losses(part, t, which)
            one = one.self_compose(count) if count > 1 else one
            whole = one if whole is None else whole.compose(one)
        found = max(found, whole.get_epsilon_for_delta(delta))
    return found


def programmes() -> dict[str, tuple[Programme, bool]]:
    """Name, what it is made of, and whether it is a plan that is closed beforehand."""
    some = Fraction
    list_of_eight = Noise(some(1, 20), 8)
    tables = DiscreteGaussian(9 * some(1, 3600), 3600, HERE)
    private = Lost(Noise(some(1, 10), 5), some(1, 10**9))
    gumbel = BoundedRange(some(1, 10), HERE)
    counted = Noise(some(1, 10), 10)
    session = Compose((Gaussian(10, HERE), CappedRounds(34, some(29, 2000), 124, HERE)))
    careful = CappedRounds(20, some(1, 50), 100, HERE)
    pairs = wn.marginals(2).over(wn.Schema.parse({"a": 4, "b": 5}))
    terms = ReleaseTerms(pairs, 1.0, DELTA, wn.Relation.ADD_REMOVE)
    mwem = mwem_settings(wn.MWEM(), terms).event
    chosen = AnyOf((PureDP(some(1, 10), HERE), DiscreteGaussian(some(1, 900), 900, HERE)))
    return {
        "a list every night, Laplace, 8 pages a person, epsilon 0.05": (
            [(list_of_eight, 365)], False),
        "twenty lists at epsilon 1, Laplace, 8 pages a person": ([(Noise(some(1), 8), 20)], False),
        "a list every night, exponential mechanism, epsilon 0.1": ([(gumbel, 365)], False),
        "a list with ten counts every week, epsilon 0.2": ([(gumbel, 52), (counted, 52)], False),
        "private labels every week, 5 a person, epsilon 0.1": ([(private, 52)], False),
        "nine tables every month, Gaussian": ([(tables, 12)], True),
        "six tables every month, Laplace, epsilon 0.2": ([(Noise(some(1, 5), 6), 12)], False),
        "a session of questions: tables, then 34 updates at 0.0145": ([(session, 1)], True),
        "one release by MWEM, the number of rows private": ([(mwem, 1)], True),
        "itemsets every month, the method chosen by a look, epsilon 0.11": (
            [(Noise(some(1, 100), 1), 12), (chosen, 12)], False),
        "an additive model every month, 12 columns, epsilon 0.2": (
            [(Noise(some(19, 100), 12), 12), (PureDP(some(1, 100), HERE), 12)], False),
        "lists every night, tables every month, one session": (
            [(Noise(some(1, 50), 8), 365), (tables, 12), (careful, 1)], False),
    }  # fmt: skip


def main() -> None:
    asked = arguments(__doc__ or "", "accounting").parse_args()
    logging.disable(logging.WARNING)  # dp_accounting says which of its algorithms rounds down
    found = {}
    for name, (programme, closed) in programmes().items():
        found[name] = {
            "before": before(programme, DELTA),
            "now": now(programme, DELTA, closed=closed),
            "below": below(programme, DELTA),
        }
    columns = ["programme", "before", "now", "lower bound"]
    rows = [[name, *(f"{number:.3f}" for number in each.values())] for name, each in found.items()]
    report(f"epsilon at delta = {DELTA:g}", columns, rows)
    save(asked.out, {"delta": DELTA, "programmes": found})


if __name__ == "__main__":
    main()
