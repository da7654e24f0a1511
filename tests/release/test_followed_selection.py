"""Binary queries whose answers are followed step by step are drawn by the exponential mechanism.

All seeds are fixed. A test rejects at p < 1e-4, so a fresh seed would fail a correct sampler
once in ten thousand runs.
"""

from fractions import Fraction

import numpy as np
import pytest

from reference import envelope as reference
from reference.inside import Tape
from reference.running import any_key
from winnow import Schema, Sealed, Workload, marginals
from winnow.core.noisy_top.proposals import TapeWords
from winnow.core.workloads.bits import BitsPart, pack
from winnow.errors import InternalError
from winnow.release.rounds.crossing.lazy_selection import LazySelector
from winnow.release.rounds.kernels import clocked_sampler
from winnow.release.rounds.kernels.distribution import Distribution, uniform_distribution
from winnow.release.rounds.kernels.followed_sampler import FollowedSampler

pytestmark = pytest.mark.extras  # they compile loops that only large workloads need
REJECT = 1e-4
ROWS = 1000


def setting(
    queries: int, shape: tuple[int, ...], *, tables: bool = False, seed: int = 0, rows: int = ROWS
) -> tuple[Workload, np.ndarray, Distribution]:
    """Random binary queries, with tables of two columns before them or not, and their counts."""
    rng = np.random.default_rng(seed)
    schema = Schema.parse({f"c{i}": n for i, n in enumerate(shape)})
    inside = rng.random((queries, int(schema.cells))) < 0.3
    workload = Workload(schema, (BitsPart(schema, pack(inside)),))
    if tables:
        workload = workload + marginals(2).over(schema)
    codes = [np.minimum(rng.integers(0, n, rows), rng.integers(0, n, rows)) for n in shape]
    counts = workload.counts(codes, np.ones(rows, np.int64))
    return workload, counts, uniform_distribution(workload, rows)


@pytest.fixture
def followed(monkeypatch: pytest.MonkeyPatch) -> None:
    """All binary queries are followed, however few there are."""
    monkeypatch.setattr(clocked_sampler.FOLLOW, "_at", 0.0)
    monkeypatch.setattr(clocked_sampler, "_MANY", 1)


def sampler_of(selector: LazySelector) -> FollowedSampler:
    held = selector._sampler
    assert isinstance(held, clocked_sampler.ClockedSampler)
    assert held._followed is not None
    return held._followed


def exponents(
    workload: Workload, counts: np.ndarray, distribution: Distribution, epsilon: float
) -> np.ndarray:
    return epsilon / 2 * (counts - distribution.total * distribution.answers())


@pytest.mark.usefixtures("followed")
@pytest.mark.parametrize(
    ("queries", "shape", "tables"),
    [(5, (7,), False), (600, (9, 11), False), (1100, (6, 5, 4, 8), True), (512, (64, 2), False)],
)
@pytest.mark.parametrize("epsilon", [0.05, 2.0])
def test_sums_are_those_of_the_reference_and_no_bound_is_below_a_score(
    queries: int, shape: tuple[int, ...], tables: bool, epsilon: float
) -> None:
    """In whole numbers, through small steps, large ones, and changes of the unit of weight."""
    workload, counts, distribution = setting(queries, shape, tables=tables)
    selector = LazySelector(Sealed(counts, "counts"), workload, epsilon, key=any_key())
    rng, tape = np.random.default_rng(1), Tape.seeded(1)
    bits = distribution.dense[0].part
    inside = np.array([bits.row(j) for j in range(queries)]).astype(np.int64)
    for step in range(40):
        selector.draw(distribution, tape)
        sampler = sampler_of(selector)
        held = sampler._followed
        cells = inside.shape[1]
        assert (held.sums[:queries] == inside @ held.reference[:cells]).all()
        whole = distribution.whole_weights(sampler._units)[:cells].astype(np.int64)
        first = len(held.counts) - queries
        scores = held.counts[first:] - inside @ whole
        least = abs(scores) * Fraction(float(sampler._beta)).limit_denominator(10**15)
        assert (held.bounds[first:] * np.log(2) >= least.astype(float) * (1 - 1e-12)).all()
        distribution.update(
            int(rng.integers(workload.size)), float(rng.normal() * (0.01, 0.3, 3.0)[step % 3])
        )


