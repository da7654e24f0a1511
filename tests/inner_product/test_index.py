"""Indices find large inner products; what they leave out stays below the certified bounds."""

from __future__ import annotations

import builtins
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import winnow as wn
from winnow.inner_product.index.building import build_index
from winnow.inner_product.index.faiss_index import NormCompletion
from winnow.inner_product.index.flat import FlatIndex
from winnow.inner_product.index.lsh import LSHIndex
from winnow.inner_product.index.prepared import PreparedVectors, largest_outside


def binary(rows: int = 3000, columns: int = 60) -> np.ndarray:
    return np.random.default_rng(0).integers(0, 2, (rows, columns)).astype(np.float32)


def a_query(columns: int = 60) -> np.ndarray:
    return np.random.default_rng(1).normal(size=columns)


def recall(ids: np.ndarray, vectors: np.ndarray, query: np.ndarray, k: int) -> float:
    true = np.argsort(-(vectors @ query))[:k]
    return len(np.intersect1d(ids, true)) / k


def test_the_flat_index_finds_the_true_top() -> None:
    vectors, query = binary(), a_query()
    ids, scores = build_index("flat", vectors).top(query, 55)
    assert recall(ids, vectors, query, 55) == 1
    assert np.all(np.diff(scores) <= 0)
    np.testing.assert_allclose(scores, vectors[ids] @ query, rtol=1e-5)


@pytest.mark.parametrize("name", ["lsh", "p-stable"])
def test_hashing_finds_most_of_the_top_and_is_repeatable(name: str) -> None:
    vectors, query = binary(), a_query()
    ids, scores = build_index(name, vectors).top(query, 55)
    assert len(ids) == len(set(ids.tolist())) == 55
    assert recall(ids, vectors, query, 55) > 0.4
    assert np.all(np.diff(scores) <= 0)
    again, _ = build_index(name, vectors).top(query, 55)
    assert again.tolist() == ids.tolist()


@pytest.mark.parametrize("name", ["lsh", "p-stable"])
def test_hashing_returns_all_rows_when_all_are_asked_for(name: str) -> None:
    vectors = np.ones((9, 3))
    ids, _ = build_index(name, vectors).top(np.ones(3), 20)
    assert sorted(ids.tolist()) == list(range(9))
    ids, _ = build_index(name, binary(40, 6)).top(np.zeros(6), 40)
    assert sorted(ids.tolist()) == list(range(40))
    one = LSHIndex(tables=1, bits=3)
    one.build(np.eye(3))
    assert sorted(one.top(np.array([1.0, 0.0, 0.0]), 3)[0].tolist()) == [0, 1, 2]


def test_the_reduction_keeps_the_order_and_makes_norms_equal() -> None:
    vectors, query = binary(200, 12), a_query(12)
    reduction = NormCompletion(vectors)
    rows, completed = reduction.rows(slice(0, 200)), reduction.query(query)
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), np.linalg.norm(rows[0]), rtol=1e-5)
    near = np.linalg.norm(rows - completed, axis=1)
    products = vectors @ query
    np.testing.assert_allclose(np.diff(products[np.argsort(near)]) <= 1e-4, True)


def test_bounds_hold_outside_every_head() -> None:
    generator = np.random.default_rng(5)
    for _ in range(60):
        rows, columns = generator.integers(2, 9), generator.integers(1, 6)
        vectors = generator.normal(size=(rows, columns)) * generator.choice([0.1, 1, 10])
        index = FlatIndex()
        index.build(vectors)
        prepared = PreparedVectors(vectors, index)
        query = generator.normal(size=columns)
        products = vectors @ query
        head = generator.permutation(rows)[: generator.integers(0, rows)]
        left = np.delete(products, head)
        assert prepared.bound_outside(query, head) >= left.max()
        ids, bound = prepared.proposed(query, 1)
        assert bound >= np.delete(products, ids).max()
        assert bound <= products.max() + 1e-9
        assert largest_outside(products, head) == left.max()
    assert prepared.bound_outside(query, np.arange(rows)) == -math.inf


def test_products_that_vanish_are_in_the_bound() -> None:
    """4,096 products of 2^-1080 each are 0 in float64, and 2^-1068 together."""
    vectors, query = np.full((3, 4096), 2.0**-540), np.full(4096, 2.0**-540)
    prepared = PreparedVectors(vectors, None)
    assert Fraction(prepared.bound_outside(query, np.array([0]))) >= Fraction(1, 2**1068)


def test_the_box_bound_of_queries_is_the_total_variation() -> None:
    vectors = binary(500, 10)
    h, p = np.random.default_rng(2).dirichlet(np.ones(10), 2)
    prepared = PreparedVectors(vectors, None)
    total_variation = np.abs(h - p).sum() / 2
    assert prepared._box(h - p) == pytest.approx(total_variation, rel=1e-12)


def test_an_unknown_index_is_refused_and_a_missing_package_is_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with pytest.raises(wn.InputError, match="annoy"):
        build_index("annoy", binary(10, 3))
    real = builtins.__import__

    def without_faiss(name: str, *rest: Any, **more: Any) -> Any:
        if name == "faiss":
            raise ImportError(name)
        return real(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", without_faiss)
    with pytest.raises(wn.ExtraMissing, match=r"winnow-dp\[faiss\]"):
        build_index("hnsw", binary(10, 3))
