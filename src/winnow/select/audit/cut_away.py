"""Audits of what a bound left out: enumeration of people's rows, fidelity, and broken twins.

What neighbours move is found by the crossing itself, with the same noise on both.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import product

import numpy as np
from numpy.typing import NDArray

from winnow.audit.driver import enumeration, farthest, of_moves
from winnow.audit.fidelity import chi_square_p_value, fidelity_result
from winnow.audit.result import AuditResult, as_twin
from winnow.core.relation import Relation
from winnow.core.run import single_run
from winnow.core.sealed import Sealed
from winnow.core.tape import Tape
from winnow.core.utility import declared
from winnow.read.people import PersonBound
from winnow.select.mechanisms.cut_away import MeasureCut, WithCut
from winnow.select.mechanisms.noisy_counts import NoisyCounts

Numbers = tuple[int, int, int]
Statistic = Callable[[MeasureCut, list[int], Relation], Numbers]
"""The three numbers of people with so many rows each, all with the same noise."""

_OTHERS = [1, 2, 2, 30]
"""The rows of people who are on both sides."""
_DRAWN = 2_000


def made(most: int = 1) -> MeasureCut:
    """What is enumerated."""
    return MeasureCut(1, PersonBound("person", "row", most))


def measured(mechanism: MeasureCut, rows: list[int], relation: Relation) -> Numbers:
    """By the mechanism itself, from the same bits each time."""
    numbers = Sealed(dict(Counter(rows)), "made-up people")
    key, _ = single_run(mechanism, relation, Tape.seeded(1))
    numbers_drawn = mechanism.drawn(numbers, relation, key)
    return numbers_drawn.whole, numbers_drawn.cut, numbers_drawn.left_out


def every_row(mechanism: MeasureCut, rows: list[int], relation: Relation) -> Numbers:
    """BROKEN: everything beyond the bound is left out, whatever a person has."""
    cut = [have - mechanism.bound.most for have in rows if have > mechanism.bound.most]
    return len(rows) - len(cut), len(cut), sum(cut)


class BrokenOnePerson(MeasureCut):
    """BROKEN: a person who is replaced is taken to move one number of people."""

    def people_scale(self, relation: Relation) -> Fraction:
        """That of an added person."""
        return super().people_scale(Relation.ADD_REMOVE)


def cut_enumerated() -> Iterator[AuditResult]:
    """No person's rows, from none to more than are looked at, tell more than was charged."""
    for relation in Relation:
        for most in (1, 2):
            yield enumerate_cut(made(most), relation)
        yield enumerate_both(both(), relation)


def enumerate_cut(
    mechanism: MeasureCut, relation: Relation, statistic: Statistic = measured
) -> AuditResult:
    """One result: the largest loss over all pairs of what one person may have."""
    owned = range(mechanism.bound.looked_at + 4)
    before = owned if relation is Relation.SUBSTITUTION else (0,)
    people = mechanism.people_scale(relation)
    scales = [people, people, mechanism.left_out_scale]
    statistics = {
        have: np.array(statistic(mechanism, [*_OTHERS, *([have] if have else [])], relation))
        for have in owned
    }
    moves = {tuple((statistics[a] - statistics[b]).tolist()) for a, b in product(before, owned)}
    claimed = float(mechanism.epsilon)
    return enumeration(
        f"{mechanism.title}, at most {mechanism.bound.most} of a person: between neighbours no "
        "output's log-probability moves by more than epsilon.",
        mechanism,
        relation,
        claimed,
        farthest(of_moves(scales, "laplace", _numbers(moves)), claimed).epsilon,
        f"over {len(moves)} moves of a person with up to {owned[-1]} rows",
    )


def _numbers(moves: set[tuple[int, ...]]) -> list[list[NDArray[np.int64]]]:
    """The moves that are any, a number at a time."""
    return [[np.array([by]) for by in move] for move in moves if any(move)]


def both(share: Fraction = Fraction(1, 4)) -> WithCut:
    """Counts of two items, one of each person, with three quarters of epsilon, and the estimate."""
    return WithCut(NoisyCounts(1 - share, 2, 1, True), MeasureCut(share, made().bound))


