"""The filtered core against full precision on the same tape: not one mismatch is allowed."""

from fractions import Fraction

import numpy as np
import pytest
from flint import arb, fmpz

from reference import arb_noise
from reference.inside import Law, Tape
from reference.rigged_tape import RiggedTape
from winnow.core.bounded import STAGE1_ERROR, noise
from winnow.core.noisy_top.draw import NoisyTop, contenders, noisy_top
from winnow.core.noisy_top.laplace_tests import LaplaceTests
from winnow.core.noisy_top.log_counts import LogCounts
from winnow.core.noisy_top.rows import noisy_top_rows

SCALES = (Fraction(1, 3), Fraction(1), Fraction(5, 2), Fraction(1, 20))


def scores_of(kind: str, d: int, rng: np.random.Generator) -> np.ndarray:
    match kind:
        case "ties":
            return np.zeros(d, np.int64)
        case "small integers":
            return rng.integers(0, 5, d)
        case "near 2^61":
            return 2**61 + rng.integers(0, 6, d)
        case "near -2^62":
            return -(2**62) + rng.integers(0, 6, d)
        case "full int64 range":
            return rng.choice([-(2**63), -(2**62), 0, 2**62, 2**63 - 1], d)
        case "near 1e16":
            return 1e16 + 2.0 * rng.integers(0, 4, d)
        case "floats":
            return rng.normal(size=d) * 4
        case _:
            return np.linspace(0, 30, d)


KINDS = (
    "ties", "small integers", "near 2^61", "near -2^62", "full int64 range", "near 1e16",
    "floats", "ramp",
)  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("law", list(Law))
@pytest.mark.parametrize("kind", KINDS)
def test_filtered_winners_equal_full_precision_on_the_same_tape(law: Law, kind: str) -> None:
    """5 laws x 8 kinds x 50 = 2,000 instances, each by three filters."""
    rng = np.random.default_rng(list(Law).index(law) * 100 + KINDS.index(kind))
    for instance in range(50):
        d = int(rng.integers(1, 9))
        k = 1 if instance % 2 else int(rng.integers(1, d + 1))
        scores = np.ascontiguousarray(scores_of(kind, d, rng))
        scale = SCALES[instance % len(SCALES)]
        tape = Tape.seeded(1000 * KINDS.index(kind) + instance)
        counts, logs = None, None
        if instance % 3 == 0:
            sizes = [int(n) ** int(rng.integers(1, 60)) for n in rng.integers(1, 90, d)]
            counts, logs = LogCounts.of_integers(sizes), [arb(fmpz(n)).log() for n in sizes]
        expected = arb_noise.noisy_top(scores, tape, law, scale, k, logs)

        for error in (STAGE1_ERROR, 0.3):  # a blunt stage 1 sends work to stage 2
            top = contenders(scores, tape, law, scale, k, log_counts=counts, stage1_error=error)
            assert top.winners() == expected
        assert noisy_top_rows(scores, tape, law, scale, 1, k, counts)[0].tolist() == expected


@pytest.mark.parametrize("law", list(Law))
def test_log_counts_of_a_hundred_thousand_are_exact(law: Law) -> None:
    rng = np.random.default_rng(5)
    for instance in range(20):
        logs = rng.random(5) * 3 + rng.choice([1e3, 1e5, 1e6])
        tape = Tape.seeded(instance)
        scores = rng.integers(0, 3, 5)
        expected = arb_noise.noisy_top(
            scores, tape, law, Fraction(1), 5, [arb_noise.ball(x) for x in logs]
        )
        assert (
            noisy_top(scores, tape, law, Fraction(1), 5, LogCounts(logs, np.zeros(len(logs))))
            == expected
        )


@pytest.mark.parametrize("law", list(Law))
@pytest.mark.parametrize("size", [5_000, 70_001])
@pytest.mark.parametrize("k", [1, 20])
def test_large_inputs_cross_chunks_without_losing_the_winners(law: Law, size: int, k: int) -> None:
    rng = np.random.default_rng(size)
    for instance, scores in enumerate(
        (np.zeros(size), np.linspace(0, 40, size), rng.normal(size=size) * 3)
    ):
        tape = Tape.seeded(instance)
        fast = contenders(scores, tape, law, Fraction(1, 2), k).winners()
        everything = NoisyTop(
            tape, law, Fraction(1, 2), k, np.arange(size), tape.words(0, size), scores
        ).winners()
        assert fast == everything


