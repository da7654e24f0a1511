"""Peeling by one scan: the law of k scans, whatever the bar, the errors and the scores."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest

from reference.audited import FALSE_ALARM, chi_square_p_value
from reference.inside import Tape
from winnow.core.noisy_top import rounds
from winnow.core.noisy_top.rounds import leaders, peeled


def permute_and_flip(scores: list[int], scale: float) -> list[float]:
    """The chance of each: the mean over all orders of the first coin that falls."""
    coins = np.exp(scale * (np.array(scores) - max(scores)))
    chances = np.zeros(len(scores))
    orders = list(itertools.permutations(range(len(scores))))
    for order in orders:
        missed = 1.0
        for item in order:
            chances[item] += missed * coins[item] / len(orders)
            missed *= 1.0 - coins[item]
    return chances.tolist()


def law(scores: list[int], scale: float, k: int) -> dict[tuple[int, ...], float]:
    """The chance of each list."""
    found = {(): 1.0}
    for _ in range(k):
        longer: dict[tuple[int, ...], float] = {}
        for taken, chance in found.items():
            left = [i for i in range(len(scores)) if i not in taken]
            for i, p in zip(left, permute_and_flip([scores[i] for i in left], scale), strict=True):
                longer[(*taken, i)] = chance * p
        found = longer
    return found


def p_value(scores: list[int], k: int, draws: int) -> float:
    root = Tape.seeded(2)
    chances = law(scores, 0.5, k)
    seen = dict.fromkeys(chances, 0)
    for draw in range(draws):
        tape = root.child(f"{draw}")
        seen[tuple(peeled(np.array(scores), tape, Fraction(1, 2), k))] += 1
    kept = [(seen[key], chance) for key, chance in chances.items()]
    counts, expected = np.array(kept).T
    return chi_square_p_value(np.append(counts, 0).astype(int), expected)


@pytest.mark.slow
@pytest.mark.parametrize("scores", [[3, 3, 3, 3, 3], [5, 4, 3, 2, 0]])
def test_the_law_is_that_of_rounds_of_permute_and_flip(scores: list[int]) -> None:
    """False alarm below 1e-8; the seeds are fixed."""
    assert p_value(scores, 2, 500) >= FALSE_ALARM


def test_a_twin_that_puts_the_largest_noise_first_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def in_turn(self: object, items: np.ndarray, bound: int, taken: list[set[int]]) -> list[int]:
        return [len(each) for each in taken]

    monkeypatch.setattr(rounds._FarApart, "below", in_turn)
    assert p_value([3, 3, 3, 3, 3], 2, 500) < FALSE_ALARM


def shapes(size: int) -> list[np.ndarray]:
    rng = np.random.default_rng(size)
    return [
        np.full(size, 5),
        np.arange(size),
        rng.normal(size=size) * 3,
        rng.zipf(1.7, size).clip(0, 10**6),
        rng.integers(-(2**62), 2**62, size),
        np.where(np.arange(size) % 64 == 0, 1000, 0),  # one column has all that is high
    ]


def test_the_bar_and_the_errors_change_no_winner(monkeypatch: pytest.MonkeyPatch) -> None:
    k, size = 6, 3000
    plain = [peeled(scores, Tape.seeded(1), Fraction(1, 9), k) for scores in shapes(size)]
    for place, scores in enumerate(shapes(size)):
        assert len(set(plain[place])) == k
        for wanted in (1, 7, 500):
            assert peeled(scores, Tape.seeded(1), Fraction(1, 9), k, wanted) == plain[place]
    monkeypatch.setattr(rounds, "_ERROR", 0.05)  # far more than it is: more bits decide
    for place, scores in enumerate(shapes(size)[:3]):
        assert peeled(scores, Tape.seeded(1), Fraction(1, 9), k) == plain[place]


def test_leaders_are_k_good_scores_at_least() -> None:
    for scores in shapes(3000):
        found = leaders(scores, 6)
        assert 6 <= len(found) <= 48 and np.all(np.diff(found) > 0)
        assert scores.argmax() in found or scores[found].max() == scores.max()


def test_items_far_apart_have_the_same_bits_by_clock_and_by_number() -> None:
    far = rounds._FarApart(Tape.seeded(4))
    items = np.array([0, 5, 10**9])
    for item, clock in zip(items.tolist(), far.clocks(items).tolist(), strict=True):
        v = (far.bits(item, 96) + 0.5) / 2**96
        assert clock == pytest.approx(-np.log1p(-v), rel=1e-9)
        assert far.bits(item, 300) >> 204 == far.bits(item, 96)
