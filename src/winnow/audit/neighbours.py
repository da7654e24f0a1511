"""All neighbours of a small score vector, straight from what a user may declare.

This is the audit's own reading of the declaration: it does not ask ``Utility``, whose
numbers are among the things audited.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations_with_replacement, product

import numpy as np
from numpy.typing import NDArray

from winnow.core.relation import Relation
from winnow.core.utility import Utility

Integers = NDArray[np.int64]
Boxes = frozenset[tuple[int, int]]


@dataclass(frozen=True)
class Declared:
    """What a user says about scores: integers, so that neighbours are exact.

    ``sensitivity`` is the most by which one person moves a score, or (down, up) for what
    adding one person does; ``monotone`` says that adding a person lowers no score.
    """

    name: str
    relation: Relation
    sensitivity: int | tuple[int, int] = 1
    monotone: bool = False

    @property
    def utility(self) -> Utility:
        """This declaration as the library reads it."""
        return Utility.declare(self.sensitivity, monotone=self.monotone, relation=self.relation)

    @property
    def boxes(self) -> Boxes:
        """Intervals (low, high): between neighbours all scores move anywhere within one."""
        if isinstance(self.sensitivity, tuple):
            down, up = self.sensitivity
        else:
            down, up = (0 if self.monotone else self.sensitivity), self.sensitivity
        if not self.monotone and not isinstance(self.sensitivity, tuple):
            return frozenset({(-up, up)})  # declared for the relation itself, whatever that is
        if self.relation is Relation.ADD_REMOVE:
            return frozenset({(-down, up), (-up, down)})  # a person comes, or leaves
        return frozenset({(-up - down, up + down)})  # one leaves and another comes


def moves(boxes: Boxes, d: int, *, inside: bool = False) -> Integers:
    """Every x' - x for neighbours x' of x, one per row, without the zero move.

    Each score moves by an extreme or not at all. Where a probability rises in some scores
    and falls in the others, no move inside the box is worse than a corner; where it does
    not, `inside` adds the integers between the extremes.
    """
    steps: set[tuple[int, ...]] = set()
    for low, high in boxes:
        values = range(low, high + 1) if inside else sorted({low, 0, high})
        steps.update(product(values, repeat=d))
    steps.discard((0,) * d)
    return np.array(sorted(steps), np.int64)


def within(items: int | None, steps: Integers) -> Integers:
    """The moves of a person with at most so many items; of one who leaves and one who comes."""
    if items is None:
        return steps
    up, down = np.sum(steps > 0, axis=1), np.sum(steps < 0, axis=1)
    return np.asarray(steps[(up <= items) & (down <= items)], np.int64)


def sorted_vectors(values: tuple[int, ...], d: int) -> Integers:
    """All vectors of these values in falling order."""
    return np.array(list(combinations_with_replacement(sorted(values, reverse=True), d)), np.int64)


def vectors(values: tuple[int, ...], d: int) -> Integers:
    """All vectors of these values."""
    return np.array(list(product(values, repeat=d)), np.int64)


def counts(relation: Relation) -> Declared:
    """Counts of people: adding one raises some of them by 1."""
    return Declared("counts", relation, monotone=True)


def general(relation: Relation) -> Declared:
    """Scores that one person moves by at most 1, either way."""
    return Declared("general scores", relation)


def asymmetric(relation: Relation, down: int = 1, up: int = 2) -> Declared:
    """Scores that one more person moves by -down to +up."""
    return Declared(f"asymmetric scores (-{down}..+{up})", relation, (down, up))


def declarations() -> tuple[Declared, ...]:
    """Counts, general and asymmetric scores, under both relations."""
    return tuple(make(relation) for relation in Relation for make in (counts, general, asymmetric))


def person_moves(cells: int, rows_per_person: int, relation: Relation) -> Iterator[Integers]:
    """All ways in which one person moves the counts of the cells of a small domain."""
    several = rows_per_person > 1
    fewest = rows_per_person if relation is Relation.SUBSTITUTION and not several else 0
    persons = [
        np.bincount(np.array(rows, np.int64), minlength=cells)
        for size in range(fewest, rows_per_person + 1)
        for rows in combinations_with_replacement(range(cells), size)
    ]
    nobody = [np.zeros(cells, np.int64)]
    others = persons if relation is Relation.SUBSTITUTION else nobody
    yield from (one - other for one, other in product(persons, others))
