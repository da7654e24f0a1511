"""The lazy exponential mechanism has the exponential mechanism's law, whatever its bounds are.

All seeds are fixed. A test rejects at p < 1e-4, so a fresh seed would fail a correct sampler
once in ten thousand runs.
"""

from fractions import Fraction

import numpy as np
import pytest

from reference import envelope as reference
from reference.inside import Tape
from reference.rigged_tape import RiggedTape
from reference.running import any_key
from winnow import GrantError, InputError, Schema, Sealed, Workload, marginals, prefixes
from winnow.core.kernels import draw_state
from winnow.core.kernels.draw_state import BOUND, SCORE, SIGN, WORD
from winnow.core.kernels.groups import UNIFORM
from winnow.core.noisy_top.proposals import TapeWords
from winnow.core.workloads.bits import BitsPart, pack
from winnow.core.workloads.real import GridPart
from winnow.errors import InternalError
from winnow.release.rounds.crossing.lazy_selection import LazyExponential, LazySelector
from winnow.release.rounds.kernels.block_sampler import BlockSampler
from winnow.release.rounds.kernels.clocked_draw import OUTGROWN
from winnow.release.rounds.kernels.clocked_sampler import ClockedSampler
from winnow.release.rounds.kernels.distribution import Distribution, uniform_distribution

pytestmark = pytest.mark.extras  # half a minute of compiling, of loops for large workloads alone
REJECT = 1e-4
DRAWS = 8_000
ROWS = 1000
SCHEMA = Schema.parse({"a": 6, "b": 5, "c": 4, "d": 8})
CELLS = 960


def bits(count: int, seed: int = 5) -> Workload:
    rng = np.random.default_rng(seed)
    return Workload(SCHEMA, (BitsPart(SCHEMA, pack(rng.random((count, CELLS)) < 0.3)),))


def union() -> Workload:
    rng = np.random.default_rng(6)
    parts = (
        GridPart(SCHEMA, rng.integers(0, 11, (20, CELLS)).astype(np.uint8), 10),
        GridPart(SCHEMA, rng.integers(0, 101, (20, CELLS)).astype(np.uint8), 100),
    )
    return (
        Workload(SCHEMA, parts[:1])
        + bits(30)
        + marginals(2).over(SCHEMA)
        + Workload(SCHEMA, parts[1:])
    )


WORKLOADS = {
    "marginals": lambda: marginals(2).over(SCHEMA) + marginals(3).over(SCHEMA),
    "prefixes": lambda: prefixes("d").over(SCHEMA) + marginals(1).over(SCHEMA),
    "bits": lambda: bits(60),
    "union": union,
}


def setting(name: str, seed: int = 0) -> tuple[Workload, np.ndarray, Distribution]:
    """A workload, the counts of a table with structure, and a distribution after some steps."""
    rng = np.random.default_rng(seed)
    workload = WORKLOADS[name]()
    codes = [rng.integers(0, n, ROWS) for n in SCHEMA.shape]
    codes[0][:300] = 1
    codes[3][:400] = codes[0][:400] + 1
    distribution = uniform_distribution(workload, ROWS)
    for _ in range(15):
        distribution.update(int(rng.integers(workload.size)), float(rng.normal() * 0.3))
    return workload, workload.counts(codes, np.ones(ROWS, np.int64)), distribution


def exponents(workload: Workload, counts: np.ndarray, distribution: Distribution, epsilon: float):
    return epsilon / 2 * (counts / workload.grids - ROWS * distribution.answers())


