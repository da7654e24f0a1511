"""Inner products on a grid are those of exact arithmetic, whichever filter decides them."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from winnow.inner_product.kernels import exact_dot
from winnow.inner_product.kernels.exact_dot import InnerProducts, exact_steps, norm, row_norms

numbers = st.floats(-1e9, 1e9, allow_nan=False) | st.sampled_from([0.0, 1.0, -1.0, 0.5, 1e-300])
pairs = st.integers(1, 6).flatmap(
    lambda d: st.tuples(*[st.lists(numbers, min_size=d, max_size=d)] * 2)
)


def step(row: list[float], query: list[float], power: int) -> int:
    total = sum(Fraction(a) * Fraction(b) for a, b in zip(row, query, strict=True))
    return (total / Fraction(2) ** power + Fraction(1, 3)).__floor__()


def clipped(row: list[float], query: list[float], power: int) -> int:
    return max(-exact_dot.MOST_STEPS, min(step(row, query, power), exact_dot.MOST_STEPS))


@given(pairs, st.integers(-8, 20))
def test_steps_equal_those_of_fractions(pair: tuple[list[float], list[float]], power: int) -> None:
    row, query = pair
    vectors = np.array([row])
    products = InnerProducts(vectors, row_norms(vectors), np.array(query), power)
    assert products.steps().tolist() == [clipped(row, query, power)]
    negative = [-q for q in query]
    assert products.steps(sign=-1).tolist() == [clipped(row, negative, power)]
    assert np.stack(products.both())[:, 0].tolist() == [
        clipped(row, query, power),
        clipped(row, negative, power),
    ]
    assert exact_steps(vectors[0], np.array(query), power) == step(row, query, power)


@pytest.mark.parametrize("power", [-45, -50, -53])
def test_the_second_filter_and_the_integers_agree_on_a_fine_grid(power: int) -> None:
    generator = np.random.default_rng(1)
    vectors, query = generator.normal(size=(40, 33)), generator.normal(size=33)
    products = InnerProducts(vectors, row_norms(vectors), query, power)
    wanted = [step(row.tolist(), query.tolist(), power) for row in vectors]
    assert products.steps().tolist() == wanted
    assert [exact_steps(row, query, power) for row in vectors] == wanted


def test_whole_and_half_numbers_need_no_second_look(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("a second look")

    monkeypatch.setattr(exact_dot, "_compensated", refuse)
    generator = np.random.default_rng(2)
    vectors = generator.integers(-1, 2, (500, 60)).astype(np.int8)
    query = generator.integers(0, 9, 60) / 2
    products = InnerProducts(vectors, row_norms(vectors), query, -10)
    assert products.steps().tolist() == (1024 * (vectors @ query)).astype(int).tolist()


def test_blocks_and_chosen_rows_do_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    generator = np.random.default_rng(3)
    vectors, query = generator.normal(size=(50, 7)).astype(np.float32), generator.normal(size=7)
    products = InnerProducts(vectors, row_norms(vectors), query, -48)
    whole = products.steps()
    monkeypatch.setattr(exact_dot, "_BLOCK", 21)
    assert products.steps().tolist() == whole.tolist()
    ids = np.array([49, 3, 3, 0])
    assert products.steps(ids).tolist() == whole[ids].tolist()


def test_norms_are_upper_bounds() -> None:
    generator = np.random.default_rng(4)
    vectors = generator.normal(size=(50, 9)) * 10.0 ** generator.integers(-9, 9, (50, 1))
    for row, bound in zip(vectors, row_norms(vectors), strict=True):
        square = sum(Fraction(x) ** 2 for x in row.tolist())
        assert square <= Fraction(float(bound)) ** 2 <= square * Fraction(101, 100)
        assert square <= Fraction(norm(row)) ** 2


@pytest.mark.parametrize("power", [-20, -45, -60, -500, -1000])
def test_scores_beyond_an_int64_are_clipped_by_their_exact_value(power: int) -> None:
    near = 2.0 ** (62 + power)
    rows = [[1.0, 0.0], [-1.0, 0.0], [1.0, -(2.0**-52)], [-1.0, 2.0**-52], [3.0, -3.0],
            [1e90, -1e90], [2.0**-62, 0.0], [2.0**-62, 1e90], [1e90, 1e80],
            [0.0, 0.0]]  # fmt: skip
    vectors, query = np.array(rows), np.full(2, near)
    products = InnerProducts(vectors, row_norms(vectors), query, power)
    with np.errstate(all="ignore"):
        both = np.stack(products.both())
        for side, sign in enumerate((1, -1)):
            wanted = [clipped(row, (sign * query).tolist(), power) for row in rows]
            assert products.steps(sign=sign).tolist() == both[side].tolist() == wanted