@pytest.mark.usefixtures("followed")
@pytest.mark.parametrize("tables", [False, True])
@pytest.mark.parametrize("epsilon", [0.01, 0.1])
def test_the_law_holds_through_steps(tables: bool, epsilon: float) -> None:
    workload, counts, distribution = setting(150, (6, 5, 4), tables=tables, seed=2)
    selector = LazySelector(Sealed(counts, "counts"), workload, epsilon, key=any_key())
    rng, tape = np.random.default_rng(3), Tape.seeded(4)
    seen, expected = np.zeros((workload.size, 2)), np.zeros((workload.size, 2))
    for step in range(400):
        distribution.update(int(rng.integers(workload.size)), (0.2, -0.2)[step % 2])
        for _ in range(20):
            query, sign = selector.draw(distribution, tape)
            seen[query, (1 - sign) // 2] += 1
        expected += 20 * reference.law(exponents(workload, counts, distribution, epsilon))
    sampler_of(selector)
    assert reference.p_value(seen, expected) > REJECT
    wrong = np.zeros_like(expected) + 8000 * reference.law(
        exponents(workload, counts, uniform_distribution(workload, ROWS), 1.5 * epsilon)
    )
    assert reference.p_value(seen, wrong) < REJECT


@pytest.mark.usefixtures("followed")
@pytest.mark.parametrize("slack", [1.0, 30.0, 90.0])
def test_high_bounds_cost_time_only(slack: float) -> None:
    """Bounds far above the scores are lowered one by one, as far down as it takes."""
    workload, counts, distribution = setting(100, (6, 5, 4), seed=5)
    selector = LazySelector(Sealed(counts, "counts"), workload, 0.1, key=any_key())
    tape, draws = Tape.seeded(6), 3000
    selector.draw(distribution, tape)
    sampler = sampler_of(selector)
    error = slack / sampler._per_unit
    sampler._plain = tuple(sampler._followed._replace(margin=error))
    seen = np.zeros((workload.size, 2))
    for _ in range(draws):
        distribution.version += 1  # a step that changes nothing
        query, sign = selector.draw(distribution, tape)
        seen[query, (1 - sign) // 2] += 1
    expected = draws * reference.law(exponents(workload, counts, distribution, 0.1))
    assert reference.p_value(seen, expected) > REJECT


@pytest.mark.usefixtures("followed")
def test_sums_that_are_wrong_are_noticed() -> None:
    workload, counts, distribution = setting(100, (6, 5, 4), seed=5)
    selector = LazySelector(Sealed(counts, "counts"), workload, 1.0, key=any_key())
    tape = Tape.seeded(6)
    selector.draw(distribution, tape)
    held = sampler_of(selector)._followed
    right = held.counts / (held.sums[: len(held.counts)] + 1.0)
    held.sums[:100] = (held.counts / np.median(right)).astype(np.int32)  # as if all were met
    distribution.version += 1
    with pytest.raises(InternalError, match="certified"):
        _ = [selector.draw(distribution, tape) for _ in range(300)]


def test_queries_are_followed_once_too_many_had_to_be_looked_at(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(clocked_sampler, "_MANY", 1)
    monkeypatch.setattr(clocked_sampler.FOLLOW, "_at", 1e9)
    workload, counts, distribution = setting(150, (6, 5, 4), seed=2)
    selector = LazySelector(Sealed(counts, "counts"), workload, 0.1, key=any_key())
    tape, draws = Tape.seeded(7), 4000
    selector.draw(distribution, tape)
    held = selector._sampler
    assert isinstance(held, clocked_sampler.ClockedSampler)
    assert held._followed is None
    held._allowed = 0
    distribution.update(3, 0.3)
    seen = np.zeros((workload.size, 2))
    for _ in range(draws):
        query, sign = selector.draw(distribution, tape)
        seen[query, (1 - sign) // 2] += 1
    sampler_of(selector)
    expected = draws * reference.law(exponents(workload, counts, distribution, 0.1))
    assert reference.p_value(seen, expected) > REJECT


def test_many_queries_with_much_to_tell_apart_are_followed_from_the_start() -> None:
    workload, counts, distribution = setting(2100, (6, 5), seed=8, rows=50_000)
    selector = LazySelector(Sealed(counts, "counts"), workload, 0.1, key=any_key())
    selector.draw(distribution, Tape.seeded(1))
    sampler_of(selector)


@pytest.mark.usefixtures("followed")
def test_the_size_of_the_buffer_has_no_influence() -> None:
    drawn = []
    for size in (3, 4096):
        workload, counts, distribution = setting(150, (6, 5, 4), seed=2)
        selector = LazySelector(Sealed(counts, "counts"), workload, 0.1, key=any_key())
        words = TapeWords(Tape.seeded(9), size)
        run = []
        for step in range(100):
            run.append(selector.draw(distribution, words))
            distribution.update(step, 0.2)
        drawn.append(run)
    assert drawn[0] == drawn[1]


@pytest.mark.usefixtures("followed")
@pytest.mark.parametrize("total", [1 << 24, 1 << 29])
def test_large_tables_are_drawn_from_in_wider_numbers(total: int) -> None:
    workload, _, _ = setting(100, (6, 5, 4), tables=True, seed=5)
    distribution = uniform_distribution(workload, total)
    rng = np.random.default_rng(13)
    counts = np.rint(total * distribution.answers()).astype(np.int64)
    counts += rng.integers(-6, 7, workload.size)
    selector = LazySelector(Sealed(counts, "counts"), workload, 0.3, key=any_key())
    seen, tape = np.zeros((workload.size, 2)), Tape.seeded(14)
    for _ in range(3000):
        query, sign = selector.draw(distribution, tape)
        seen[query, (1 - sign) // 2] += 1
    sampler_of(selector)
    expected = 3000 * reference.law(exponents(workload, counts, distribution, 0.3))
    assert reference.p_value(seen, expected) > REJECT