def tally(selector: LazySelector, distribution: Distribution, tape: Tape, draws: int = DRAWS):
    seen = np.zeros((distribution.size, 2))
    for _ in range(draws):
        query, sign = selector.draw(distribution, tape)
        seen[query, (1 - sign) // 2] += 1
    return seen


@pytest.mark.parametrize("name", list(WORKLOADS))
@pytest.mark.parametrize("epsilon", [0.01, 0.04])
def test_draws_follow_the_exponential_mechanism(name: str, epsilon: float) -> None:
    workload, counts, distribution = setting(name)
    selector = LazySelector(Sealed(counts, "counts"), workload, epsilon, key=any_key())
    seen = tally(selector, distribution, Tape.seeded(1))
    expected = DRAWS * reference.law(exponents(workload, counts, distribution, epsilon))
    assert reference.p_value(seen, expected) > REJECT


@pytest.mark.parametrize("name", ["marginals", "bits"])
def test_a_wrong_scale_would_be_noticed(name: str) -> None:
    workload, counts, distribution = setting(name)
    doubled = 2 * 0.05  # the factor 2 is missing
    broken = LazySelector(Sealed(counts, "counts"), workload, doubled, key=any_key())
    seen = tally(broken, distribution, Tape.seeded(1))
    expected = DRAWS * reference.law(exponents(workload, counts, distribution, 0.05))
    assert reference.p_value(seen, expected) < REJECT


def test_blocks_under_a_low_parent_are_not_evaluated_and_the_law_stays() -> None:
    """Data drawn from a concentrated distribution: most parents are nearly empty."""
    rng = np.random.default_rng(12)
    workload, _, distribution = setting("marginals")
    for query in (0, 31, 55, 110):
        distribution.update(query, 2.5)
    drawn = rng.multinomial(ROWS, distribution.weights())
    codes = [np.repeat(code.ravel(), drawn) for code in np.indices(SCHEMA.shape)]
    counts = workload.counts(codes, np.ones(ROWS, np.int64))
    selector = LazySelector(Sealed(counts, "counts"), workload, 1.0, key=any_key())
    seen = tally(selector, distribution, Tape.seeded(2))
    sampler = selector._sampler
    assert isinstance(sampler, BlockSampler)
    assert sampler._all_evaluations < 0.8 * DRAWS * workload.size
    expected = DRAWS * reference.law(exponents(workload, counts, distribution, 1.0))
    assert (expected >= 8).sum() > 5
    assert reference.p_value(seen, expected) > REJECT


def test_blocks_that_are_not_evaluated_are_proposed_from_by_their_bound() -> None:
    """With no threshold nothing is evaluated beforehand but the highest block."""
    workload, counts, distribution = setting("marginals")
    selector = LazySelector(Sealed(counts, "counts"), workload, 0.02, key=any_key())
    selector._open(distribution)
    sampler = selector._sampler
    assert isinstance(sampler, BlockSampler)
    sampler._plain = tuple(sampler._blocks._replace(depth=0))
    seen = tally(selector, distribution, Tape.seeded(3))
    expected = DRAWS * reference.law(exponents(workload, counts, distribution, 0.02))
    assert reference.p_value(seen, expected) > REJECT


@pytest.mark.parametrize("name", ["bits", "union"])
@pytest.mark.parametrize("epsilon", [0.01, 0.05])
def test_the_law_holds_through_steps_epochs_and_merges(name: str, epsilon: float) -> None:
    workload, counts, distribution = setting(name)
    rng = np.random.default_rng(7)
    selector = LazySelector(Sealed(counts, "counts"), workload, epsilon, key=any_key())
    tape = Tape.seeded(4)
    seen, expected = np.zeros((workload.size, 2)), np.zeros((workload.size, 2))
    slots = set()
    for step in range(DRAWS // 20):
        distribution.update(int(rng.integers(workload.size)), (0.2, -0.2)[step % 2])
        seen += tally(selector, distribution, tape, 20)
        expected += 20 * reference.law(exponents(workload, counts, distribution, epsilon))
        sampler = selector._sampler
        assert isinstance(sampler, ClockedSampler)
        slots |= set(np.flatnonzero(sampler._clocked.groups.members).tolist())
    assert len(slots) == 8  # all were used, so some were merged
    assert reference.p_value(seen, expected) > REJECT


@pytest.mark.parametrize("allowed", [0, 3])
def test_the_law_holds_when_draws_end_in_a_full_scan(allowed: int) -> None:
    workload, counts, distribution = setting("bits")
    selector = LazySelector(Sealed(counts, "counts"), workload, 0.1, key=any_key())
    tape = Tape.seeded(5)
    seen = np.zeros((workload.size, 2))
    for _ in range(DRAWS // 2):
        distribution.version += 1  # a step that changes nothing
        seen += tally(selector, distribution, tape, 1)
        sampler = selector._sampler
        assert isinstance(sampler, ClockedSampler)
        keys, cap = sampler._clocked.groups.keys, sampler._clocked.cap
        keys[:] = np.minimum(keys + 3.0, cap)  # stale keys
        sampler._state[OUTGROWN] = 1  # are arranged anew
        sampler._allowed = allowed
    expected = DRAWS // 2 * reference.law(exponents(workload, counts, distribution, 0.1))
    assert reference.p_value(seen, expected) > REJECT


def test_bad_bounds_cost_time_only() -> None:
    """Every draw starts from keys that are too high by different amounts, in all epochs."""
    workload, counts, distribution = setting("bits")
    epsilon, draws = 0.1, 5000
    rate = LazyExponential(epsilon).rate(1)
    sampler = ClockedSampler(counts, distribution, rate)
    words = TapeWords(Tape.seeded(6))
    x = exponents(workload, counts, distribution, epsilon)
    true = np.abs(x) / np.log(2)
    rng = np.random.default_rng(8)
    seen = np.zeros((workload.size, 2))
    sampler.draw(distribution, words)
    clocked, groups = sampler._clocked, sampler._clocked.groups
    clocked.references[:] = distribution.whole_weights(sampler._units)
    sampler._allowed = sampler._most = 10**6
    for _ in range(draws):
        groups.keys[:] = np.minimum(true + 0.01 + rng.exponential(2, len(x)), clocked.cap)
        groups.group[:] = rng.integers(0, 8, len(x)) << UNIFORM.bucket_bits
        sampler._state[OUTGROWN] = 30
        distribution.version += 1
        query, sign = sampler.draw(distribution, words)
        seen[query, (1 - sign) // 2] += 1
    assert reference.p_value(seen, draws * reference.law(x)) > REJECT


@pytest.mark.parametrize("name", ["prefixes", "bits"])
def test_without_signal_all_signed_queries_are_equally_likely(name: str) -> None:
    workload, counts, distribution = setting(name)
    selector = LazySelector(Sealed(counts, "counts"), workload, 1e-9, key=any_key())
    seen = tally(selector, distribution, Tape.seeded(7), 5000)
    assert reference.p_value(seen, np.full(seen.shape, 5000 / seen.size)) > REJECT


def test_draws_equal_the_slow_twin_bit_for_bit() -> None:
    workload, counts, distribution = setting("prefixes")
    epsilon = Fraction(1, 20)
    selector = LazySelector(Sealed(counts, "counts"), workload, epsilon, key=any_key())
    tape, item = Tape.seeded(8), 0
    for step in range(300):
        values, mass = distribution.maintained_answers()
        units = float(ROWS << 24)
        answers = np.rint(values[: workload.size] * (units / mass)).astype(np.int64)
        scores = [int(s) for s in (counts << 24) - answers]
        query, sign, item = reference.draw(scores, epsilon / 2 / (1 << 24), tape, item)
        assert selector.draw(distribution, tape) == (query, sign)
        distribution.update(step % workload.size, 0.1)


@pytest.mark.parametrize("name", list(WORKLOADS))
def test_the_size_of_the_buffer_has_no_influence(name: str) -> None:
    drawn = []
    for size in (3, 4096):
        workload, counts, distribution = setting(name)
        selector = LazySelector(Sealed(counts, "counts"), workload, 0.1, key=any_key())
        words = TapeWords(Tape.seeded(9), size)
        run = []
        for step in range(200):
            run.append(selector.draw(distribution, words))
            distribution.update(step % workload.size, 0.2)
        drawn.append(run)
    assert drawn[0] == drawn[1]


@pytest.mark.parametrize("name", ["marginals", "bits"])
@pytest.mark.parametrize("inside", [True, False])
def test_open_comparisons_are_decided_exactly(monkeypatch, name: str, inside: bool) -> None:
    """The tape agrees with the chance of acceptance in its first 140 bits, then differs."""
    workload, counts, distribution = setting(name)
    calls = []
    exact = draw_state.exact_acceptance
    monkeypatch.setattr(
        draw_state, "exact_acceptance", lambda *a: calls.append(exact(*a)) or calls[-1]
    )
    tried = 0
    for seed in range(12):
        selector = LazySelector(Sealed(counts, "counts"), workload, 0.05, key=any_key())
        tape = Tape.seeded(seed)
        first = selector.draw(distribution, tape)
        sampler = selector._sampler
        sign, bound, score, at = (int(sampler._state[k]) for k in (SIGN, BOUND, SCORE, WORD))
        beta = sampler._beta if name == "marginals" else sampler._exact[0]
        chance = _bits_of_exp(beta * sign * score, bound, 140)
        if chance == 1 << 140:
            continue
        prefix = format(chance if not inside else chance - 1, "0140b")
        prefix += "1" if not inside else "0"
        if prefix[:32] != format(chance, "0140b")[:32]:
            continue
        calls.clear()
        again = LazySelector(Sealed(counts, "counts"), workload, 0.05, key=any_key())
        second = again.draw(distribution, RiggedTape(seed, {at: prefix + ("1" * 20)}))
        assert calls == [inside]
        assert not inside or second == first
        tried += 1
    assert tried > 5


def _bits_of_exp(exponent: Fraction, bound: int, count: int) -> int:
    """floor(2^count exp(exponent - bound ln 2))."""
    from decimal import Decimal, localcontext

    with localcontext() as context:
        context.prec = 80
        x = Decimal(exponent.numerator) / Decimal(exponent.denominator)
        return int((x - bound * Decimal(2).ln()).exp() * (1 << count))


def test_a_violated_certificate_raises_and_says_nothing() -> None:
    workload, counts, distribution = setting("bits")
    selector = LazySelector(Sealed(counts, "counts"), workload, 0.5, key=any_key())
    tape = Tape.seeded(11)
    selector.draw(distribution, tape)
    sampler = selector._sampler
    sampler._clocked.groups.keys[:] = 0.1
    sampler._state[OUTGROWN] = 1
    distribution.version += 1
    with pytest.raises(InternalError, match="certified") as raised:
        tally(selector, distribution, tape, 100)
    assert not any(character.isdigit() for character in str(raised.value))


def test_a_violated_parent_bound_raises() -> None:
    workload, counts, distribution = setting("marginals")
    selector = LazySelector(Sealed(counts, "counts"), workload, 0.5, key=any_key())
    selector._open(distribution)
    blocks = selector._sampler._blocks
    broken = blocks._replace(
        parents=np.full_like(blocks.parents, distribution.table_place((0, 1))),  # one for all
        highest=np.zeros_like(blocks.highest),
        depth=0,
    )
    selector._sampler._plain = tuple(broken)
    with pytest.raises(InternalError, match="certified"):
        tally(selector, distribution, Tape.seeded(1), 50)


@pytest.mark.parametrize("total", [1 << 24, 1 << 29])
def test_large_tables_are_drawn_from_in_wider_numbers(total: int) -> None:
    """Whole weights of 64 bits: the law is that of counts a little off the distribution."""
    workload = union()
    distribution = uniform_distribution(workload, total)
    rng = np.random.default_rng(13)
    grids = workload.grids
    off = rng.integers(-6, 7, workload.size) * grids
    counts = np.rint(total * distribution.answers() * grids).astype(np.int64) + off
    selector = LazySelector(Sealed(counts, "counts"), workload, 0.3, key=any_key())
    seen = tally(selector, distribution, Tape.seeded(14), 3000)
    assert selector._sampler._clocked.references.dtype == np.int64
    x = 0.15 * (counts - total * grids * distribution.answers()) / grids
    assert reference.p_value(seen, 3000 * reference.law(x)) > REJECT


def test_counts_are_clipped_and_parameters_are_checked() -> None:
    workload, counts, distribution = setting("bits")
    selector = LazySelector(Sealed(counts + 2**62, "counts"), workload, 0.1, key=any_key())
    assert selector.draw(distribution, Tape.seeded(1))[1] == 1
    with pytest.raises(InputError, match="epsilon"):
        LazySelector(Sealed(counts, "counts"), workload, 0, key=any_key())
    with pytest.raises(InputError, match="sensitivity"):
        LazySelector(Sealed(counts, "counts"), workload, 1, 0, key=any_key())
    eager = LazySelector(Sealed(counts, "counts"), workload, 1e9, key=any_key())
    with pytest.raises(InputError, match="lower epsilon"):  # before a charge
        eager.check(distribution.total)
    eager.draw(distribution, Tape.seeded(1))  # after it a smaller epsilon is drawn with
    with pytest.raises(InputError, match="another workload"):
        LazySelector(Sealed(counts, "counts"), bits(60), 1, key=any_key()).draw(
            distribution, Tape.seeded(1)
        )
    with pytest.raises(InputError, match="another workload"):  # not only when it is opened
        selector.draw(uniform_distribution(bits(60), ROWS), Tape.seeded(1))
    with pytest.raises(InputError, match="coarser grid"):
        selector.check(1 << 50)
    tape = Tape.seeded(2)
    selector.draw(distribution, tape)
    with pytest.raises(GrantError, match="fresh tape"):
        LazySelector(Sealed(counts, "counts"), workload, 1, key=any_key()).draw(distribution, tape)
    with pytest.raises(TypeError, match="private"):
        selector.__reduce_ex__(2)
    assert "4" not in repr(selector)
