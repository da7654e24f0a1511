"""Large draws on several threads: the same bits for any number of them."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import winnow as wn
from reference.inside import Tape
from winnow.core import noise, threads
from winnow.core.noisy_top import cube, laplace_counts, ranking
from winnow.core.noisy_top import filter as stage_0
from winnow.core.tape import CHUNK
from winnow.learn.kernels import rule_counts

NUMBERS = (1, 2, 3, 7)


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A thread for every half chunk, so that small data take several."""
    most = [1]

    def ranges(size: int, least: int = 0, step: int = 1) -> list[tuple[int, int]]:
        parts = threads.ranges(size, max(1, step // 2), step)
        most.append(len(parts))
        return parts

    for module in (stage_0, laplace_counts, ranking, noise, rule_counts, cube):
        monkeypatch.setattr(module, "ranges", ranges)
    yield
    assert max(most) > 2


def counts(size: int = 3 * CHUNK + 123) -> np.ndarray:
    return np.random.default_rng(3).zipf(1.7, size).clip(0, 10**6)


def of_each(draw: Any) -> list[Any]:
    found = []
    for number in NUMBERS:
        with threads.using(number):
            found.append(draw())
    return found


@pytest.mark.parametrize("kind", ["counts", "flat", "real"])
@pytest.mark.parametrize("k", [1, 300])
def test_the_noisiest_candidates_are_the_same(small: None, kind: str, k: int) -> None:
    scores = {"counts": counts(), "flat": np.full(3 * CHUNK + 9, 5), "real": counts() * 0.37}[kind]
    one, *others = of_each(
        lambda: wn.select(wn.seal_scores(scores, copy=False), k=k, epsilon=0.5, seed=4).value
    )
    assert others == [one] * 3


@pytest.mark.parametrize(
    "method", ["joint", "canonical", "gamma", "laplace", "gaussian", "peel-gumbel",
               "large-margin"],
)  # fmt: skip
def test_lists_are_the_same(small: None, method: str) -> None:
    delta = 1e-6 if method in ("gaussian", "peel-gumbel", "large-margin") else 0
    sealed = wn.seal_counts(counts(), max_items=3)
    if method == "large-margin":
        scores = wn.seal_scores(counts(), monotone=True)
        one, *others = of_each(
            lambda: wn.select(scores, epsilon=1, delta=delta, method=method, seed=5).value
        )
    else:
        one, *others = of_each(
            lambda: wn.top_k(sealed, k=20, epsilon=1, delta=delta, method=method, seed=5).value
        )
    assert others == [one] * 3


@pytest.mark.parametrize("draw", [noise.discrete_laplace_array, noise.discrete_gaussian_array])
def test_noise_on_many_numbers_is_the_same(small: None, draw: Any) -> None:
    one, *others = of_each(lambda: draw(Tape.seeded(2), 3 * CHUNK + 5, Fraction(7)).tolist())
    assert others == [one] * 3


def test_rules_are_counted_alike(small: None, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    columns = {name: rng.integers(0, 3, 500) for name in "abcdey"}
    columns["y"] = columns["a"] % 2
    table = wn.read_table(columns, schema={**dict.fromkeys("abcde", 3), "y": 2})
    rows = wn.labelled(table, "y")
    one, *others = of_each(
        lambda: str(wn.learn(rows, epsilon=1, delta=1e-6, method="one-rule", seed=1).value)
    )
    assert others == [one] * 3


@pytest.mark.parametrize("size", [0, 1, 5, 1000, 1001])
@pytest.mark.parametrize("step", [1, 7, 2000])
def test_ranges_cover_everything_once(size: int, step: int) -> None:
    for number in NUMBERS:
        with threads.using(number):
            parts = threads.ranges(size, 10, step)
        assert len(parts) <= number
        assert [place for part in parts for place in range(*part)] == list(range(size))
        assert all(first % step == 0 for first, _ in parts)


def test_so_many_threads_work_as_were_asked_for_and_warnings_stay_off(
    recwarn: pytest.WarningsRecorder,
) -> None:
    met: set[str] = set()
    together = threading.Barrier(3, timeout=20)

    def work(task: int) -> float:
        met.add(threading.current_thread().name)
        together.wait()
        return float(np.float64(task) / np.float64(0.0))

    with np.errstate(all="ignore"):
        assert threads.each(work, [1, 2, 3], 3) == [np.inf] * 3
    assert len(met) == 3
    assert not recwarn.list


def test_an_error_in_a_thread_is_that_of_the_call() -> None:
    def work(task: int) -> int:
        raise wn.DataError("no")

    with pytest.raises(wn.DataError, match="no"):
        threads.each(work, [1, 2], 2)


@pytest.mark.parametrize("said", ["0", "two", "-1", "1.5"])
def test_a_wrong_number_is_refused_before_the_charge(
    said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(threads.VARIABLE, said)
    budget = wn.Budget(epsilon=2)
    with pytest.raises(wn.InputError, match="is not a number of threads"):
        wn.select(np.arange(5), epsilon=1, budget=budget)
    assert str(budget.spent) == str(wn.Budget(epsilon=2).spent)


@pytest.mark.parametrize("said", [0, -2, 1.5, True, "2"])
def test_a_run_refuses_what_is_no_number_of_threads(said: Any) -> None:
    with pytest.raises(wn.InputError, match="threads="):
        wn.Run(threads=said)


def test_a_run_decides_then_the_environment_then_the_machine(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv(threads.VARIABLE, raising=False)
    assert threads.available() == threads.processors()
    monkeypatch.setenv(threads.VARIABLE, "5")
    assert threads.available() == 5
    with wn.Run(threads=3).padding().held(lambda: 0.0):
        assert threads.available() == 3
    assert threads.available() == 5
