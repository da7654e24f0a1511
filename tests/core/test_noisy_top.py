"""The core: coarse bounds, shards, and the choice between the plain and the compiled path."""

import os
import pickle
import subprocess
import sys
from fractions import Fraction
from itertools import pairwise

import numba
import numpy as np
import pytest

from reference.rigged_tape import RiggedTape
from winnow.core.arithmetic import Arithmetic
from winnow.core.bounded import noise
from winnow.core.kernels.compiled import _date_by_all
from winnow.core.laws import Law
from winnow.core.noisy_top.draw import coarse_bounds, contenders, gaps_to, noisy_top
from winnow.core.noisy_top.log_counts import LogCounts
from winnow.core.noisy_top.rows import noisy_top_rows
from winnow.core.tape import Tape


@pytest.mark.parametrize("law", list(Law))
@pytest.mark.parametrize("grouped", [False, True])
def test_coarse_bounds_contain_the_noisy_score(law: Law, grouped: bool) -> None:
    rng = np.random.default_rng(0)
    size = 20_000
    words = (rng.integers(0, 2**32, size) >> rng.integers(0, 33, size)).astype(np.uint32)
    words[::3] = ~words[::3]
    gaps = np.abs(rng.normal(size=size)) * 10.0 ** rng.integers(-3, 17, size)
    logs = rng.random(size) * 10.0 ** rng.integers(0, 6, size) if grouped else None
    z, error = noise(law, words, rng.integers(0, 2**64, size, dtype=np.uint64), logs)
    scale = 0.37
    low, high = coarse_bounds(
        gaps, words, scale * (1 - 2**-49), scale * (1 + 2**-49), law.formulas.top_shift,
        logs, None if logs is None else np.zeros(size),
    )  # fmt: skip
    known = np.isfinite(error)
    rounding = 2.0**-49 * (scale * gaps + (0 if logs is None else logs))
    assert np.all((low <= z - scale * gaps + error + rounding)[known])
    assert np.all((high >= z - scale * gaps - error - rounding)[known])


@pytest.mark.parametrize("law", list(Law))
@pytest.mark.parametrize("k", [1, 5])
def test_shards_merge_bit_for_bit(law: Law, k: int) -> None:
    rng = np.random.default_rng(1)
    for seed in range(5):
        scores = rng.integers(0, 8, 3001) + (2**61 if seed % 2 else 0)
        counts = LogCounts.of_logs(rng.random(3001) * 3) if seed % 3 == 0 else None
        tape = Tape.seeded(seed)
        whole = noisy_top(scores, tape, law, Fraction(1, 2), k, counts)
        for shards in (1, 2, 7):
            edges = np.linspace(0, 3001, shards + 1).astype(int)
            parts = [
                contenders(
                    scores[a:b], tape, law, Fraction(1, 2), k, first_id=int(a),
                    log_counts=counts and LogCounts(counts.approx[a:b], counts.error[a:b]),
                    compiled=bool(seed % 2),
                )
                for a, b in pairwise(edges)
            ]  # fmt: skip
            merged = parts[-1]
            for part in parts[-2::-1]:  # in any order
                merged = merged.merge(part)
            assert merged.winners() == whole


def test_shards_of_different_draws_do_not_merge() -> None:
    scores = np.arange(5)
    one = contenders(scores, Tape.seeded(1), Law.GUMBEL, Fraction(1))
    for tape, law, scale, k in (
        (Tape.seeded(1), Law.GUMBEL, Fraction(1), 1),
        (one.tape, Law.LAPLACE, Fraction(1), 1),
        (one.tape, Law.GUMBEL, Fraction(2), 1),
        (one.tape, Law.GUMBEL, Fraction(1), 2),
    ):
        with pytest.raises(ValueError, match="different draws"):
            one.merge(contenders(scores, tape, law, scale, k))
    with pytest.raises(ValueError, match="different draws"):
        one.merge(contenders(scores * 1.0, one.tape, Law.GUMBEL, Fraction(1)))


def test_all_items_can_be_asked_for() -> None:
    for compiled in (False, True):
        top = contenders(
            np.array([3, 1, 2]), Tape.seeded(1), Law.GUMBEL, Fraction(1, 9), 3, compiled=compiled
        )
        assert sorted(top.winners()) == [0, 1, 2]
    assert noisy_top(np.array([5]), Tape.seeded(1), Law.LAPLACE, Fraction(1)) == [0]


def test_many_survivors_do_not_overflow_the_compiled_buffers() -> None:
    scores = np.linspace(0, 400, 60_000)  # every item beats the one before: a long climb
    fast = contenders(scores, Tape.seeded(2), Law.GUMBEL, Fraction(1), 3000, compiled=True)
    plain = contenders(scores, Tape.seeded(2), Law.GUMBEL, Fraction(1), 3000, compiled=False)
    assert fast.winners() == plain.winners()


def test_huge_gaps_and_scales_do_not_confuse_the_filters() -> None:
    scores = np.array([8e307, -8e307, 0.0, 8e307])
    for scale in (Fraction(1, 10**270), Fraction(1), Fraction(10**270)):
        for compiled in (False, True):
            top = contenders(scores, Tape.seeded(3), Law.GUMBEL, scale, 4, compiled=compiled)
            order = top.winners()
            assert set(order[:2]) == {0, 3}
            assert order[2:] == [2, 1]


