"""Size a session of capped rounds: the most that each round may use for a target."""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from statistics import NormalDist

from winnow.core.checks import Real, count, exact, one_of, positive, probability
from winnow.core.relation import Relation
from winnow.errors import GuaranteeError, ParameterError
from winnow.privacy.accountants import zcdp_cost
from winnow.privacy.calibration import largest_tight, meets, target_guarantee
from winnow.privacy.capped import lost_mass, optimal_composition
from winnow.privacy.events import MOST_STEPS, CappedRounds, Compose, Event
from winnow.privacy.guarantee import Guarantee
from winnow.privacy.rounding import at_least, at_most, text_down
from winnow.privacy.tight import QUICK_WORK, tight_delta

_SHARES = tuple(Fraction(share, 100) for share in (1, 3, 7, 15, 30, 50))
"""Parts of delta that are tried for the lost mass; any of them is safe."""
_LOST = Fraction(1, 100)
"""The part for it beside value iteration, which needs none: so a budget counts the session at what
it states, beside others, too. It takes some .04 % of epsilon."""


@dataclass(frozen=True)
class CappedPlan:
    """What each round may use, and the guarantee of the session.

    ``epsilon`` is that of one round: noise of scale sensitivity/epsilon. ``steps`` is the
    number of epsilon-DP mechanisms that the session is charged for.
    """

    updates: int
    epsilon: float
    steps: int
    event: CappedRounds | Compose
    accountant: str
    guarantee: Guarantee


def calibrate_capped(
    updates: int,
    *,
    epsilon: Real,
    delta: Real,
    relation: str | Relation,
    accountant: str = "tight",
    initial: Event | None = None,
    lost: Real | None = None,
) -> CappedPlan:
    """The largest epsilon of a round for a session that ends after so many updates.

    ``accountant`` is "tight" (value iteration, or for very many updates the optimal composition of
    the steps) or "zcdp" (for a budget that adds up rhos, which needs the lost mass of the event in
    its ``delta_for_events``). The number of rounds is not limited; that of steps is chosen so that
    lost mass and composition together stay within delta; with ``lost`` exactly that part of delta
    is set aside for the lost mass. ``initial`` is an event that comes first and is paid from the
    same target; the event of the plan is then the sum of both.

    Guarantee: (epsilon, delta)-DP for the whole session (``capped``), under ``relation``.
    The returned plan was itself checked, so the search errs on the safe side only.
    """
    count(updates=updates)
    positive(epsilon=epsilon)
    probability(delta=delta)
    one_of(("tight", "zcdp"), accountant=accountant)
    return _calibrated(
        int(updates), epsilon, delta, Relation.parse(relation), accountant, initial, lost
    )


@lru_cache(maxsize=256, typed=True)  # a plan, its check and its session ask it one after another
def _calibrated(
    updates: int,
    epsilon: Real,
    delta: Real,
    kind: Relation,
    accountant: str,
    initial: Event | None,
    lost: Real | None,
) -> CappedPlan:
    target, allowed = exact("epsilon", epsilon), exact("delta", delta)

    shares: tuple[Fraction, ...] = _SHARES
    if lost is not None:
        probability(lost=lost)
        if not exact("lost", lost) < allowed:
            raise ParameterError(f"lost={lost} is not below delta={delta}; set less aside")
        shares = (exact("lost", lost) / allowed,)

    def whole(size: Real, steps: int) -> CappedRounds | Compose:
        rounds = CappedRounds(updates, size, steps, kind)
        return rounds if initial is None else Compose((initial, rounds))

    composed = accountant == "tight" and initial is None

    def fits(size: Fraction, steps: int) -> bool:
        if not composed:
            event = whole(size, steps)
            unused = 0 if lost is None else exact("lost", lost) - zcdp_cost(event).delta
            return unused >= 0 and meets(event, "zcdp", target, allowed - unused)
        gone = lost_mass(updates, size, steps)
        return gone + Fraction(optimal_composition(size, steps, target)) <= allowed

    def steps_at(size: Fraction) -> int | None:
        # The largest share takes the fewest steps: what is too much with these is with more.
        fewest = _fewest_steps(updates, size, shares[-1] * allowed)
        if fewest is None or (
            composed and Fraction(optimal_composition(size, fewest, target)) > allowed
        ):
            return None
        for share in shares:
            steps = _fewest_steps(updates, size, share * allowed)
            if steps is not None and fits(size, steps):
                return steps
        return None

    def tight_at(size: float) -> float:
        """The delta by value iteration, and the lost mass, which a budget counts beside it."""
        steps = _fewest_steps(updates, exact("epsilon", size), _LOST * allowed)
        if steps is None:
            raise GuaranteeError("too many steps")
        event = whole(size, steps)
        return tight_delta(event, target, work=QUICK_WORK) + at_least(zcdp_cost(event).delta)

    def met(size: Fraction) -> bool:
        with suppress(GuaranteeError):  # there are plans that it has no time for
            return tight_at(at_least(size)) <= allowed
        return False

    size = _largest(lambda y: steps_at(y) is not None, target)
    steps = None if size is None else steps_at(size)
    if accountant == "tight" and lost is None:
        larger = _largest(met, target) if size is None else _larger(tight_at, size, allowed)
        if larger is not None:
            size, steps = larger, _fewest_steps(updates, larger, _LOST * allowed)
    if size is None or steps is None:
        raise ParameterError(
            f"no round can be private enough for {updates} updates at epsilon={epsilon}, "
            f"delta={delta}; ask for fewer updates"
        )
    event = whole(float(size), steps)
    guarantee = target_guarantee(event, epsilon, delta)
    return CappedPlan(updates, float(size), steps, event, accountant, guarantee)


