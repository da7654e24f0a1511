"""Audits of lists for each group: exact laws of neighbours, fidelity, and broken twins."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import combinations, combinations_with_replacement, product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from winnow.audit.driver import largest
from winnow.audit.fidelity import chi_square_p_value, fidelity_result
from winnow.audit.result import AuditResult, as_twin
from winnow.core.laws import Law
from winnow.core.plan import plan_of
from winnow.core.relation import Relation
from winnow.core.run import single_run
from winnow.core.sealed import Sealed
from winnow.core.tape import Tape
from winnow.core.utility import Utility
from winnow.privacy import guarantee_of
from winnow.read.counts import SealedCounts
from winnow.read.groups import Groups
from winnow.select.crossing.groups import EachGroup
from winnow.select.mechanisms.lipschitz import LipschitzMechanism

Pair = tuple[str, str]
Owned = tuple[Pair, ...]
"""The items of a person, each with its group."""
Floats = NDArray[np.float64]

_GROUPS, _ITEMS = ("x", "y"), ("a", "b")
PAIRS: tuple[Pair, ...] = tuple(product(_GROUPS, _ITEMS))
_DRAWN, _TOLERANCE = 600, 1e-9


def owners(most_groups: int) -> tuple[Owned, ...]:
    """Everybody who is in so many groups at most, somebody with nothing first."""
    every = (owned for size in range(5) for owned in combinations(PAIRS, size))
    return tuple(owned for owned in every if len({group for group, _ in owned}) <= most_groups)


def one_of_each(epsilon: Fraction, touched: int) -> EachGroup:
    """One item of each of two groups, by Gumbel noise."""
    inner = LipschitzMechanism(epsilon / touched, Law.GUMBEL, 1)
    return EachGroup(inner, 1, Groups("group", names=_GROUPS), touched)


def sealed_pairs(people: Sequence[Owned], relation: Relation) -> SealedCounts:
    """How many people have each item of each group, sealed."""
    values = np.array([sum(pair in owned for owned in people) for pair in PAIRS], np.int64)
    utility = Utility.declare(1, monotone=True, relation=relation)
    return SealedCounts(
        Sealed(values, "counts"), list(PAIRS), utility, groups=Groups("group", names=_GROUPS)
    )


def law(mechanism: EachGroup, people: Sequence[Owned], relation: Relation) -> Floats:
    """The chance of each pair of items: the product of two exponential mechanisms."""
    assert isinstance(mechanism.inner, LipschitzMechanism)
    utility = Utility.declare(1, monotone=True, relation=relation)
    factor = float(mechanism.inner.scale(utility))
    parts = []
    for group in _GROUPS:
        counts = np.array([sum((group, item) in own for own in people) for item in _ITEMS])
        weights = np.exp(factor * (counts - counts.max()))
        parts.append(weights / weights.sum())
    return np.asarray(np.outer(*parts).ravel(), np.float64)


def enumerate_groups(mechanism: EachGroup, relation: Relation, in_groups: int) -> AuditResult:
    """The largest log-ratio of neighbours, of people who are in so many groups at most."""
    everybody = owners(in_groups)
    claimed = guarantee_of(mechanism.promise(relation).event).epsilon
    crowds = [(), *((one,) for one in everybody), *combinations_with_replacement(everybody[1:5], 2)]
    before = everybody if relation is Relation.SUBSTITUTION else everybody[:1]

    def told() -> Iterator[float]:
        for crowd, old, new in product(crowds, before, everybody):
            one, other = (law(mechanism, [*crowd, people], relation) for people in (old, new))
            yield float(np.abs(np.log(one / other)).max())

    return largest(
        f"Lists of groups, people in at most {in_groups}: neighbours differ by no more than "
        "epsilon.",
        mechanism,
        relation,
        claimed,
        told(),
        "over {} pairs of groups of people",
        tolerance=_TOLERANCE,
    )


def fidelity_of_groups(mechanism: EachGroup, seed: int, drawn: EachGroup) -> AuditResult:
    """Lists of both groups together against their exact law; ``drawn`` is what draws."""
    relation, tallies = Relation.ADD_REMOVE, np.zeros(5, np.int64)
    people: list[Owned] = [(PAIRS[0],), (PAIRS[0], PAIRS[1]), (PAIRS[3],), (PAIRS[0], PAIRS[3])]
    counts, plan = sealed_pairs(people, relation), plan_of(drawn, relation)
    for place in range(_DRAWN):
        key, _ = single_run(drawn, relation, Tape.seeded(seed).child(f"draw-{place}"))
        lists = plan.draw(counts, key)
        chosen = [_ITEMS.index(lists[group][0]) for group in _GROUPS]
        tallies[2 * chosen[0] + chosen[1]] += 1
    return fidelity_result(
        "Lists of groups: those of all groups together have the product of exact laws.",
        mechanism.name,
        mechanism.promise(relation).citation,
        chi_square_p_value(tallies, law(mechanism, people, relation)),
        f"{_DRAWN} draws",
    )


class BrokenSharedNoise(EachGroup):
    """BROKEN: all groups are drawn with the same noise."""

    def drawn(self, counts: SealedCounts, key: Any) -> Any:
        """From one child of the tape, whatever the group is called."""
        same: Any = _SameChild(key)
        return super().drawn(counts, same)


class _SameChild:
    """A key whose children draw alike."""

    def __init__(self, key: Any) -> None:
        self._key, self._places = key, 0

    def child(self, label: str) -> Any:
        """The child of one label; its tape would be spent after a first draw."""
        return self._key.child("every group")


def groups_audited(*, seed: int) -> Iterator[AuditResult]:
    """Neighbours in one group and in two, and the law that is drawn."""
    for relation in Relation:
        for touched in (1, 2):
            yield enumerate_groups(one_of_each(Fraction(1), touched), relation, touched)
    made = one_of_each(Fraction(1), 2)
    yield fidelity_of_groups(made, seed, made)


def groups_twins() -> Iterator[AuditResult]:
    """A person in two groups is charged for one; all groups have one noise."""
    free = enumerate_groups(one_of_each(Fraction(1), 1), Relation.ADD_REMOVE, 2)
    yield as_twin("a person in two groups is charged for one", "Enumeration", free)
    made = one_of_each(Fraction(1), 2)
    same = BrokenSharedNoise(made.inner, 1, made.groups, 2)
    yield as_twin("all groups have one noise", "Fidelity", fidelity_of_groups(made, 1, same))
