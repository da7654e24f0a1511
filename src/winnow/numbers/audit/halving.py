"""Audits of quantiles by halving: the law written out, all tiny neighbours, and broken twins."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from itertools import combinations_with_replacement, product

import numpy as np

from winnow.audit.driver import enumeration
from winnow.audit.fidelity import chi_square_p_value, fidelity_result
from winnow.audit.result import AuditResult, as_twin
from winnow.core.relation import Relation
from winnow.core.tape import Tape
from winnow.numbers.crossing.segment import RankTarget, Segment, drawn
from winnow.numbers.mechanism import HalvingQuantiles
from winnow.numbers.tree import Node, QuantileTree

_TOLERANCE = 1e-9
Rows = tuple[int, ...]
"""The code of each row of a group, in ascending order."""
Law = dict[tuple[int, ...], float]


def made(tenths: tuple[int, ...], rows: int = 1, groups: int = 1) -> HalvingQuantiles:
    """Quantiles of three points, for an epsilon of 1 on each level."""
    tree = QuantileTree(tenths, 10)
    levels = Fraction(tree.levels)
    return HalvingQuantiles(levels, Fraction(1), tree, 3, rows, groups)


@dataclass(frozen=True)
class HalvingModel:
    """The exact law of the quantiles of one group, from the definition of the loss."""

    mechanism: HalvingQuantiles
    relation: Relation
    parts: int = 1
    """Into how many sub-positions ties are broken."""
    moved: Fraction | None = None
    """What stands in the place of U, where it is wrong on purpose."""
    low_end: bool = False

    def law(self, rows: Rows) -> Law:
        """The probability of every list of codes, over all sub-positions of the rows."""
        chances: Law = defaultdict(float)
        ties = list(product(range(self.parts), repeat=len(rows)))
        root, size = self.mechanism.tree.root, self.mechanism.size
        for parts in ties:
            y = tuple(code * self.parts + part for code, part in zip(rows, parts, strict=True))
            for codes, chance in self._lists(root, y, 0, size * self.parts).items():
                chances[codes] += chance / len(ties)
        return dict(chances)

    def point_law(self, node: Node, y: Rows, start: int, stop: int) -> dict[int, float]:
        """Of one quantile of the rows between two points: the sum over all points, as printed."""
        if stop <= start:
            return {start: 1.0}
        target = self.mechanism.target(node, self.relation, stop - start, low_end=self.low_end)
        rate = float(target.rate)
        if self.moved is not None:
            rate *= float(self.mechanism.unit(node, self.relation) / self.moved)
        wanted = float(node.share) * len(y) - (target.shift or 0)
        weights = {g: math.exp(-rate * _loss(g, y, wanted)) for g in range(start, stop)}
        if target.shift is not None:  # below everything
            weights[start] += math.exp(-rate * max(0.0, wanted))
        whole = math.fsum(weights.values())
        return {g: weight / whole for g, weight in weights.items()}

    def _lists(self, node: Node, y: Rows, start: int, stop: int) -> Law:
        chances: Law = defaultdict(float)
        if node.leaf:
            coarse = tuple(each // self.parts for each in y)
            first, last = start // self.parts, (stop - 1) // self.parts + 1
            return {(g,): p for g, p in self.point_law(node, coarse, first, last).items()}
        for g, chance in self.point_law(node, y, start, stop).items():
            left = self._side(node.before, tuple(each for each in y if each < g), start, g)
            right = self._side(node.after, tuple(each for each in y if each >= g), g, stop)
            for (below, p), (above, q) in product(left.items(), right.items()):
                chances[(*below, g // self.parts, *above)] += chance * p * q
        return dict(chances)

    def _side(self, node: Node | None, y: Rows, start: int, stop: int) -> Law:
        return {(): 1.0} if node is None else self._lists(node, y, start, stop)


def _loss(point: int, y: Rows, wanted: float) -> float:
    below = sum(each < point for each in y)
    until = sum(each <= point for each in y)
    return max(0.0, below - wanted, wanted - until)


def models() -> Iterator[tuple[HalvingModel, int]]:
    """Both relations, several rows of a person, groups, ties, the ends of intervals.

    Beside each how many rows its tables have at most: with 8, and a share of 0.7, the promise of
    one quantile is met exactly.
    """
    for relation in Relation:
        yield HalvingModel(made((7,)), relation), 8
        yield HalvingModel(made((7,), groups=2), relation), 6
        yield HalvingModel(made((5,), rows=2), relation), 3
        yield HalvingModel(made((2, 9)), relation), 5
        yield HalvingModel(made((1, 2, 9)), relation, parts=2), 3
        yield HalvingModel(made((4, 5), rows=2, groups=2), relation), 2
        with_ends = replace(made((3, 9)), level=Fraction(1, 2))
        yield HalvingModel(with_ends, relation, low_end=True), 5


def quantiles_enumerated(*, quick: bool = False) -> Iterator[AuditResult]:
    """No neighbours are told apart by the quantiles of all groups more than was charged."""
    for model, most in list(models())[:: 2 if quick else 1]:
        yield enumerate_quantiles(model, most)


def enumerate_quantiles(model: HalvingModel, most: int) -> AuditResult:
    """One result, in epsilon, over all tables of a few rows and all that one person can do.

    Given the quantiles of one group those of another have their own law, so what is told of
    neighbours adds up over the groups that differ.
    """
    mechanism, relation = model.mechanism, model.relation
    law = cache(model.law)

    @cache
    def told(one: Rows, other: Rows) -> tuple[float, float]:
        p, q = law(one), law(other)
        ratios = [math.log(p[each] / q[each]) for each in p]
        return min(ratios), max(ratios)

    claimed = float(mechanism.per_round) * mechanism.tree.levels
    worst, widest, pairs = 0.0, 0.0, 0
    places = list(product(range(mechanism.groups), range(mechanism.size)))
    for one, other in neighbours(places, mechanism.rows_per_person, relation, most):
        pairs += 1
        lows, highs = zip(
            *(told(_group(one, g), _group(other, g)) for g in range(mechanism.groups)), strict=True
        )
        worst = max(worst, -sum(lows), sum(highs))
        widest = max(widest, sum(highs) - sum(lows))
    one_level = mechanism.tree.levels == 1
    holds = worst <= claimed * (1 + _TOLERANCE)
    if one_level:  # the range of a composition is not charged as one
        holds = holds and widest <= claimed * (1 + _TOLERANCE)
    ends = ", ends of intervals" if model.low_end else ""
    return enumeration(
        f"Quantiles {'/'.join(str(part / 10) for part in mechanism.tree.parts)}{ends}: those of "
        "neighbours are as close as was charged.",
        mechanism,
        relation,
        claimed,
        widest if one_level else worst,
        f"over {pairs} pairs of neighbours",
        case=f", {mechanism.groups} groups, {mechanism.rows_per_person} rows",
        also=holds,
        tolerance=_TOLERANCE,
    )


Table = tuple[tuple[int, int], ...]


def _group(table: Table, group: int) -> Rows:
    return tuple(sorted(code for own, code in table if own == group))


def neighbours(
    places: list[tuple[int, int]], rows: int, relation: Relation, most: int
) -> Iterator[tuple[Table, Table]]:
    """Tables of the others' rows, with those of one person, and without or with other ones."""
    everybody = [
        own for size in range(rows + 1) for own in combinations_with_replacement(places, size)
    ]
    instead = [()] if relation is Relation.ADD_REMOVE else everybody
    for size in range(most):
        for others in combinations_with_replacement(places, size):
            for own, new in product(everybody, instead):
                if own != new:
                    yield (*others, *own), (*others, *new)


