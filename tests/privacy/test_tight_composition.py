"""The tight accountant: above every real adversary, close to the best one, and as published."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from reference.adaptive_adversary import (
    Floats,
    Law,
    best_delta,
    discrete_gaussian,
    discrete_laplace,
    exponential_mechanism,
    worst_pairs,
)
from winnow import GuaranteeError, InputError, Relation, calibrate
from winnow.privacy import (
    AnyOf,
    ApproxDP,
    BoundedRange,
    Compose,
    DiscreteLaplace,
    Event,
    Gaussian,
    PureDP,
    Repeat,
    Truncated,
    guarantee_of,
    paper_round_epsilon,
    tight_delta,
    tight_epsilon,
    zcdp_cost,
    zcdp_delta,
)
from winnow.privacy.tight_steps import bounded_range_step, summed_bound

SUB = Relation.SUBSTITUTION


def rounds(count: int, epsilon: float, multiplier: float) -> Event:
    return Repeat(Compose((BoundedRange(epsilon, SUB), Gaussian(multiplier, SUB))), count)


def laplace_rounds(count: int) -> Callable[[float], Event]:
    def plan(size: float) -> Event:
        half = Fraction(repr(size)) / 2
        return Repeat(Compose((BoundedRange(half, SUB), DiscreteLaplace(1 / half, SUB))), count)

    return plan


# The published table: the largest epsilon_0 for (1, delta) with T rounds of [exponential
# mechanism at epsilon_0/2, Laplace at epsilon_0/2]. The tight column was computed for
# continuous Laplace noise; the discrete law is slightly worse, most so at T = 10.

TABLE = [
    # delta, T, basic, the paper's formula, zcdp, tight
    (1e-3, 100, 0.0100, 0.0269, 0.0619, 0.0698),
    (1e-6, 10, 0.1000, 0.0602, 0.1259, 0.1483),
    (1e-6, 50, 0.0200, 0.0269, 0.0560, 0.0608),
    (1e-6, 100, 0.0100, 0.0190, 0.0396, 0.0427),
    (1e-6, 500, 0.0020, 0.0085, 0.0177, 0.0189),
    (1e-6, 1000, 0.0010, 0.0060, 0.0125, 0.0133),
    (1e-9, 100, 0.0100, 0.0155, 0.0310, 0.0330),
]


@pytest.mark.slow
@pytest.mark.parametrize(("delta", "count", "basic", "paper", "zcdp", "tight"), TABLE)
def test_the_published_table(
    delta: float, count: int, basic: float, paper: float, zcdp: float, tight: float
) -> None:
    plan = laplace_rounds(count)
    assert calibrate(plan, epsilon=1).parameter == pytest.approx(basic, rel=1e-9)
    assert round(paper_round_epsilon(1, delta, count), 4) == paper
    by_zcdp = calibrate(plan, epsilon=1, delta=delta, accountant="zcdp").parameter
    assert by_zcdp == pytest.approx(zcdp, rel=0.01)
    assert tight_delta(plan(0.99 * tight), 1) <= delta  # within 1 % of the printed number
    assert tight_delta(plan(1.01 * tight), 1) > delta  # and not far beyond it
    assert tight_delta(plan(by_zcdp), 1) < delta  # never worse than zcdp


# Exact adversaries.

Case = tuple[Event, list[list[Law]], Floats]


def cases() -> list[Case]:
    """Plans, what an adversary may choose at each step, and the epsilons to look at."""
    found: list[Case] = []
    for epsilon, count, choices in ((0.8, 1, 41), (0.8, 2, 41), (2.0, 3, 15), (0.4, 3, 15)):
        plan = Repeat(BoundedRange(epsilon, SUB), count)
        steps = [worst_pairs(epsilon, choices)] * count
        found.append((plan, steps, np.linspace(0, 0.8 * count * epsilon, 9)))
    for sigma, count in ((4.0, 1), (4.0, 2), (8.0, 2)):
        steps = [worst_pairs(0.5, 9), [discrete_gaussian(sigma, 1, round(3 * sigma))]] * count
        found.append((rounds(count, 0.5, sigma), steps, np.linspace(0, 0.9, 7)))
    measured: list[list[Law]] = [worst_pairs(0.6, 9), [discrete_laplace(2.0)]]
    plan = Compose((BoundedRange(0.6, SUB), DiscreteLaplace(2, SUB)))
    found.append((Repeat(plan, 3), measured * 3, np.linspace(0, 2, 9)))
    first = [[discrete_gaussian(4.0, 1, 12)], *measured * 2]
    found.append((Compose((Gaussian(4, SUB), Repeat(plan, 2))), first, np.linspace(0, 1.5, 7)))
    return found


CASES = [(event, a, best_delta(steps, a)) for event, steps, a in cases()]


def understated(claim: Callable[[Event, float], float]) -> list[tuple[Event, float]]:
    """Where a real adversary does better than the claim."""
    return [
        (event, float(a))
        for event, grid, reached in CASES
        for a, delta in zip(grid, reached, strict=True)
        if delta > claim(event, float(a)) * (1 + 1e-9) + 1e-12
    ]


def test_no_adversary_does_better_than_claimed() -> None:
    assert understated(tight_delta) == []


def test_the_claim_is_close_to_what_is_reached() -> None:
    """Where noise is on a fine lattice, within 3 %; the adversaries here have few choices."""
    for event, grid, reached in CASES:
        if "Gaussian" in str(event):
            continue
        claims = np.array([tight_delta(event, float(a)) for a in grid])
        assert np.median(claims / reached) < 1.03


def without_measurements(event: Event, a: float) -> float:
    match event:
        case Repeat(Compose((selected, _)), count):
            return tight_delta(Repeat(selected, count), a)
        case Compose((_, rest)):
            return without_measurements(rest, a)
    return tight_delta(event, a)


def half_the_rounds(event: Event, a: float) -> float:
    if isinstance(event, Repeat) and event.count > 1:
        return tight_delta(Repeat(event.event, event.count // 2), a)
    return tight_delta(event, a)


def one_t_for_all_rounds(event: Event, a: float) -> float:
    """The optimum of non-adaptive adversaries [Dong-Durfee-Rogers 2020], not a bound here."""
    if not (isinstance(event, Repeat) and isinstance(event.event, BoundedRange)):
        return tight_delta(event, a)
    size, count = float(event.event.epsilon), event.count
    t = np.linspace(0, size, 4001)[1:-1, None]
    first = np.expm1(t - size) / math.expm1(-size)
    times = np.arange(count + 1)
    loss = count * (t - size) + times * size
    gains = stats.binom.pmf(times, count, first) * -np.expm1(np.minimum(a - loss, 0))
    return float(gains.sum(1).max())


def half_the_range(event: Event, a: float) -> float:
    """The exponential mechanism charged as if its range were epsilon/2."""
    if isinstance(event, Repeat) and isinstance(event.event, BoundedRange):
        half = Fraction(repr(event.event.epsilon)) / 2
        return tight_delta(Repeat(BoundedRange(half, SUB), event.count), a)
    return tight_delta(event, a)


@pytest.mark.parametrize(
    "broken", [without_measurements, half_the_rounds, one_t_for_all_rounds, half_the_range]
)
def test_the_same_check_catches_broken_accountants(
    broken: Callable[[Event, float], float],
) -> None:
    assert understated(broken)


@settings(max_examples=30, deadline=None)
@given(
    st.integers(0, 2**32 - 1),
    st.floats(0.1, 2.0),
    st.integers(2, 5),
    st.floats(0.0, 0.9),
)
def test_exponential_mechanisms_on_random_candidates_stay_below(
    seed: int, epsilon: float, candidates: int, part: float
) -> None:
    """Two adaptive rounds on arbitrary scores with arbitrary moves, in both directions."""
    generator = np.random.default_rng(seed)
    laws = []
    for _ in range(6):
        scores = generator.normal(0, 2 / epsilon, candidates)
        moves = generator.choice([-1.0, 1.0, generator.uniform(-1, 1)], candidates)
        moved = scores + moves * (1 - 1e-12)  # a move of 1 survives the rounding of the sum
        laws.append(exponential_mechanism(scores, moved, epsilon))
    plan = Repeat(BoundedRange(epsilon, SUB), 2)
    a = np.array([part * 2 * epsilon])
    for turned in (laws, [(q, p) for p, q in laws]):
        reached = best_delta([turned, turned], a)[0]
        assert reached <= tight_delta(plan, float(a[0])) * (1 + 1e-9) + 1e-12


# Closed forms.


@pytest.mark.parametrize("epsilon", [0.05, 0.5, 3.0])
def test_one_selection_has_its_known_profile(epsilon: float) -> None:
    """sup over t of p_t (1 - e^(a-t)) is reached at t = (a + epsilon)/2."""
    for a in np.linspace(0, 0.9 * epsilon, 7):
        exact = math.expm1((a - epsilon) / 2) ** 2 / -math.expm1(-epsilon)
        claim = tight_delta(BoundedRange(epsilon, SUB), float(a))
        assert exact <= claim <= exact * 1.01 + 2e-4 * epsilon


@pytest.mark.parametrize("count", [1, 7, 100])
def test_pure_steps_compose_as_randomized_response(count: int) -> None:
    """Exactly the optimal composition [Kairouz-Oh-Viswanath 2015]: the losses fit the grid."""
    wins = np.arange(count + 1)
    loss = (2 * wins - count) * 0.125
    mass = stats.binom.pmf(wins, count, 1 / (1 + math.exp(-0.125)))
    for a in (0.0, 0.3, 1.0):
        exact = float(np.sum(mass * -np.expm1(np.minimum(a - loss, 0))))
        claim = tight_delta(Repeat(PureDP(0.125, SUB), count), a)
        assert exact * (1 - 1e-9) <= claim <= exact * 1.001 + 1e-9
        own = tight_delta(Repeat(ApproxDP(0.125, 1e-5, SUB), count), a)
        lost = -math.expm1(count * math.log1p(-1e-5))
        assert lost + (1 - lost) * exact <= own * (1 + 1e-9)
        assert own <= claim + count * 1.1e-5


@pytest.mark.parametrize(("multiplier", "count"), [(20.0, 1), (20.0, 5), (100.0, 64)])
def test_gaussian_steps_compose_to_one_gaussian(multiplier: float, count: int) -> None:
    mu = math.sqrt(count) / multiplier
    for a in (0.01, 0.1, 0.3):
        exact = stats.norm.cdf(mu / 2 - a / mu) - math.exp(a) * stats.norm.cdf(-mu / 2 - a / mu)
        claim = tight_delta(Repeat(Gaussian(multiplier, SUB), count), a)
        assert exact <= claim <= 1.1 * exact + 1e-12


# Metamorphic.


def test_repeating_is_the_same_as_writing_out() -> None:
    body = Compose((BoundedRange(0.2, SUB), Gaussian(9, SUB)))
    flat = Compose((BoundedRange(0.2, SUB), Gaussian(9, SUB)) * 6)
    nested = Compose((Repeat(body, 2), Repeat(Repeat(body, 2), 2)))
    for plan in (flat, nested, Compose((body,) * 6)):
        assert tight_delta(plan, 0.7) == tight_delta(Repeat(body, 6), 0.7)


def test_order_in_time_matters_little_and_is_respected() -> None:
    selected, measured = BoundedRange(0.3, SUB), DiscreteLaplace(4, SUB)
    first = tight_delta(Repeat(Compose((selected, measured)), 5), 1)
    last = tight_delta(Repeat(Compose((measured, selected)), 5), 1)
    assert first != last and first == pytest.approx(last, rel=0.1)


@settings(max_examples=12, deadline=None)
@given(st.integers(1, 6), st.floats(0.1, 0.3), st.floats(6, 15), st.floats(0.0, 0.8))
def test_more_rounds_cost_more_and_more_epsilon_costs_less_delta(
    count: int, epsilon: float, multiplier: float, a: float
) -> None:
    here = tight_delta(rounds(count, epsilon, multiplier), a)
    below, above = here * 0.99 - 1e-15, here * 1.01 + 1e-15  # grids differ
    assert tight_delta(rounds(count + 1, epsilon, multiplier), a) >= below
    assert tight_delta(rounds(count, epsilon, multiplier), a + 0.1) <= above
    assert tight_delta(rounds(count, epsilon * 1.1, multiplier), a) >= below
    assert tight_delta(rounds(count, epsilon, multiplier * 1.1), a) <= above


@settings(max_examples=12, deadline=None)
@given(st.integers(2, 15), st.floats(0.05, 0.2), st.floats(12, 30), st.floats(1e-9, 1e-3))
def test_tight_states_no_more_than_zcdp(
    count: int, epsilon: float, multiplier: float, delta: float
) -> None:
    plan = rounds(count, epsilon, multiplier)
    stated = guarantee_of(plan, delta, "tight")
    assert stated.epsilon <= guarantee_of(plan, delta, "zcdp").epsilon
    assert tight_delta(plan, stated.epsilon) <= delta * (1 + 0.01)
    assert tight_epsilon(plan, delta / 2) >= stated.epsilon * (1 - 1e-9)


def test_a_finer_grid_only_lowers_the_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    from winnow.privacy import tight, tight_grid

    plan, found = rounds(20, 0.08, 25.0), []
    for cells in (8, 16, 32, 64, 128):
        monkeypatch.setattr(tight_grid, "_FINENESS", (cells,))
        found.append(tight._tight_delta.__wrapped__(plan, Fraction(1), tight.MOST_WORK))
    assert found == sorted(found, reverse=True)
    assert found[-2] < 1.01 * found[-1]


# The sup over t, on coarse grids where its rounding shows.


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 6), st.floats(0.05, 1.0), st.integers(0, 2**32 - 1))
def test_the_sup_over_t_is_never_below_a_dense_scan(cells: int, h: float, seed: int) -> None:
    """Against the chords themselves; rough, also non-convex bounds at the nodes included."""
    generator = np.random.default_rng(seed)
    nodes = h * np.arange(-8, 13)
    start = -np.expm1(np.minimum(nodes - generator.uniform(0, 1), 0))
    start *= generator.uniform(0.97, 1, len(nodes))
    found = bounded_range_step(cells, h)(start)[8:13]  # away from the ends of the grid
    whole = cells * h

    def chord(a: Floats) -> Floats:
        return np.interp(np.exp(a), np.exp(nodes), start)

    a, t = nodes[8:13, None], np.linspace(0, whole, 301)
    inside = (a - t >= nodes[0]) & (a - t + whole <= nodes[-1])
    share = np.expm1(t - whole) / math.expm1(-whole)
    scanned = np.where(inside, share * chord(a - t) + (1 - share) * chord(a - t + whole), 0.0)
    assert np.all(found >= scanned.max(1) * (1 - 1e-12))


def test_leaving_out_what_lies_between_the_nodes_would_be_too_small() -> None:
    """Two cells: t at the nodes alone misses the best t, which lies between them."""
    epsilon, a = 1.0, 0.3
    exact = math.expm1((a - epsilon) / 2) ** 2 / -math.expm1(-epsilon)
    at_nodes = max(
        math.expm1(t - epsilon) / math.expm1(-epsilon) * max(0.0, -math.expm1(a - t))
        for t in (0.0, 0.5, 1.0)
    )
    assert at_nodes < 0.95 * exact <= tight_delta(BoundedRange(epsilon, SUB), a)


# A choice on the way, and mass that is lost.


def test_a_choice_after_a_measurement_costs_more_than_each_plan_alone() -> None:
    """The sup is inside: the best plan may be another one after each released number."""
    first = DiscreteLaplace(1, SUB)
    ways = (Repeat(DiscreteLaplace(6, SUB), 3), ApproxDP(0.05, 0.02, SUB))
    a = 1.2
    apart = max(tight_delta(Compose((first, way)), a) for way in ways)
    together = tight_delta(Compose((first, AnyOf(ways))), a)
    likely = math.e / (1 + math.e)  # of the loss 1; what follows has 0.2 left
    assert likely * max(tight_delta(way, a - 1) for way in ways) <= together
    assert together > apart


@pytest.mark.parametrize("delta", [1e-9, 1e-6, 0.01])
def test_lost_mass_is_added_once_wherever_it_stands(delta: float) -> None:
    inner, later = rounds(5, 0.2, 10.0), DiscreteLaplace(4, SUB)
    alone = tight_delta(inner, 1)
    assert alone + delta <= tight_delta(Truncated(inner, delta), 1) <= (alone + delta) * 1.000001
    plain = tight_delta(Compose((inner, later)), 1)
    for plan in (
        Compose((Truncated(inner, delta), later)),
        Compose((inner, Truncated(later, delta))),
        Truncated(Compose((inner, later)), delta),
    ):
        assert plain + delta * 0.99 <= tight_delta(plan, 1) <= plain * 1.001 + delta * 1.000001


def test_a_choice_at_the_start_is_the_dearest() -> None:
    ways = (rounds(5, 0.2, 10.0), rounds(20, 0.1, 20.0))
    assert tight_epsilon(AnyOf(ways), 1e-6) == max(tight_epsilon(way, 1e-6) for way in ways)
    assert tight_delta(AnyOf(ways), 1) == max(tight_delta(way, 1) for way in ways)


@pytest.mark.parametrize("a", [0.2, 1.0])
def test_choices_that_are_too_long_are_bounded_by_their_rho(a: float) -> None:
    """Little work leaves the long one to its rho: more than all of the recursion, less than rho."""
    few, many = rounds(6, 0.1, 10.0), rounds(150, 0.02, 50.0)
    plan = Compose((Gaussian(20, SUB), AnyOf((many, few))))
    whole, quick = tight_delta(plan, a), tight_delta(plan, a, work=4e6)
    assert whole < quick <= zcdp_delta(zcdp_cost(plan).rho, a) * 1.01
    # every branch alone is below, and so is a branch that its rho bounds, played at its best
    assert max(tight_delta(Compose((Gaussian(20, SUB), way)), a) for way in (few, many)) <= quick


def test_a_bound_by_rho_holds_on_both_sides_of_zero() -> None:
    """Against two normals, which have their rho exactly and a known delta."""
    nodes = np.linspace(-3, 3, 61)
    bound = summed_bound(zcdp_cost(Gaussian(2, SUB)), nodes)
    mu = 0.5
    true = stats.norm.sf(nodes / mu - mu / 2) - np.exp(nodes) * stats.norm.sf(nodes / mu + mu / 2)
    assert np.all(true <= bound) and np.all(bound <= 1)
    best = [zcdp_delta(zcdp_cost(Gaussian(2, SUB)).rho, a) for a in nodes[nodes >= 0]]
    assert np.allclose(bound[nodes >= 0], best, rtol=0.01)


# What it refuses.


def test_what_the_tight_accountant_cannot_do_is_refused() -> None:
    with pytest.raises(GuaranteeError, match="too long"):
        tight_delta(rounds(10**9, 1e-5, 1e5), 1)
    with pytest.raises(GuaranteeError, match="variance above 1/11"):
        tight_delta(Gaussian(0.3, SUB), 1)
    with pytest.raises(GuaranteeError, match="no room"):
        tight_epsilon(Truncated(PureDP(1, SUB), 1e-6), 1e-7)
    with pytest.raises(GuaranteeError, match="no room"):
        tight_epsilon(ApproxDP(1, 1e-6, SUB), 1e-7)
    with pytest.raises(InputError, match="delta"):
        guarantee_of(PureDP(1, SUB), 0, "tight")
    with pytest.raises(InputError, match="not an event"):
        tight_delta("selection", 1)  # type: ignore[arg-type]
