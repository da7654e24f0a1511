"""Compiled passes over a junction tree: all marginals of a model, and how they move.

Measured tables, helpers that sum several of them at once, and cliques lie one after another in one
flat array, the state. A map gives, for every cell of a holder (a helper, a larger table or a
clique), the cell of the held table that it is added into. Sums run in a fixed order on one thread,
so a pass gives the same bits every time.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from winnow.core.kernels.compiled import bare, compiled_bare

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


class Places(NamedTuple):
    """Where tables and cliques lie. Nothing in it depends on counts."""

    tables: Integers
    """Lines (offset, size, the holder's offset and size, map), each table before its holder."""
    cliques: Integers
    """Lines (offset, rows, width, the separator's offset, the parent's offset and size, map),
    parents first; the columns of the separator lead, so a row is one cell of the separator."""
    maps: NDArray[np.int32]
    base: Floats
    """The log potentials of the start, on all of the state."""


class Scratch(NamedTuple):
    """What one pass leaves for the next."""

    state: Floats
    """The probabilities of every table, helper and clique."""
    message: Floats
    """The probabilities of every separator."""
    change: Floats
    """Of the state, to first order."""
    slope: Floats
    """Of every separator, to first order."""


@bare
def _gather(into, first, size, source, offset, maps, place):  # type: ignore[no-untyped-def]
    for i in range(size):
        into[first + i] += source[offset + maps[place + i]]


@bare
def _scatter(into, first, rows, source, offset, size, maps, place):  # type: ignore[no-untyped-def]
    for j in range(rows):
        into[first + j] = 0.0
    for i in range(size):
        into[first + maps[place + i]] += source[offset + i]


@bare
def _collect(values, into, places):  # type: ignore[no-untyped-def]
    """Add what is given on tables into their holders, up to the cliques."""
    for i in range(len(values)):
        into[i] += values[i]
    for t in range(len(places.tables)):
        offset, _, first, size, place = places.tables[t]
        _gather(into, first, size, into, offset, places.maps, place)


@bare
def _hand_out(state, places):  # type: ignore[no-untyped-def]
    """Sum the cliques into what they hold, and larger tables into smaller ones."""
    for t in range(len(places.tables) - 1, -1, -1):
        offset, rows, first, size, place = places.tables[t]
        _scatter(state, offset, rows, state, first, size, places.maps, place)


@bare
def _conditional(state, offset, rows, width, message, s):  # type: ignore[no-untyped-def]
    """Turn log potentials into P(clique | separator), and their log sums into the message."""
    for r in range(rows):
        first = offset + r * width
        top = state[first]
        for j in range(first + 1, first + width):
            top = max(top, state[j])
        total = 0.0
        for j in range(first, first + width):
            value = math.exp(state[j] - top)
            state[j] = value
            total += value
        message[s + r] = top + math.log(total)
        for j in range(first, first + width):
            state[j] /= total


def _propagate(theta, places, scratch):  # type: ignore[no-untyped-def]
    """log Z of the model start x exp(sum of theta); the state becomes all marginals."""
    state, message, cliques = scratch.state, scratch.message, places.cliques
    for i in range(len(state)):
        state[i] = places.base[i]
    _collect(theta, state, places)
    for c in range(len(cliques) - 1, -1, -1):  # to the root: conditionals and messages
        offset, rows, width, s, first, size, place = cliques[c]
        _conditional(state, offset, rows, width, message, s)
        if c:
            _gather(state, first, size, message, s, places.maps, place)
    root = cliques[0, 3]
    log_z = message[root]
    message[root] = 1.0
    for c in range(1, len(cliques)):  # to the leaves: times the probability of the separator
        offset, rows, width, s, first, size, place = cliques[c]
        _scatter(message, s, rows, state, first, size, places.maps, place)
        for r in range(rows):
            for j in range(offset + r * width, offset + (r + 1) * width):
                state[j] *= message[s + r]
    _hand_out(state, places)
    return log_z


def _tangent(direction, places, scratch):  # type: ignore[no-untyped-def]
    """How the marginals move when theta moves by the direction: Cov x direction, in ``change``.

    To be called after ``propagate``, about the model that it left.
    """
    state, message = scratch.state, scratch.message
    change, slope, cliques = scratch.change, scratch.slope, places.cliques
    for i in range(len(change)):
        change[i] = 0.0
    _collect(direction, change, places)
    for c in range(len(cliques) - 1, -1, -1):  # to the root: means given the separator
        offset, rows, width, s, first, size, place = cliques[c]
        for r in range(rows):
            total = 0.0
            for j in range(offset + r * width, offset + (r + 1) * width):
                total += state[j] * change[j]
            mean = total / message[s + r] if message[s + r] > 0.0 else 0.0
            slope[s + r] = mean
            for j in range(offset + r * width, offset + (r + 1) * width):
                change[j] -= mean
        if c:
            _gather(change, first, size, slope, s, places.maps, place)
    slope[cliques[0, 3]] = 0.0
    for c in range(len(cliques)):  # to the leaves: the relative change of the separator
        offset, rows, width, s, first, size, place = cliques[c]
        if c:
            _scatter(slope, s, rows, change, first, size, places.maps, place)
        for r in range(rows):
            more = slope[s + r] / message[s + r] if message[s + r] > 0.0 else 0.0
            for j in range(offset + r * width, offset + (r + 1) * width):
                change[j] = state[j] * (change[j] + more)
    _hand_out(change, places)


def _dot(a, b):  # type: ignore[no-untyped-def]
    """The inner product in a fixed order: that of BLAS depends on the number of threads."""
    size = len(a)
    even = size - size % 4
    s0, s1, s2, s3 = 0.0, 0.0, 0.0, 0.0
    for i in range(0, even, 4):
        s0 += a[i] * b[i]
        s1 += a[i + 1] * b[i + 1]
        s2 += a[i + 2] * b[i + 2]
        s3 += a[i + 3] * b[i + 3]
    for i in range(even, size):
        s0 += a[i] * b[i]
    return (s0 + s1) + (s2 + s3)


def _lightest(x, groups, lines, shares, maps, total, part):  # type: ignore[no-untyped-def]
    """Of all x on the tables that are one function of the columns, the one of least weight.

    For every set of columns that several tables hold, the largest first, the means of x over the
    other columns are added up and divided anew, in the ratio of the tables' precisions.
    """
    for k in range(len(groups)):
        rows, first, last = groups[k]
        for j in range(rows):
            total[j] = 0.0
        for t in range(first, last):
            offset, size, place = lines[t]
            mean = rows / size
            for i in range(size):
                total[maps[place + i]] += x[offset + i] * mean
        for t in range(first, last):
            offset, size, place = lines[t]
            mean = rows / size
            for j in range(rows):
                part[j] = total[j] * shares[t]
            for i in range(size):
                part[maps[place + i]] -= x[offset + i] * mean
            for i in range(size):
                x[offset + i] += part[maps[place + i]]


propagate = compiled_bare(_propagate)
tangent = compiled_bare(_tangent)
dot = compiled_bare(_dot)
lightest = compiled_bare(_lightest)
