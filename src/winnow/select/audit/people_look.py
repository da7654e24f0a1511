"""Audits of a bound that is chosen by a look at people: enumeration, fidelity, broken twins."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
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
from winnow.select.mechanisms.noisy_counts import NoisyCounts
from winnow.select.mechanisms.people_look import BoundFromLook, PeopleLook

Look = Callable[[PeopleLook, list[int], Relation], list[int]]
"""The noisy numbers of people with so many items each, all with the same noise."""

_GRID = (1, 2, 4)
_OTHERS = [1, 2, 2, 9]
"""The items of people who are on both sides."""
_MOST = 7
_DRAWN = 2_000
_WIDE = 6
"""Of so many steps from 0 the noise is compared cell by cell."""


def made() -> PeopleLook:
    """What is enumerated."""
    return PeopleLook(1, _GRID)


def looked(mechanism: PeopleLook, items: list[int], relation: Relation) -> list[int]:
    """By the mechanism itself, from the same bits each time."""
    key, _ = single_run(mechanism, relation, Tape.seeded(1))
    return mechanism.drawn(Sealed(dict(Counter(items)), "made-up people"), relation, key)


def in_every_number(mechanism: PeopleLook, items: list[int], relation: Relation) -> list[int]:
    """BROKEN: somebody with more than a bound is in its number, and in those before."""
    numbers = looked(mechanism, items, relation)
    return [sum(numbers[place:]) for place in range(len(numbers))]


class BrokenReplacement(PeopleLook):
    """BROKEN: a person who is replaced is taken to move one number of people."""

    def scale(self, relation: Relation) -> int:  # type: ignore[override]
        """That of an added person."""
        return int(super().scale(Relation.ADD_REMOVE))


def chosen() -> BoundFromLook:
    """A look for a quarter of epsilon, and noisy counts of two items under each bound."""
    releases = tuple(NoisyCounts(0.75, 2, bound, True) for bound in (1, 2))
    return BoundFromLook(PeopleLook(0.25, (1, 2)), releases, "counts")


def look_enumerated() -> Iterator[AuditResult]:
    """Whatever one person has, neither the look nor what follows tells more than was charged."""
    for relation in Relation:
        yield enumerate_look(made(), relation)
        yield enumerate_chosen(chosen(), relation)


def enumerate_look(mechanism: PeopleLook, relation: Relation, look: Look = looked) -> AuditResult:
    """One result: the largest loss over all pairs of what one person may have."""
    before = range(_MOST) if relation is Relation.SUBSTITUTION else (0,)
    statistics = {
        have: np.array(look(mechanism, [*_OTHERS, *([have] if have else [])], relation))
        for have in range(_MOST)
    }
    moves = {
        tuple((statistics[a] - statistics[b]).tolist()) for a, b in product(before, statistics)
    }
    scales = [mechanism.scale(relation)] * (len(mechanism.grid) + 1)
    claimed = float(mechanism.epsilon)
    return enumeration(
        f"{mechanism.title}: between neighbours no output's log-probability moves by more than "
        "epsilon.",
        mechanism,
        relation,
        claimed,
        farthest(of_moves(scales, "laplace", _numbers(moves)), claimed).epsilon,
        f"over {len(moves)} moves of a person with up to {_MOST - 1} items",
    )


def enumerate_chosen(
    mechanism: BoundFromLook, relation: Relation, epsilon: float = 1.0
) -> AuditResult:
    """One result: the look and the release under each bound, of whoever has some of two items.

    Which bound is taken follows from the look. So the loss of both is at most that of the look and
    the largest that the release has under any bound; both are found over all moves of a person.
    """
    utility = declared(1, True, relation)
    owned = [(), (0,), (1,), (0, 1)]
    before = owned if relation is Relation.SUBSTITUTION else [()]
    worst = 0.0
    for bound, release in zip(mechanism.look.grid, mechanism.releases, strict=True):
        assert isinstance(release, NoisyCounts)
        kept = [each[:bound] for each in owned]
        counted = {each: [int(item in each) for item in (0, 1)] for each in kept}
        scales = [*[release.scale(utility)] * 2, *[mechanism.look.scale(relation)] * 3]
        moves = set()
        for a, b in product(before, owned):
            counts = np.subtract(counted[a[:bound]], counted[b[:bound]]).tolist()
            people = [0, 0, 0]
            for sign, each in ((1, a), (-1, b)):
                if each:
                    people[len(each) - 1] += sign
            moves.add((*counts, *people))
        epsilon_seen = farthest(of_moves(scales, "laplace", _numbers(moves)), epsilon).epsilon
        worst = max(worst, epsilon_seen)
    return enumeration(
        "A bound from a look, and a release under it: between neighbours no output's "
        "log-probability moves by more than epsilon.",
        mechanism,
        relation,
        epsilon,
        worst,
        f"over all moves of a person with up to 2 items, under {len(mechanism.releases)} bounds",
    )


def _numbers(moves: set[tuple[int, ...]]) -> list[list[NDArray[np.int64]]]:
    """The moves that are any, a number at a time."""
    return [[np.array([by]) for by in move] for move in moves if any(move)]


def look_faithful(*, seed: int) -> Iterator[AuditResult]:
    """The numbers are those of the people, with noise of the stated law."""
    yield fidelity_of_look(made(), seed)


def fidelity_of_look(mechanism: PeopleLook, seed: int, factor: float = 1.0) -> AuditResult:
    """Many looks against the law of their noise, whose scale is ``factor`` times the stated."""
    relation, root = Relation.ADD_REMOVE, Tape.seeded(seed)
    truth = [5, 3, 2, 1]
    drawn = []
    for draw in range(_DRAWN):
        sealed = Sealed({1: 5, 2: 3, 3: 1, 4: 1, 8: 1}, "made-up people")
        key, _ = single_run(mechanism, relation, root.child(f"draw-{draw}"))
        drawn.append(np.subtract(mechanism.drawn(sealed, relation, key), truth))
    z = np.arange(-2000, 2001)
    mass = np.exp(-np.abs(z) / (float(mechanism.scale(relation)) * factor))
    expected = np.bincount(np.clip(z, -_WIDE, _WIDE) + _WIDE, mass / mass.sum(), 2 * _WIDE + 1)
    p_values = []
    for noise in np.array(drawn).T:
        cells = np.clip(noise, -_WIDE, _WIDE) + _WIDE
        observed = np.append(np.bincount(cells, minlength=2 * _WIDE + 1), 0)
        p_values.append(chi_square_p_value(observed, expected.astype(np.float64)))
    return fidelity_result(
        f"{mechanism.title}: every number has the exact discrete Laplace noise.",
        mechanism.name,
        mechanism.promise(relation).citation,
        min(1.0, len(truth) * min(p_values)),
        f"{_DRAWN} looks",
    )


def look_twins() -> Iterator[AuditResult]:
    """People in several numbers, a forgotten factor of two, and a look for nothing are caught."""
    several = enumerate_look(made(), Relation.ADD_REMOVE, in_every_number)
    yield as_twin("people are in the number of every bound they pass", "Enumeration", several)
    halved = enumerate_look(BrokenReplacement(1, _GRID), Relation.SUBSTITUTION)
    yield as_twin("a replaced person is taken to move one number", "Enumeration", halved)
    releases = tuple(NoisyCounts(1, 2, bound, True) for bound in (1, 2))
    free = BoundFromLook(PeopleLook(0.25, (1, 2)), releases, "counts")
    result = enumerate_chosen(free, Relation.ADD_REMOVE)
    yield as_twin("the look is not paid for", "Enumeration", result)
    unbounded = BoundFromLook(chosen().look, (NoisyCounts(0.75, 2, 1, True),) * 2, "counts")
    result = enumerate_chosen(unbounded, Relation.ADD_REMOVE)
    yield as_twin("noise is that of another bound", "Enumeration", result)
    yield as_twin("noise has half its scale", "Fidelity", fidelity_of_look(made(), 1, 2.0))
