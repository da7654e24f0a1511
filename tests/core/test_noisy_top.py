"""The core: bounds of the filter, shards, and how kernels are kept."""

import os
import pickle
import subprocess
import sys
from fractions import Fraction
from itertools import pairwise

import numba
import numpy as np
import pytest

from reference.inside import Law, Tape
from reference.rigged_tape import RiggedTape
from winnow.core.arithmetic import LN2, Arithmetic
from winnow.core.bounded import noise
from winnow.core.kernels.compiled import _date_by_all
from winnow.core.noisy_top.draw import contenders, noisy_top
from winnow.core.noisy_top.filter import ROUNDING, UNIT, Filter, gaps_to
from winnow.core.noisy_top.log_counts import LogCounts
from winnow.core.noisy_top.rows import noisy_top_rows


@pytest.mark.parametrize("law", list(Law))
@pytest.mark.parametrize("grouped", [False, True])
def test_the_bounds_of_the_filter_contain_the_noisy_score(law: Law, grouped: bool) -> None:
    rng = np.random.default_rng(0)
    size = 20_000
    words = (rng.integers(0, 2**32, size) >> rng.integers(0, 33, size)).astype(np.uint32)
    words[::3] = ~words[::3]
    gaps = np.abs(rng.normal(size=size)) * 10.0 ** rng.integers(-3, 17, size)
    gaps[0] = 0.0
    logs = rng.random(size) * 10.0 ** rng.integers(0, 6, size) if grouped else None
    z, error = noise(law, words, rng.integers(0, 2**64, size, dtype=np.uint64), logs)
    scale, counts = 0.37, None if logs is None else LogCounts(logs, np.zeros(size))
    shift = law.formulas.top_shift
    scan = Filter(-gaps, law, scale, 1, counts)
    high = shift + 159 * LN2 + ROUNDING / UNIT - scan.keys(0, words) / UNIT
    with np.errstate(all="ignore"):
        low = scan.lows(np.arange(size), words)
    known = np.isfinite(error)
    rounding = 2.0**-49 * (scale * gaps + (0 if logs is None else logs))
    assert np.all((low <= z - scale * gaps + error + rounding)[known])
    assert np.all((high >= z - scale * gaps - error - rounding)[known])
    if logs is None:
        for i in range(0, size, 97):
            one = scan.bounds_of_one(i, int(words[i]))
            assert low[i] <= one[0] + 1e-9 * (1 + abs(one[0])) or one[0] == -np.inf == low[i]
            assert not known[i] or one[0] <= (z - scale * gaps + error + rounding)[i]
            assert not known[i] or one[1] >= (z - scale * gaps - error - rounding)[i]


def test_the_filter_keeps_few_items() -> None:
    """What it keeps in vain costs time: of a million some, whatever the order of the scores."""
    rng = np.random.default_rng(7)
    size = 300_000
    for scores in (np.zeros(size), np.linspace(0, 1000, size), rng.normal(size=size)):
        for k in (1, 10, 300):
            top = contenders(scores, Tape.seeded(k), Law.GUMBEL, Fraction(1, 3), k)
            assert k <= len(top.ids) < 6 * k + 12


@pytest.mark.parametrize("law", list(Law))
@pytest.mark.parametrize("k", [1, 5])
def test_shards_merge_bit_for_bit(law: Law, k: int) -> None:
    rng = np.random.default_rng(1)
    for seed in range(5):
        scores = rng.integers(0, 8, 3001) + (2**61 if seed % 2 else 0)
        counts = LogCounts(rng.random(3001) * 3, np.zeros(3001)) if seed % 3 == 0 else None
        tape = Tape.seeded(seed)
        whole = noisy_top(scores, tape, law, Fraction(1, 2), k, counts)
        for shards in (1, 2, 7):
            edges = np.linspace(0, 3001, shards + 1).astype(int)
            parts = [
                contenders(
                    scores[a:b], tape, law, Fraction(1, 2), k, first_id=int(a),
                    log_counts=counts and LogCounts(counts.approx[a:b], counts.error[a:b]),
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
    top = contenders(np.array([3, 1, 2]), Tape.seeded(1), Law.GUMBEL, Fraction(1, 9), 3)
    assert sorted(top.winners()) == [0, 1, 2]
    assert noisy_top(np.array([5]), Tape.seeded(1), Law.LAPLACE, Fraction(1)) == [0]


def test_huge_gaps_and_scales_do_not_confuse_the_filters() -> None:
    scores = np.array([8e307, -8e307, 0.0, 8e307])
    for scale in (Fraction(1, 10**270), Fraction(1), Fraction(10**270)):
        order = contenders(scores, Tape.seeded(3), Law.GUMBEL, scale, 4).winners()
        assert set(order[:2]) == {0, 3}
        assert order[2:] == [2, 1]


def test_a_word_of_zeros_is_never_dropped() -> None:
    """Its noise has no bound: 200 further zeros beat any lead that a float64 could tell."""
    scores = np.array([0] * 50 + [200])
    tape = RiggedTape(1, {7: "0" * 400})
    for law in Law:
        assert noisy_top(scores, tape, law, Fraction(1)) == [7]
        assert noisy_top(scores, tape, law, Fraction(1), 2)[0] == 7


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


def test_a_selection_loads_no_numba() -> None:
    code = (
        "import sys, winnow, numpy as np\n"
        "winnow.select(np.zeros(300_000), epsilon=1.0)\n"
        "assert 'numba' not in sys.modules and 'scipy' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.slow
@pytest.mark.parametrize("cache", ["/proc/no-such-place", "a file"])
def test_kernels_work_where_no_cache_can_be_written(tmp_path, cache: str) -> None:
    place = cache
    if cache == "a file":
        place = str(tmp_path / "file")
        (tmp_path / "file").write_text("in the way")
    # a kernel that compiles in no time: what differs is the place of the cache
    (tmp_path / "small.py").write_text("def total(x):\n    return x.sum()\n")
    code = (
        "import numpy as np\n"
        "from numba.core import caching\n"
        "caching.CacheImpl._locator_classes = [caching._EnvironmentVarLocator] "
        "if hasattr(caching, '_EnvironmentVarLocator') else []\n"
        f"import sys; sys.path.insert(0, {str(tmp_path)!r}); import small\n"
        "from winnow.core.kernels.compiled import compiled\n"
        "print(compiled(small.total)(np.full(3, 100_000)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        check=True,
        capture_output=True,
        text=True,
        env={**os.environ, "NUMBA_CACHE_DIR": place},
    )
    assert int(done.stdout) == 300_000


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
