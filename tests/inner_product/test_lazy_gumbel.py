"""Lazy Gumbel sampling draws its law, and no filter decides what it draws.

False alarms: each chi-square bound is rejected below 1e-8, so below 1e-6 for the file.
"""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import numpy as np
import pytest

from reference.audited import chi_square_p_value
from reference.inside import Tape
from winnow.inner_product.audit import lazy_law
from winnow.inner_product.kernels import lazy_gumbel as kernel
from winnow.inner_product.kernels.lazy_gumbel import distinct, lazy_gumbel

SCORES = np.array([5, 3, 4, 0, 1, 2, 6, 2])
SCALE = Fraction(2, 3)


def draw(head: list[int], level: int, tape: Tape, excluded: list[int] | None = None) -> int:
    ids = np.array(head)
    out = None if excluded is None else np.array(excluded)
    return lazy_gumbel(8, ids, SCORES[ids], level, lambda i: SCORES[i], SCALE, tape, out)


def law(head: list[int], level: int, left: list[int]) -> np.ndarray:
    in_head = np.isin(np.arange(8), head)
    tail = np.isin(np.arange(8), left) & ~in_head
    x, levels = float(SCALE) * SCORES, np.array([float(SCALE) * level])
    return lazy_law(x[None], in_head[None], tail[None], levels)[0]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("head", "level"),
    [([0, 6], 4), ([0, 6], 9), ([1, 3], 6), ([1, 3], 0), ([2, 4, 5], 1), (list(range(8)), 0)],
    ids=["top head", "loose bound", "bad head", "no bound", "half a bound", "no tail"],
)
def test_the_winner_follows_the_law_for_any_head_and_level(head: list[int], level: int) -> None:
    root = Tape.seeded(len(head) + 10 * level)
    seen = Counter(draw(head, level, root.child(f"{r}")) for r in range(700))
    observed = np.array([seen[i] for i in range(8)] + [0])
    expected = law(head, level, list(range(8)))
    assert expected.sum() == pytest.approx(1, abs=1e-12)
    assert chi_square_p_value(observed, expected) > 1e-8
    if level >= SCORES[[i for i in range(8) if i not in head]].max(initial=0):
        weights = np.exp(float(SCALE) * SCORES)
        np.testing.assert_allclose(expected, weights / weights.sum(), rtol=1e-12)


def test_excluded_candidates_never_win_and_leave_the_law_of_the_rest() -> None:
    root = Tape.seeded(3)
    seen = Counter(draw([2, 1], 5, root.child(f"{r}"), [6, 3]) for r in range(700))
    assert seen[6] == seen[3] == 0
    observed = np.array([seen[i] for i in range(8)] + [0])
    expected = law([2, 1], 5, [0, 1, 2, 4, 5, 7])
    assert chi_square_p_value(observed, expected) > 1e-8


def test_the_filters_do_not_decide(monkeypatch: pytest.MonkeyPatch) -> None:
    root = Tape.seeded(7)
    fast = [draw([1, 3], 3, root.child(f"{r}")) for r in range(60)]
    monkeypatch.setattr(kernel._Draw, "_relative", lambda self, count: 3.0)
    assert [draw([1, 3], 3, root.child(f"{r}")) for r in range(60)] == fast


def test_the_printed_count_of_the_tail_is_what_passes() -> None:
    """The number that passes B is binomial with 1 - exp(-exp(-B)) [FastMWEM, Alg 4]."""
    root, left, counts = Tape.seeded(11), 40, []
    chances = []
    for r in range(800):
        run = kernel._Draw(root.child(f"{r}"), 0, 5, 4, Fraction(1), left)
        counts.append(len(run.passing()))
        chances.append(-np.expm1(-np.exp(-(run.g + 1.0))))  # B = M - t = 5 + G - 4
    chances = np.array(chances)
    deviation = (np.array(counts) - left * chances) / np.sqrt(left * chances * (1 - chances))
    # each is centred with variance 1; six standard deviations: about 2e-9 by the normal law
    assert abs(deviation.mean()) < 6 / np.sqrt(len(deviation))


def test_ids_are_distinct_uniform_and_outside() -> None:
    outside = np.array([0, 4, 9])
    ids = distinct(Tape.seeded(1), 7, 10, outside)
    assert sorted(ids.tolist()) == [1, 2, 3, 5, 6, 7, 8]
    root = Tape.seeded(2)
    seen = Counter(tuple(distinct(root.child(f"{r}"), 2, 5, np.array([3])).tolist())
                   for r in range(3000))  # fmt: skip
    pairs = [(a, b) for a in (0, 1, 2, 4) for b in (0, 1, 2, 4) if a != b]
    assert set(seen) == set(pairs)
    observed = np.array([seen[pair] for pair in pairs] + [0])
    assert chi_square_p_value(observed, np.full(12, 1 / 12)) > 1e-8


def test_a_tail_met_in_several_batches_is_the_same_tail(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = kernel._Draw(Tape.seeded(5), 0, 0, 3, Fraction(1), 500)
    clocks = whole.passing()
    monkeypatch.setattr(kernel.math, "ceil", lambda x: 1)
    again = kernel._Draw(Tape.seeded(5), 0, 0, 3, Fraction(1), 500).passing()
    np.testing.assert_allclose(again, clocks, rtol=1e-9)
    assert len(clocks) > 17