def quantiles_faithful(*, quick: bool = False, seed: int) -> Iterator[AuditResult]:
    """The sampler draws a point with its exact probability."""
    yield faithful_points(2_000 if quick else 6_000, seed)


def faithful_points(draws: int, seed: int, factor: float = 1.0) -> AuditResult:
    """One quantile of a few rows with ties and gaps, against a law of ``factor`` times its rate."""
    mechanism, rows, size = made((3,)), (2, 2, 2, 5, 9), 12
    model = replace(
        HalvingModel(mechanism, Relation.ADD_REMOVE),
        moved=mechanism.unit(mechanism.tree.root, Relation.ADD_REMOVE) / Fraction(factor),
    )
    root, tape = mechanism.tree.root, Tape.seeded(seed)
    target: RankTarget = mechanism.target(root, Relation.ADD_REMOVE, size, low_end=False)
    segment = Segment(np.array(rows, np.int64), 0, size)
    points = [drawn(segment, target, tape.child(str(draw))) for draw in range(draws)]
    law = model.point_law(root, rows, 0, size)
    observed = np.append(np.bincount(points, minlength=size), 0)
    p_value = chi_square_p_value(observed, np.array([law[g] for g in range(size)]))
    return fidelity_result(
        "Quantiles: the sampler draws every point with its exact probability.",
        mechanism.name,
        mechanism.promise(Relation.ADD_REMOVE).citation,
        p_value,
        f"{draws} draws",
        relation=str(Relation.ADD_REMOVE),
    )


def quantiles_twins(*, quick: bool = False, seed: int) -> Iterator[AuditResult]:
    """Wrong sensitivities and a wrong rate are caught."""
    several = HalvingModel(made((5,), rows=2), Relation.ADD_REMOVE)
    twins = [
        (
            "rows that change their group are counted once",
            HalvingModel(made((7,), groups=2), Relation.SUBSTITUTION, moved=Fraction(1)),
            6,
        ),
        (
            "a row far from the median moves the loss by a half only",
            HalvingModel(made((7,)), Relation.ADD_REMOVE, moved=Fraction(1, 2)),
            8,
        ),
        ("a second row is forgotten", replace(several, moved=Fraction(1, 2)), 3),
    ]
    for fault, model, most in twins[: 2 if quick else 3]:
        yield as_twin(fault, "Enumeration", enumerate_quantiles(model, most))
    broken = faithful_points(2_000 if quick else 6_000, seed, factor=1.5)
    yield as_twin("a quantile is drawn with another rate", "Fidelity", broken)