def enumerate_both(mechanism: WithCut, relation: Relation, epsilon: float = 1.0) -> AuditResult:
    """One result: a person has any number of rows, and one of them counts for either item."""
    cut, inner = mechanism.cut, mechanism.inner
    assert isinstance(inner, NoisyCounts)
    people, utility = cut.people_scale(relation), declared(1, True, relation)
    scales = [*[inner.scale(utility)] * 2, people, people, cut.left_out_scale]
    owned = range(cut.bound.looked_at + 4)
    every_move = set()
    for have in owned:
        rows = [*_OTHERS, *([have] if have else [])]
        for item in (0, 1) if have else (None,):
            counts = (int(item == 0), int(item == 1))
            every_move.add((*counts, *measured(cut, rows, relation)))
    nobody = next(each for each in every_move if not any(each[:2]))
    before = every_move if relation is Relation.SUBSTITUTION else {nobody}
    moves = {
        tuple(a - b for a, b in zip(*pair, strict=True)) for pair in product(before, every_move)
    }
    return enumeration(
        "A release with an estimate of what was left out: between neighbours no output's "
        "log-probability moves by more than epsilon.",
        mechanism,
        relation,
        epsilon,
        farthest(of_moves(scales, "laplace", _numbers(moves)), epsilon).epsilon,
        f"over {len(moves)} moves of a person with up to {owned[-1]} rows",
    )


def cut_faithful(*, seed: int) -> Iterator[AuditResult]:
    """The three numbers are those of the people, with noise of the stated laws."""
    yield fidelity_of_cut(made(), seed)


def fidelity_of_cut(mechanism: MeasureCut, seed: int, factor: float = 1.0) -> AuditResult:
    """Many estimates against the law of their noise, whose scale is ``factor`` times the stated."""
    relation, root = Relation.ADD_REMOVE, Tape.seeded(seed)
    numbers = {1: 5, 2: 3, 10: 1}
    drawn = []
    for draw in range(_DRAWN):
        sealed = Sealed(numbers, "made-up people")
        key, _ = single_run(mechanism, relation, root.child(f"draw-{draw}"))
        estimate = mechanism.drawn(sealed, relation, key)
        drawn.append((estimate.whole - 5, estimate.cut - 4, estimate.left_out - 12))
    people = mechanism.people_scale(relation)
    p_values = []
    for noise, scale in zip(
        np.array(drawn).T, (people, people, mechanism.left_out_scale), strict=True
    ):
        wide = float(scale) * factor
        z = np.arange(-4000, 4001)
        mass = np.exp(-np.abs(z) / wide)
        step = max(1, round(float(scale)))
        cells = np.clip(z // step, -6, 6) + 6
        expected = np.bincount(cells, mass / mass.sum(), 13)
        observed = np.append(np.bincount(np.clip(noise // step, -6, 6) + 6, minlength=13), 0)
        p_values.append(chi_square_p_value(observed, expected.astype(np.float64)))
    return fidelity_result(
        f"{mechanism.title}: every number has the exact discrete Laplace noise.",
        mechanism.name,
        mechanism.promise(relation).citation,
        min(1.0, 3 * min(p_values)),
        f"{_DRAWN} estimates",
    )


def cut_twins() -> Iterator[AuditResult]:
    """Rows without a limit, and a forgotten factor of two, are caught."""
    unlimited = enumerate_cut(made(), Relation.ADD_REMOVE, every_row)
    yield as_twin("all rows of a person are looked at", "Enumeration", unlimited)
    halved = BrokenOnePerson(1, made().bound)
    result = enumerate_cut(halved, Relation.SUBSTITUTION)
    yield as_twin("a replaced person is taken to move one number", "Enumeration", result)
    free = WithCut(NoisyCounts(1, 2, 1, True), both().cut)
    result = enumerate_both(free, Relation.ADD_REMOVE)
    yield as_twin("the estimate is not paid for", "Enumeration", result)
    yield as_twin("noise has half its scale", "Fidelity", fidelity_of_cut(made(), 1, 2.0))
