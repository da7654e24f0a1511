"""The tables of a graphical model over a junction tree: marginals, probabilities, rows.

A model is given by one table of probabilities for each clique, with equal sums wherever two
cliques share columns. The table of any columns is found from the cliques between them: the
one nearest to the root counts as it is, the others given what they share with their parent,
and branches that hold no wanted column sum up to one and are left out.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from winnow.fit.junction_tree import Columns, JunctionTree

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

_KEPT_CELLS = 1 << 15
"""Tables on the way up to this size are kept for the next table."""


class _Factor(NamedTuple):
    """A table, its columns, and how it was made: a clique, or columns summed out of others."""

    table: Floats
    axes: Columns
    made_of: Hashable


@dataclass(frozen=True, eq=False)
class TreeTables:
    """Tables of probabilities over the cliques of a junction tree."""

    tree: JunctionTree
    beliefs: tuple[Floats, ...]
    """One table for each clique, its axes in the clique's order; each sums to 1."""
    _kept: dict[Hashable, _Factor] = field(default_factory=dict, repr=False)

    def marginal(self, columns: Sequence[int]) -> Floats:
        """The table of some columns, axes in the order in which they are named."""
        wanted = tuple(columns)
        cliques = self._holding.get(wanted[0], set()) if wanted else set(range(len(self.beliefs)))
        for column in wanted[1:]:
            cliques = cliques & self._holding.get(column, set())
        if cliques:
            place = min(cliques, key=lambda i: (self.beliefs[i].size, i))
            return _summed([self.beliefs[place], list(self.tree.cliques[place])], wanted)
        joined = self._eliminated(wanted)
        factors: list[Any] = []
        for table, axes, _ in joined:
            factors += [table, list(axes)]
        return _summed(factors, wanted)

    def probability(self, masks: Mapping[int, NDArray[np.bool_]]) -> float:
        """The probability that every masked column has one of its marked codes."""
        messages: list[Floats] = [np.ones(())] * len(self.tree.cliques)
        for place in reversed(range(len(self.tree.cliques))):
            clique, shared = self.tree.cliques[place], self.tree.separators[place]
            factors: list[Any] = [self._given[place], list(clique)]
            for child in self._children[place]:
                factors += [messages[child], list(self.tree.separators[child])]
            for column in clique:
                if column in masks and self.tree.tops[column] == place:
                    factors += [masks[column].astype(np.float64), [column]]
            messages[place] = _summed(factors, shared)
        return float(messages[0])

    def draw(self, uniform: Sequence[Floats]) -> Integers:
        """Rows drawn clique by clique, from as many uniform numbers in [0, 1) for each.

        The result has a line of codes for each column.
        """
        rows = len(uniform[0])
        codes = np.zeros((len(self.tree.shape), rows), np.int64)
        for place, clique in enumerate(self.tree.cliques):
            shared = self.tree.separators[place]
            new = tuple(c for c in clique if c not in shared)
            table = _summed([self.beliefs[place], list(clique)], (*shared, *new))
            sums = np.cumsum(table.reshape(self.tree.size(shared), -1), axis=1)
            given = np.zeros(rows, np.int64)
            for column in shared:
                given = given * self.tree.shape[column] + codes[column]
            drawn = _first_above(sums, given, uniform[place] * sums[given, -1])
            for column, code in zip(
                new, np.unravel_index(drawn, self.tree.sizes(new)), strict=True
            ):
                codes[column] = code
        return codes

    def _eliminated(self, wanted: Columns) -> list[_Factor]:
        """Factors whose product is the table of the wanted columns: the others are summed out.

        One column after another, the one first whose tables have the smallest product: no table
        on the way is much larger than a clique or than what is asked for.
        """
        top, needed = self._between(wanted)
        factors = [
            _Factor(self.beliefs[i] if i == top else self._given[i], self.tree.cliques[i],
                    (i == top, i))
            for i in needed
        ]  # fmt: skip
        shape = self.tree.shape
        holding: dict[int, list[_Factor]] = {}
        for factor in factors:
            for c in factor.axes:
                holding.setdefault(c, []).append(factor)
        joint = {
            c: {a for factor in holding[c] for a in factor.axes} for c in holding if c not in wanted
        }
        cost = {c: math.prod(shape[a] for a in near) for c, near in joint.items()}
        while cost:
            column = min(cost, key=lambda c: (cost[c], c))
            del cost[column]
            touched = holding.pop(column)
            made = self._joined(touched, column, joint.pop(column))
            gone = {factor.made_of for factor in touched}
            for c in made.axes:
                kept = [factor for factor in holding[c] if factor.made_of not in gone]
                holding[c] = [*kept, made]
                if c in cost:
                    joint[c] = {a for factor in holding[c] for a in factor.axes}
                    cost[c] = math.prod(shape[a] for a in joint[c])
            factors = [factor for factor in factors if factor.made_of not in gone]
            factors.append(made)
        return factors

    def _joined(self, touched: list[_Factor], column: int, joint: set[int]) -> _Factor:
        """The product of some factors, a column summed out; kept for tables that need it, too."""
        key = (column, *(factor.made_of for factor in touched))
        if key not in self._kept:
            axes = tuple(sorted(joint - {column}))
            given: list[Any] = []
            for factor in touched:
                given += [factor.table, list(factor.axes)]
            made = _Factor(_summed(given, axes), axes, key)
            if made.table.size > _KEPT_CELLS:
                return made
            self._kept[key] = made
        return self._kept[key]

    def _between(self, wanted: Columns) -> tuple[int, list[int]]:
        """The lowest clique with all wanted columns at or below it; all cliques up to it."""
        paths = []
        for column in wanted:
            place, path = self.tree.tops[column], []
            while place >= 0:
                path.append(place)
                place = self.tree.parents[place]
            paths.append(path)
        common = set(paths[0]).intersection(*paths[1:])
        top = next(place for place in paths[0] if place in common)
        needed = {place for path in paths for place in path[: path.index(top) + 1]}
        return top, sorted(needed)

    @cached_property
    def _holding(self) -> dict[int, set[int]]:
        """For each column the cliques that have it."""
        holding: dict[int, set[int]] = {}
        for place, clique in enumerate(self.tree.cliques):
            for column in clique:
                holding.setdefault(column, set()).add(place)
        return holding

    @cached_property
    def _given(self) -> tuple[Floats, ...]:
        """Each clique's table given the columns shared with its parent."""
        conditionals = []
        for belief, clique, shared in zip(
            self.beliefs, self.tree.cliques, self.tree.separators, strict=True
        ):
            gone = tuple(axis for axis, column in enumerate(clique) if column not in shared)
            sums = belief.sum(axis=gone, keepdims=True)
            conditionals.append(np.divide(belief, sums, out=np.zeros_like(belief), where=sums > 0))
        return tuple(conditionals)

    @cached_property
    def _children(self) -> tuple[tuple[int, ...], ...]:
        places = range(len(self.tree.cliques))
        return tuple(tuple(c for c in places if self.tree.parents[c] == p) for p in places)


def _summed(factors: list[Any], kept: Columns) -> Floats:
    """The product of tables, each followed by its columns, summed over what is not kept.

    numpy takes labels below 52, so columns are numbered anew.
    """
    labels: dict[int, int] = {}
    for columns in (*factors[1::2], kept):
        for column in columns:
            labels.setdefault(column, len(labels))
    named = [[labels[c] for c in each] if place % 2 else each for place, each in enumerate(factors)]
    return np.asarray(np.einsum(*named, [labels[c] for c in kept], optimize="greedy"))


def _first_above(sums: Floats, lines: Integers, targets: Floats) -> Integers:
    """For each target the first place in its line of running sums that exceeds it."""
    width = sums.shape[1]
    low = np.zeros(len(lines), np.int64)
    high = np.full(len(lines), width - 1, np.int64)
    for _ in range(math.ceil(math.log2(width)) if width > 1 else 0):
        middle = (low + high) // 2
        above = sums[lines, middle] > targets
        high = np.where(above, middle, high)
        low = np.where(above, low, np.minimum(middle + 1, high))
    return low
