"""The only part of regression that sees private rows: exact sums of products, and their noise."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from winnow.core.box_noise import box_noise
from winnow.core.key import Key
from winnow.core.noise import discrete_gaussian_array
from winnow.core.tape import Tape
from winnow.numbers.regress.design import Design, DesignColumn
from winnow.read.crossing import Codes, SealedTable, rows_for

Integers = NDArray[np.int64]

_AT_ONCE = 1 << 16
"""Rows whose numbers are held at once."""


def noisy_products(
    table: SealedTable,
    design: Design,
    products: Sequence[tuple[int, int]],
    law: str,
    noise: Sequence[Fraction],
    key: Key,
) -> Integers:
    """The sum of each product over the rows, in parts of 1/one^2, with noise.

    With box noise a square z^2 is measured as 2 z^2 - 1, which lies between -1 and 1.
    """
    places = tuple(column.place for column in design.columns)
    codes, weights = key.open(rows_for(table, [places])).of(places)
    exact = measured(design, products, law, [codes[place] for place in places], weights)
    if law == "box":
        drawn: Integers = box_noise(key.tape.child("box"), 1, len(products), noise[0])[0]
        return exact + drawn
    return exact + gaussian_noise(noise, key.tape)


def gaussian_noise(variances: Sequence[Fraction], tape: Tape) -> Integers:
    """Gaussian noise of each variance; what has the same one is drawn together."""
    found = np.zeros(len(variances), np.int64)
    for variance in sorted(set(variances)):
        own = [number for number, each in enumerate(variances) if each == variance]
        drawn = discrete_gaussian_array(tape.child(f"variance-{variance}"), len(own), variance)
        found[own] = drawn
    return found


def measured(
    design: Design,
    products: Sequence[tuple[int, int]],
    law: str,
    codes: Sequence[Codes],
    weights: Integers,
) -> Integers:
    """What noise is added to: the sum of each product, exact."""
    sums = summed(design, codes, weights)
    return np.array(
        [2 * sums[i, i] - sums[0, 0] if law == "box" and i == j > 0 else sums[i, j]
         for i, j in products], np.int64,
    )  # fmt: skip


def summed(design: Design, codes: Sequence[Codes], weights: Integers) -> Integers:
    """The sums of all products over the rows that have a number in every column; exact.

    ``codes`` are those of the columns of the design, in its order.
    """
    size = len(design.terms)
    sums = np.zeros((size, size), np.int64)
    for start in range(0, len(weights), _AT_ONCE):
        part = slice(start, start + _AT_ONCE)
        numbers, kept = numbers_of(design, [each[part] for each in codes])
        held = numbers[kept]
        sums += held.T @ (held * weights[part][kept, None])
    return sums


def numbers_of(design: Design, codes: Sequence[Codes]) -> tuple[Integers, NDArray[np.bool_]]:
    """The numbers of every row, times ``one``, and whether it has one in every column."""
    kept = np.ones(len(codes[0]), np.bool_)
    numbers = np.empty((len(kept), len(design.terms)), np.int64)
    numbers[:, 0] = design.one
    for place, term in enumerate(design.terms):
        if term.column is None:
            continue
        column, own = design.columns[term.column], codes[term.column].astype(np.int64)
        if column.grid is None:
            numbers[:, place] = np.where(own == term.level, design.one, 0)
        else:
            numbers[:, place] = _placed(column, own, design.one)
            kept &= own < column.grid.size
    return numbers, kept


def _placed(column: DesignColumn, codes: Integers, one: int) -> Integers:
    """(2k - K)/K times ``one``, rounded to the nearest whole number; never beyond it."""
    assert column.grid is not None
    top = column.grid.size - 1
    twice = 2 * np.minimum(codes, top) - top
    return (2 * twice * one + top) // (2 * top)