def test_a_scale_out_of_range_is_refused() -> None:
    for scale in (Fraction(1, 10**290), Fraction(10**290)):
        with pytest.raises(ValueError, match="scale"):
            noisy_top(np.array([1, 2]), Tape.seeded(1), Law.GUMBEL, scale)


def test_integer_gaps_are_right_over_the_whole_int64_range() -> None:
    scores = np.array([-(2**63), 0, 2**63 - 1])
    np.testing.assert_array_equal(gaps_to(scores.max(), scores), [2.0**64, 2.0**63, 0.0])


def test_rows_repeat_the_core_at_shifted_addresses() -> None:
    scores = np.array([3, 2, 2, 0])
    tape = Tape.seeded(6)
    rows = noisy_top_rows(scores, tape, Law.EXPONENTIAL, Fraction(1), 50, 2)
    for r in range(50):
        shifted = contenders(scores, tape, Law.EXPONENTIAL, Fraction(1), 2, first_id=4 * r)
        assert [i - 4 * r for i in shifted.winners()] == rows[r].tolist()


def test_log_counts_of_long_integers_enclose_the_truth() -> None:
    counts = LogCounts.of_integers([1, 2, 10**400, 3**10_000])
    for place, n in enumerate((0.0, np.log(2), 400 * np.log(10), 10_000 * np.log(3))):
        assert abs(counts.approx[place] - n) <= counts.error[place] + 1e-12 * n
        inside = counts.enclose(place, Arithmetic(50))
        assert float(inside.lo) <= n * (1 + 1e-15)
        assert float(inside.hi) >= n * (1 - 1e-15)
        assert inside.hi - inside.lo < 1e-40


def test_small_inputs_do_not_load_numba() -> None:
    code = (
        "import sys, winnow, numpy as np\n"
        "winnow.select(np.zeros(1000), epsilon=1.0)\n"
        "assert 'numba' not in sys.modules and 'scipy' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.slow
@pytest.mark.parametrize("cache", ["/proc/no-such-place", "a file"])
def test_the_compiled_path_works_where_no_cache_can_be_written(tmp_path, cache: str) -> None:
    place = cache
    run = "import winnow; print(winnow.select(np.arange(300_000), epsilon=1.0, seed=1).value)"
    if cache == "a file":
        place = str(tmp_path / "file")
        (tmp_path / "file").write_text("in the way")
        # a kernel that compiles in no time: what differs is the place of the cache
        (tmp_path / "small.py").write_text("def total(x):\n    return x.sum()\n")
        run = (
            f"import sys; sys.path.insert(0, {str(tmp_path)!r}); import small\n"
            "from winnow.core.kernels.compiled import compiled\n"
            "print(compiled(small.total)(np.full(3, 100_000)))"
        )
    code = (
        "import numpy as np\n"
        "from numba.core import caching\n"
        "caching.CacheImpl._locator_classes = [caching._EnvironmentVarLocator] "
        "if hasattr(caching, '_EnvironmentVarLocator') else []\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code + run],
        check=True,
        capture_output=True,
        text=True,
        env={**os.environ, "NUMBA_CACHE_DIR": place},
    )
    assert int(done.stdout) > 299_000


def test_overlapping_shards_are_refused() -> None:
    top = contenders(np.arange(5), Tape.seeded(1), Law.GUMBEL, Fraction(1))
    with pytest.raises(ValueError, match="overlap"):
        top.merge(top)


def test_private_state_has_no_repr_of_values() -> None:
    top = contenders(np.array([417, 418]), Tape.seeded(1), Law.GUMBEL, Fraction(1))
    assert "417" not in repr(top)


@pytest.mark.parametrize("law", [Law.LAPLACE, Law.LOGISTIC])
def test_an_error_of_log_counts_costs_time_only(law: Law) -> None:
    """In the lower tail the noise moves by up to 1 + x times the error of log N."""
    exact = LogCounts.of_integers([2, 2])
    blurred = LogCounts(exact.approx + np.array([9e-4, -9e-4]), np.full(2, 1e-3), (2, 2))
    for seed in range(200):
        tape = RiggedTape(seed, {0: "1" * 30, 1: "1" * 30})
        scores = np.array([0, 0])
        assert noisy_top(scores, tape, law, Fraction(1), 2, blurred) == noisy_top(
            scores, tape, law, Fraction(1), 2, exact
        )


def _next(x: int) -> int:
    return x + 1


def test_a_kept_kernel_whose_records_moved_is_compiled_anew(tmp_path) -> None:
    kernel = numba.njit(cache=True)(_next)
    _date_by_all(kernel)
    kept = kernel._cache._cache_file
    kept._cache_path, kept._index_path = str(tmp_path), str(tmp_path / "kept.nbi")
    moved = pickle.dumps(kept._version) + b"cwinnow.no_such_module\nRecord\n."
    (tmp_path / "kept.nbi").write_bytes(moved)
    assert kernel(1) == 2
