"""One item more, on any side of a border, costs no more work: draws, steps and bytes are counted.

Times are in ``benchmarks/curves.py``; a test counts what does not depend on the machine.
"""

from __future__ import annotations

import sys
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import pytest

import winnow as wn
from reference.inside import Tape
from winnow.core.noisy_top.filter import FEW_KEYS, FEW_LEFT
from winnow.core.noisy_top.ranking import MANY_EQUAL
from winnow.core.tape import CHUNK, BitStream
from winnow.select.mechanisms.margin_search import ONE_BY_ONE

Call = Callable[[int], Any]
MOST = 1.5
"""By how much work may differ between a number and the next one."""
BORDERS = tuple(int(at) for at in (FEW_LEFT.number, 256, 1024, FEW_KEYS.number, ONE_BY_ONE.number,
                                   CHUNK))  # fmt: skip
assert MANY_EQUAL.number in BORDERS


@dataclass
class Work:
    """What a call did: bits drawn, functions called, and bytes at the peak."""

    draws: int = 0
    steps: int = 0
    bytes: int = 0


ALLOWED = Work(draws=2**15, steps=1_500, bytes=400_000)
"""Differences that need no reason: a block of a tape, a refinement, a buffer."""


@contextmanager
def counting(monkeypatch: pytest.MonkeyPatch) -> Iterator[Work]:
    work = Work()
    words, chunks, further, bits = Tape.words, Tape.chunks, Tape.extension, BitStream.bits

    def counted_words(tape: Tape, first: int, count: int) -> Any:
        work.draws += 32 * count
        return words(tape, first, count)

    def counted_chunks(tape: Tape, first: int, count: int) -> Any:
        work.draws += 32 * count
        return chunks(tape, first, count)

    def counted_further(tape: Tape, items: Any, level: int) -> Any:
        work.draws += 128 * len(items)
        return further(tape, items, level)

    def counted_bits(stream: BitStream, count: int) -> int:
        work.draws += count
        return bits(stream, count)

    def counted_step(frame: Any, event: str, argument: Any) -> None:
        work.steps += event in ("call", "c_call")

    with monkeypatch.context() as patched:
        patched.setattr(Tape, "words", counted_words)
        patched.setattr(Tape, "chunks", counted_chunks)
        patched.setattr(Tape, "extension", counted_further)
        patched.setattr(BitStream, "bits", counted_bits)
        before = sys.getprofile()
        tracemalloc.start()
        sys.setprofile(counted_step)
        try:
            yield work
        finally:
            sys.setprofile(before)
            work.bytes = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()


def work_of(
    call: Callable[[int], Any], monkeypatch: pytest.MonkeyPatch, seeds: tuple[int, ...]
) -> Work:
    """The middle of some draws, by seeds: a few draws refine what others do not."""
    found = []
    for seed in seeds:
        with counting(monkeypatch) as work:
            call(seed)
        found.append(work)
    middle = len(seeds) // 2
    return Work(*(sorted(getattr(w, each.name) for w in found)[middle] for each in fields(Work)))