def _larger(
    delta_at: Callable[[float], float], size: Fraction, allowed: Fraction
) -> Fraction | None:
    """The epsilon of a round that value iteration allows; None: no more than the sum of bounds."""
    try:
        largest = largest_tight(delta_at, at_most(allowed), start=float(size), below=False)
        larger = size if largest is None else _six_digits(Fraction(largest))
        return larger if larger > size and delta_at(at_least(larger)) <= allowed else None
    except GuaranteeError:  # there are plans that it has no time for
        return None


def _fewest_steps(updates: int, size: Fraction, lost: Fraction) -> int | None:
    """The fewest steps that lose no more mass than this; None when they are too many.

    The lost mass is nearly the normal tail at a place that follows from the steps: each look
    corrects the place, and three or four looks are enough. `low` loses too much, `high` does not.
    """
    low, high = updates - 1, MOST_STEPS + 1
    wanted = _place(lost)
    aim = wanted
    for looks in range(64):
        inside = high - low - 1
        if inside <= (high // 10**5 if high <= MOST_STEPS else 0):
            break  # a few more of very many cost next to nothing
        guess = _steps_at_place(updates, float(size), aim) if looks < 8 else low + 1 + inside // 2
        guess = min(max(guess, low + 1), high - 1)
        gone = lost_mass(updates, size, guess)
        aim += wanted - _place(gone)
        if gone > lost:
            low = guess
        else:
            high = guess
    return high if high <= MOST_STEPS else None


_NORMAL = NormalDist()


def _place(mass: Fraction) -> float:
    """Where the standard normal law has this mass below."""
    return _NORMAL.inv_cdf(min(max(float(mass), 1e-300), 1 - 1e-9))


def _steps_at_place(updates: int, size: float, place: float) -> int:
    """The steps of which a normal law has so many exceptions at this place."""
    chance = 1 / (1 + math.exp(min(size, 700.0)))
    spread = math.sqrt(chance * (1 - chance))
    root = math.sqrt((place * spread) ** 2 + 4 * chance * (updates - 0.5)) - place * spread
    return math.ceil(min((root / (2 * chance)) ** 2, float(MOST_STEPS)))


def _largest(good: Callable[[Fraction], bool], start: Fraction) -> Fraction | None:
    """About the largest good number in six digits, none above start."""
    low = high = _six_digits(start)
    while not good(low):
        low, high = _six_digits(low / 2), low
        if low < start / 2**40:
            return None
    while high - low > low / 10**5:
        middle = _six_digits((low + high) / 2)
        low, high = (middle, high) if good(middle) else (low, middle)
    return low


def _six_digits(value: Fraction) -> Fraction:
    return Fraction(repr(float(text_down(value))))