@pytest.mark.parametrize("law", list(Law))
def test_two_items_that_share_two_thousand_bits_are_still_told_apart(law: Law) -> None:
    shared = format(Tape.seeded(8).bits(0, 2000), "02000b")
    first_wins = RiggedTape(1, {0: shared + "0", 1: shared + "1"})
    second_wins = RiggedTape(1, {0: shared + "1", 1: shared + "0"})
    scores = np.array([7, 7])
    assert noisy_top(scores, first_wins, law, Fraction(1)) == [0]  # small V is large noise
    assert noisy_top(scores, second_wins, law, Fraction(1)) == [1]


@pytest.mark.parametrize("law", list(Law))
@pytest.mark.parametrize("grouped", [False, True])
def test_stage_one_error_bound_holds_against_full_precision(law: Law, grouped: bool) -> None:
    rng = np.random.default_rng(3)
    size = 400
    words = (rng.integers(0, 2**32, size) >> rng.integers(0, 32, size)).astype(np.uint32)
    words[::2] = ~words[::2]
    words[:3], words[3:6] = 0, 0xFFFFFFFF
    extension = rng.integers(0, 2**64, size, dtype=np.uint64)
    logs = rng.random(size) * 60 if grouped else None
    z, error = noise(law, words, extension, logs)
    for i in range(size):
        known = (int(words[i]) << 64) | int(extension[i])
        v = arb(fmpz(2 * known + 1), 1) / arb(fmpz(1) << 97)
        log_count = None if logs is None else arb_noise.ball(float(logs[i]))
        truth = arb_noise.noise(law, v, log_count)
        allowance = arb(float(error[i])) + (0 if logs is None else 2.0**-49 * logs[i])
        assert abs(arb(float(z[i])) - truth) < allowance


@pytest.mark.parametrize("law", list(Law))
def test_a_few_items_have_the_same_bits_of_noise_as_many(law: Law) -> None:
    rng = np.random.default_rng(4)
    words = (rng.integers(0, 2**32, 3000) >> rng.integers(0, 33, 3000)).astype(np.uint32)
    words[::2] = ~words[::2]
    extension = rng.integers(0, 2**64, 3000, dtype=np.uint64)
    extension >>= rng.integers(0, 32, 3000, dtype=np.uint64)
    many = noise(law, words, extension, None)
    few = [noise(law, words[i : i + 5], extension[i : i + 5], None) for i in range(0, 3000, 5)]
    for one, other in zip(many, map(np.concatenate, zip(*few, strict=True)), strict=True):
        np.testing.assert_array_equal(one, other)
    assert 0 < np.isinf(many[1]).sum() < 300


def test_where_too_few_bits_are_known_stage_one_says_so() -> None:
    words = np.array([0, 0xFFFFFFFF], np.uint32)
    extension = np.array([2**45 - 1, 2**64 - 2**45], np.uint64)
    for law in Law:
        _, error = noise(law, words, extension, None)
        assert np.isinf(error).all()


@pytest.mark.parametrize("error", [STAGE1_ERROR, 0.2])
def test_laplace_comparisons_equal_full_precision(error: float) -> None:
    rng = np.random.default_rng(11)
    for instance in range(150):
        tape = Tape.seeded(instance)
        common, scale = (Fraction(3), Fraction(6)), Fraction(12)
        offsets = rng.normal(size=6) * 20
        tests = LaplaceTests(tape, common, scale, error)
        outcome = tests.outcomes(
            0, offsets, np.zeros(6), lambda i, offsets=offsets: Fraction(float(offsets[i]))
        )
        own, shared = tape.child("own"), tape.child("common")
        total = sum(
            (
                arb_noise.noise(Law.LAPLACE, arb_noise.uniform(shared, j)) * arb_noise.ball(b)
                for j, b in enumerate(common)
            ),
            arb(0),
        )
        for i in range(6):
            z = arb_noise.noise(Law.LAPLACE, arb_noise.uniform(own, i)) * arb_noise.ball(scale)
            value = total + z + arb_noise.ball(float(offsets[i]))
            assert bool(value > 0) is bool(outcome[i])