def check_no_cliff(
    make: Callable[[int], Call], sizes: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The work for each size and the next one; what differs is looked at with more seeds."""
    make(sizes[0])(0)  # what a first call loads
    for size in sizes:
        calls = make(size), make(size + 1)
        if _differing(calls, (1,), monkeypatch) and (
            found := _differing(calls, (1, 2, 3, 4, 5), monkeypatch)
        ):
            raise AssertionError(f"at {size:,} and {size + 1:,}: {found}")


def _differing(
    calls: tuple[Call, Call], seeds: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> str:
    """What two calls do not do alike; empty: nothing."""
    works = [work_of(call, monkeypatch, seeds) for call in calls]
    for each in fields(Work):
        one, other = (getattr(work, each.name) for work in works)
        if max(one, other) > MOST * min(one, other) + getattr(ALLOWED, each.name):
            return f"{each.name} {one:,} and {other:,}"
    return ""


def counts(size: int) -> np.ndarray:
    return np.random.default_rng(0).zipf(1.7, 2 * CHUNK)[:size].clip(0, 10**6)


def selected(method: str, delta: float = 0.0) -> Callable[[int], Call]:
    def make(size: int) -> Call:
        scores = wn.seal_scores(counts(size), monotone=True, copy=False)
        return lambda seed: wn.select(scores, epsilon=1, delta=delta, method=method, seed=seed)

    return make


def listed(method: str, delta: float = 0.0) -> Callable[[int], Call]:
    def make(size: int) -> Call:
        sealed = wn.seal_counts(counts(size), max_items=3)
        k = min(10, size)
        return lambda seed: wn.top_k(sealed, k=k, epsilon=1, delta=delta, method=method, seed=seed)

    return make


def listed_k(method: str, delta: float = 0.0) -> Callable[[int], Call]:
    sealed = wn.seal_counts(counts(12_000), max_items=3)

    def make(k: int) -> Call:
        return lambda seed: wn.top_k(sealed, k=k, epsilon=1, delta=delta, method=method, seed=seed)

    return make


def private(method: str) -> Callable[[int], Call]:
    def make(size: int) -> Call:
        held = dict(zip(map(str, range(size)), counts(size).tolist(), strict=True))
        sealed = wn.seal_counts(held, labels="private", max_items=3)
        return lambda seed: wn.top_k(sealed, k=5, epsilon=1, delta=1e-6, method=method, seed=seed)

    return make


def thresholded(size: int) -> Call:
    values = wn.seal_scores(np.full(size, 5), monotone=True)
    return lambda seed: wn.above(values, threshold=10**6, epsilon=1, seed=seed)


def of_cells(verb: str) -> Callable[[int], Call]:
    def make(cells: int) -> Call:
        table = wn.read_table({"x": np.arange(300) % cells}, schema={"x": cells})
        if verb == "tabulate":
            return lambda seed: wn.tabulate(table, ["x"], epsilon=1, seed=seed)
        return lambda seed: wn.release(table, wn.prefixes("x"), epsilon=1, seed=seed)

    return make


def of_vectors(size: int) -> Call:
    vectors = wn.seal_vectors(np.random.default_rng(0).random((size, 3)), copy=False)
    query = wn.seal_query([1.0, 2.0, 3.0], sensitivity=1.0)
    return lambda seed: wn.mips(vectors, query, epsilon=1, seed=seed)


CASES: dict[str, Callable[[int], Call]] = {
    "permute-and-flip": selected("permute-and-flip"),
    "exponential": selected("exponential"),
    "large-margin": selected("large-margin", 1e-6),
    "joint": listed("joint"),
    "canonical": listed("canonical"),
    "oneshot": listed("oneshot"),
    "gamma": listed("gamma"),
    "laplace": listed("laplace"),
    "gaussian": listed("gaussian", 1e-6),
    "peel-permute-and-flip": listed("peel-permute-and-flip"),
    "peel-gumbel": listed("peel-gumbel", 1e-6),
    "limited-domain": private("limited-domain"),
    "stability": private("stability"),
    "above": thresholded,
    "tabulate": of_cells("tabulate"),
    "mips": of_vectors,
}
LONG = {"joint": 0.0, "canonical": 0.0, "oneshot": 0.0, "gamma": 0.0, "laplace": 0.0}


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_one_candidate_more_costs_no_more(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    check_no_cliff(CASES[name], BORDERS, monkeypatch)


@pytest.mark.parametrize("method", LONG)
def test_a_list_of_one_more_costs_no_more(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    check_no_cliff(listed_k(method, LONG[method]), (16, 512, 4096), monkeypatch)


@pytest.mark.extras
def test_cells_of_a_release_cost_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    check_no_cliff(of_cells("release"), (16, 256), monkeypatch)


@pytest.mark.parametrize("what", ["draws", "steps", "bytes"])
def test_a_cliff_is_found(what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A draw that does something else above a border, as an unfit limit would."""
    sound = CASES["permute-and-flip"]

    def make(size: int) -> Call:
        call = sound(size)

        def with_cliff(seed: int) -> None:
            call(seed)
            if size <= FEW_KEYS.number:
                return
            if what == "draws":
                Tape.seeded(seed).words(0, 2 * size)
            elif what == "steps":
                sum(map(abs, range(size)))
                [abs(place) for place in range(size)]
            else:
                bytearray(500 * size)

        return with_cliff

    with pytest.raises(AssertionError, match=f"at 4,096 and 4,097: {what}"):
        check_no_cliff(make, (1024, FEW_KEYS.number), monkeypatch)
