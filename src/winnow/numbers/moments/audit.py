"""Audits of moments: what people can move, written out; the law of box noise; broken twins."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations_with_replacement, product

import numpy as np
from numpy.typing import NDArray

from winnow.audit.driver import NoiseCharge, enumeration, farthest, of_moves
from winnow.audit.fidelity import chi_square_p_value, fidelity_result
from winnow.audit.result import AuditResult, as_twin
from winnow.core.box_noise import box_noise
from winnow.core.number_grid import NumberGrid
from winnow.core.relation import Relation
from winnow.core.tape import Tape
from winnow.numbers.moments.measured import (
    MeasuredSum,
    ValuedColumn,
    all_rows,
    first,
    rows_with,
    second,
    total,
)
from winnow.numbers.moments.mechanism import NoisySums

Integers = NDArray[np.int64]
Person = tuple[tuple[int, tuple[int | None, ...]], ...]
"""The group of each row, and the code of each column; None: it has no value."""

_PARTS = 8
_TOP = 3
_REACH = 60
"""Outcomes of box noise that are looked at, on each side."""


def column(name: str, *, optional: bool = False, low: int = 0) -> ValuedColumn:
    """Four numbers in steps of one."""
    grid = NumberGrid(Fraction(low), Fraction(low + _TOP), Fraction(1))
    return ValuedColumn(name, 0, grid, optional)


def made(
    measured: tuple[MeasuredSum, ...], law: str = "box", *, groups: int = 1, rows: int = 1
) -> NoisySums:
    """Sums in eighths of what a row adds."""
    noise = (Fraction(13),) if law == "box" else (Fraction(360),) * len(measured)
    return NoisySums(1, measured, law, noise, groups, rows, parts=_PARTS)


@dataclass(frozen=True)
class MomentsModel:
    """A mechanism, and who may stand in the place of whom."""

    mechanism: NoisySums
    relation: Relation
    charged_for: float = 1.0
    """How much of what it charges it would charge; a twin says less."""

    def moves(self) -> list[Integers]:
        """By how much one person moves the parts: a row for each group, a column for each sum."""
        columns = sorted({each.column.name for each in self.mechanism.measured if each.column})
        optional = {e.column.name for e in self.mechanism.measured if e.column and e.optional}
        codes = [[*range(_TOP + 1), *([None] if name in optional else [])] for name in columns]
        row = [(g, held) for g in range(self.mechanism.groups) for held in product(*codes)]
        most = self.mechanism.rows_per_person
        least = most if self._size_is_public else 0
        people: list[Person] = [
            own
            for size in range(least, most + 1)
            for own in combinations_with_replacement(row, size)
        ]
        instead: list[Person] = [()] if self.relation is Relation.ADD_REMOVE else people
        vectors: dict[bytes, Integers] = {}
        for others in ((), (row[0],), (row[len(row) // 2],)):  # sums are rounded after all rows
            parts = {own: self._parts((*others, *own), columns) for own in {*people, *instead}}
            for one, other in product(people, instead):
                moved = parts[one] - parts[other]
                if moved.any():
                    vectors[np.abs(moved).tobytes()] = moved
        return list(vectors.values())

    @property
    def _size_is_public(self) -> bool:
        return self.relation is Relation.SUBSTITUTION and self.mechanism.rows_per_person == 1

    def _parts(self, rows: Person, columns: list[str]) -> Integers:
        parts = np.zeros((self.mechanism.groups, len(self.mechanism.measured)), np.int64)
        for group in range(self.mechanism.groups):
            for number, each in enumerate(self.mechanism.measured):
                a, b, c = each.factors
                codes = [
                    1 if each.column is None else code[columns.index(each.column.name)]
                    for own, code in rows
                    if own == group
                ]
                whole = sum(a + b * k + c * k * k for k in codes if k is not None)
                if each.column is None:
                    whole = len(codes)
                parts[group, number] = whole * self.mechanism.parts * each.times // each.reach
        return parts


def _told(moved: Integers, scale: Fraction) -> float:
    """The most that an outcome of box noise tells, over all groups."""
    size = moved.shape[1]
    reach = _REACH if size <= 2 else 24
    every = np.arange(-reach, reach + 1)
    outcomes = np.stack(np.meshgrid(*[every] * size, indexing="ij")).reshape(size, -1).T
    centre = np.abs(outcomes).max(axis=1)
    loss = 0.0
    for own in moved:
        if own.any():
            away = np.abs(outcomes - own).max(axis=1)
            loss += float(np.abs(away - centre).max()) / float(scale)
    return loss


def models() -> Iterator[tuple[str, MomentsModel]]:
    """Both laws and relations, groups, several rows of a person, values that are missing."""
    a, b, odd = column("a"), column("b"), column("odd", optional=True)
    for relation in Relation:
        public = relation is Relation.SUBSTITUTION
        own = () if public else (all_rows(),)
        yield "a mean", MomentsModel(made((*own, first(a))), relation)
        yield "two means", MomentsModel(made((*own, first(a), first(b))), relation)
        yield "a variance", MomentsModel(made((*own, first(a), second(a))), relation)
        counted = replace(rows_with(odd), times=2 if public else 1)
        yield "missing values", MomentsModel(made((counted, first(odd))), relation)
        yield "groups", MomentsModel(made((all_rows(), first(a)), groups=2), relation)
        yield "two rows", MomentsModel(made((all_rows(), first(a)), rows=2), relation)
        alone = (total(column("far", low=5)),)
        yield "sums alone", MomentsModel(made(alone, groups=2), relation)
        gaussian = made((*own, first(a), second(a)), "gaussian")
        yield "a variance", MomentsModel(gaussian, relation)
        by_group = made((all_rows(), first(a)), "gaussian", groups=2)
        yield "groups", MomentsModel(by_group, relation)
        missing = made((rows_with(odd), first(odd), second(odd)), "gaussian")
        yield "missing values", MomentsModel(missing, relation)
        several = made((all_rows(), first(a)), "gaussian", rows=2)
        yield "two rows", MomentsModel(several, relation)


def moments_enumerated(*, quick: bool = False) -> Iterator[AuditResult]:
    """No neighbours are told apart by noisy sums more than was charged."""
    for title, model in list(models())[:: 2 if quick else 1]:
        yield enumerate_moments(title, model)


def enumerate_moments(title: str, model: MomentsModel) -> AuditResult:
    """One result over all that a person can do."""
    mechanism, moves = model.mechanism, model.moves()
    event = mechanism.promise(model.relation).event
    if mechanism.law == "box":
        charge = NoiseCharge.of(event, "laplace")
        claimed = charge.claimed * model.charged_for
        worst = max(_told(moved, mechanism.noise[0]) for moved in moves)
        return enumeration(
            f"Moments, {title}: {charge.text}.",
            mechanism,
            model.relation,
            claimed,
            worst,
            f"over {len(moves)} moves",
        )
    charge = NoiseCharge.of(event, "gaussian")
    noises = list(mechanism.noise)
    flat = [(noises * mechanism.groups, moved) for moved in moves]
    pairs = (
        pair
        for own, moved in flat
        for pair in of_moves(own, "gaussian", [[np.atleast_1d(each) for each in moved.ravel()]])
    )
    delta = charge.measured(farthest(pairs, charge.epsilon * model.charged_for))
    return enumeration(
        f"Moments, {title}: {charge.text}.",
        mechanism,
        model.relation,
        charge.claimed,
        delta,
        f"over {len(moves)} moves",
    )


def moments_faithful(*, quick: bool = False, seed: int) -> Iterator[AuditResult]:
    """The sampler draws vectors with their exact probabilities."""
    draws = 20_000 if quick else 60_000
    for size, scale in ((1, Fraction(2)), (2, Fraction(1, 3)), (3, Fraction(3, 2))):
        yield faithful_box(draws, size, scale, seed + size)


def faithful_box(
    draws: int, size: int, scale: Fraction, seed: int, *, dimensions: int | None = None
) -> AuditResult:
    """Vectors with coordinates up to 3, and all others together, against the law as it is written.

    A twin takes the law of another number of ``dimensions`` for the size of a vector.
    """
    drawn = box_noise(Tape.seeded(seed), draws, size, scale)
    edge = 3
    inside = np.abs(drawn).max(axis=1) <= edge
    places = np.ravel_multi_index(tuple(drawn[inside].T + edge), (2 * edge + 1,) * size)
    seen = np.bincount(places, minlength=(2 * edge + 1) ** size)
    observed = np.array([*seen, draws - int(inside.sum()), 0])
    axes = np.meshgrid(*[np.arange(-edge, edge + 1)] * size, indexing="ij")
    radii = np.abs(np.stack(axes)).max(axis=0).ravel()
    q, d = math.exp(-1 / float(scale)), dimensions or size
    chances = np.array([_shell(r, d) * q**r for r in range(400)])
    each = chances / chances.sum() / [_shell(r, size) for r in range(400)]
    inner = each[radii]
    law = np.append(inner, max(0.0, 1 - inner.sum()))
    return fidelity_result(
        f"Box noise of {size} integers: the sampler draws every vector with its probability.",
        "box noise",
        "",
        chi_square_p_value(observed, law),
        f"{draws} draws",
        relation="both",
    )


def _shell(radius: int, size: int) -> int:
    """How many vectors have this largest absolute value."""
    return (2 * radius + 1) ** size - max(0, 2 * radius - 1) ** size if radius else 1


def moments_twins(*, quick: bool = False, seed: int) -> Iterator[AuditResult]:
    """Wrong sensitivities, and a wrong law, are caught."""
    a, odd = column("a"), column("odd", optional=True)
    pair = MomentsModel(made((first(a), second(a))), Relation.SUBSTITUTION, 0.5)
    yield as_twin("a value that is replaced moves as one that comes", "Enumeration",
                  enumerate_moments("a variance", pair))  # fmt: skip
    moved = MomentsModel(made((all_rows(), first(a)), groups=2), Relation.SUBSTITUTION, 0.5)
    yield as_twin("the group that a row enters is forgotten", "Enumeration",
                  enumerate_moments("groups", moved))  # fmt: skip
    counted = made((replace(rows_with(odd), times=3), first(odd)))
    finer = MomentsModel(counted, Relation.SUBSTITUTION, 2 / 3)
    yield as_twin("a number of rows is measured too finely", "Enumeration",
                  enumerate_moments("missing values", finer))  # fmt: skip
    if not quick:
        square = made((first(a), second(a)), "gaussian")
        free = MomentsModel(square, Relation.SUBSTITUTION, 0.8)
        yield as_twin("squares are taken for free at any precision", "Enumeration",
                      enumerate_moments("a variance", free))  # fmt: skip
    broken = faithful_box(20_000, 2, Fraction(3, 2), seed, dimensions=1)
    yield as_twin("the radius is drawn as that of one number", "Fidelity", broken)
