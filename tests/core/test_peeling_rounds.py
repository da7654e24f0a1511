"""Rounds of permute-and-flip from blocks: the law of k scans, whatever the blocks and errors."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest

from reference.audited import FALSE_ALARM, chi_square_p_value
from reference.inside import Tape
from winnow.core.noisy_top import rounds
from winnow.core.noisy_top.count_classes import CountClasses
from winnow.core.noisy_top.rounds import InBlocks, ScoreBlock, in_blocks, peeled
from winnow.core.tape import BitStream

HALF = Fraction(1, 2)


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
    lists = {(): 1.0}
    for _ in range(k):
        longer: dict[tuple[int, ...], float] = {}
        for taken, chance in lists.items():
            left = [i for i in range(len(scores)) if i not in taken]
            for i, p in zip(left, permute_and_flip([scores[i] for i in left], scale), strict=True):
                longer[(*taken, i)] = chance * p
        lists = longer
    return lists


class Given:
    """Members of a block, as a list of positions."""

    def __init__(self, scores: list[int], places: list[int]) -> None:
        self._scores, self._places = scores, list(places)

    def item(self, place: int) -> int:
        return self._places[place]

    def score(self, place: int) -> int:
        return self._scores[self._places[place]]

    def swap(self, one: int, other: int) -> None:
        places = self._places
        places[one], places[other] = places[other], places[one]


def split_up(scores: list[int], k: int, parts: list[tuple[list[int], int]]) -> InBlocks:
    """Blocks that were chosen by hand: positions, and a bound on their scores."""
    best = sorted(range(len(scores)), key=lambda place: -scores[place])[:k]
    blocks = [ScoreBlock(Given(scores, places), len(places), upper) for places, upper in parts]
    return InBlocks(blocks, np.dtype(np.int64), best, [scores[place] for place in best])


def blocks_of(name: str, scores: list[int], k: int) -> InBlocks:
    everything = list(range(len(scores)))
    match name:
        case "as drawn":
            return in_blocks(np.array(scores), HALF, k)
        case "float64":
            return in_blocks(np.array(scores, float), HALF, k)
        case "counts":
            sizes = {score: scores.count(score) for score in scores}
            return CountClasses(sizes).in_blocks(HALF, k)
        case "one block":
            return split_up(scores, k, [(everything, max(scores) + 1)])
        case _:
            odd, even = everything[1::2], everything[::2]
            return split_up(scores, k, [(odd, max(scores[1::2])), (even, max(scores[::2]) + 2)])


WAYS = ("as drawn", "float64", "counts", "one block", "odd and even")


def p_value(scores: list[int], k: int, draws: int, way: str = "as drawn") -> float:
    """The chance of as uneven counts of all lists; scores come in descending order."""
    root = Tape.seeded(2)
    chances = law(scores, 0.5, k)
    seen = dict.fromkeys(chances, 0)
    for draw in range(draws):
        seen[tuple(peeled(blocks_of(way, scores, k), root.child(f"{draw}"), HALF))] += 1
    kept = [(seen[key], chance) for key, chance in chances.items()]
    counts, expected = np.array(kept).T
    return chi_square_p_value(np.append(counts, 0).astype(int), expected)


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("scores", [[3, 3, 3, 3, 3], [5, 4, 3, 2, 0], [9, 3, 3, 2, 2]])
def test_the_law_is_that_of_rounds_of_permute_and_flip(scores: list[int], way: str) -> None:
    """Whatever the blocks; false alarm below 1e-8, the seeds are fixed."""
    assert p_value(scores, 3, 1500, way) >= FALSE_ALARM


@pytest.mark.extras
def test_the_law_does_not_change_where_clocks_are_drawn_anew(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """One round, or all of them, from the same clocks of blocks. False alarm below 1e-8."""
    for size in (1, 2):
        monkeypatch.setattr(rounds, "_ROUNDS", size)
        assert p_value([5, 4, 4, 2, 0], 4, 1500) >= FALSE_ALARM


@pytest.mark.extras
def test_twins_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """One flips no coin in a block; one tries an item again whose coin did not fall."""
    with monkeypatch.context() as broken:
        broken.setattr(rounds._Race, "_falls", lambda self, block, place: True)
        assert p_value([4, 3, 3, 2, 2], 2, 1500, "one block") < FALSE_ALARM
    with monkeypatch.context() as broken:
        broken.setattr(ScoreBlock, "turn_down", lambda self, place: None)
        assert p_value([3, 1, 1, 1, 1], 1, 6000, "one block") < FALSE_ALARM


def shapes(size: int) -> list[np.ndarray]:
    rng = np.random.default_rng(size)
    return [
        np.full(size, 5),
        np.arange(size),
        rng.normal(size=size) * 3,
        rng.zipf(1.7, size).clip(0, 10**6),
        rng.integers(-(2**62), 2**62, size),
        np.where(np.arange(size) % 64 == 0, 1000, 0),
        np.array([1e308, -1e308] * (size // 2)),
    ]


@pytest.mark.parametrize("k", [1, 6, 300])
def test_every_item_is_in_one_block_below_its_bound(k: int) -> None:
    for scores in shapes(300):
        for scale in (Fraction(1, 9), Fraction(10**9), Fraction(1, 10**30)):
            universe, members = in_blocks(scores, scale, k), []
            for block in universe.blocks:
                for place in range(block.left):
                    assert block.members.score(place) <= block.upper
                    members.append(block.members.item(place))
            assert sorted(members) == list(range(300))
            assert universe.scores == sorted(scores.tolist(), reverse=True)[:k]


def test_errors_change_no_winner(monkeypatch: pytest.MonkeyPatch) -> None:
    """With bounds far wider than the errors are, more bits decide, and the same way."""
    k, scale = 6, Fraction(1, 9)

    def winners() -> list[list[int]]:
        return [peeled(in_blocks(s, scale, k), Tape.seeded(1), scale) for s in shapes(3000)]

    plain = winners()
    assert all(len(set(chosen)) == k for chosen in plain)
    exact = rounds.noise
    monkeypatch.setattr(rounds, "_ERROR", 0.05)
    monkeypatch.setattr(rounds, "noise", lambda *of: (lambda z, off: (z, off + 0.05))(*exact(*of)))
    assert winners() == plain


def test_all_items_can_be_peeled() -> None:
    for scores in shapes(200):
        chosen = peeled(in_blocks(scores, Fraction(1, 9), 200), Tape.seeded(3), Fraction(1, 9))
        assert sorted(chosen) == list(range(200))


class Counted:
    """How many bits were read of all tapes."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.bits = 0
        words, further, bits = Tape.words, Tape.extension, BitStream.bits

        def counted_words(tape: Tape, first: int, count: int) -> np.ndarray:
            self.bits += 32 * count
            return words(tape, first, count)

        def counted_further(tape: Tape, items: np.ndarray, level: int) -> np.ndarray:
            self.bits += 128 * len(items)
            return further(tape, items, level)

        def counted_bits(stream: BitStream, count: int) -> int:
            self.bits += count
            return bits(stream, count)

        monkeypatch.setattr(Tape, "words", counted_words)
        monkeypatch.setattr(Tape, "extension", counted_further)
        monkeypatch.setattr(BitStream, "bits", counted_bits)

    def of(self, scores: np.ndarray, k: int) -> int:
        self.bits = 0
        scale = Fraction(1, 2 * k)
        peeled(in_blocks(scores, scale, k), Tape.seeded(1), scale)
        return self.bits


def test_one_item_more_costs_no_more_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    """At powers of two, for counts that are flat, steep and spread: k = 50 rounds."""
    counted, k = Counted(monkeypatch), 50
    for size in (2**6, 2**10, 2**13, 2**16):
        rng = np.random.default_rng(size)
        for more in (
            np.full(size + 1, 100),
            (10**6 / np.arange(1, size + 2)).astype(np.int64),
            rng.integers(0, 10**4, size + 1),
        ):
            before, after = counted.of(more[:-1], k), counted.of(more, k)
            assert max(before, after) <= 1.5 * min(before, after)


def test_a_round_reads_few_bits_whatever_the_number_of_items(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """At most 40 blocks with a clock of 160 bits a round, and some tries: k = 50 of a million."""
    counted = Counted(monkeypatch)
    for counts in (np.full(10**6, 100), np.arange(10**6) // 100):
        assert counted.of(counts, 50) <= 64 * 40 * 160
