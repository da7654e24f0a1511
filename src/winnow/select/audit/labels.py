"""Audits of labels that nobody listed: exact laws of neighbours, fidelity, and broken twins.

Neighbours are people with sets of labels. What a release tells of a label is its noisy weight, in
cells above the threshold, so that the law of all labels together is a product.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import combinations, product

import numpy as np
from numpy.typing import NDArray

from winnow.audit.driver import largest
from winnow.audit.fidelity import chi_square_p_value, fidelity_result
from winnow.audit.numerics import gaussian_upper_tail
from winnow.audit.result import AuditResult, as_twin
from winnow.core.plan import plan_of
from winnow.core.relation import Relation
from winnow.core.run import single_run
from winnow.core.spread import weight
from winnow.core.tape import Tape
from winnow.core.utility import Utility
from winnow.privacy import Truncated
from winnow.select.audit.listed_people import (
    BrokenChosenAnew,
    BrokenWholeWeight,
    Group,
    ListedPeople,
    Owned,
    counts_of,
)
from winnow.select.audit.optimal_rule import (
    BrokenGrowth,
    enumerate_rule,
    fidelity_of_rule,
    rule,
    stick,
)
from winnow.select.crossing.private_labels import EVERY
from winnow.select.mechanisms.optimal_rule import OptimalRule
from winnow.select.mechanisms.truncated_laplace import TruncatedLaplace
from winnow.select.mechanisms.weighted_gaussian import WeightedGaussian, least_passing

Floats = NDArray[np.float64]

_LABELS = "abc"
SETS: tuple[Owned, ...] = tuple(
    labels for size in (1, 2, 3) for labels in combinations(_LABELS, size)
)
_STAYS, _RELEASED = 1, 2
"""What the first of two rounds may say of a label, beside 0: nothing."""
_CELLS = 6
"""Of noisy weights from the threshold on, each half a deviation wide; the last has no end."""
_TOLERANCE = 1e-9
_DRAWN = 600


def law(mechanism: WeightedGaussian, people: ListedPeople, relation: Relation) -> Floats:
    """The chance of every output: in one round cells of each label, in two sets of labels."""
    if mechanism.peel:
        return law_of_one(mechanism, people, relation)
    if mechanism.rounds == 1:
        return _product(_cells(mechanism, people, relation, 0, _CELLS))
    chances = np.zeros((8, 8))
    first = _cells(mechanism, people, relation, 0, 1)
    for outcome in product(range(3), repeat=3):
        chance = math.prod(float(first[i, what]) for i, what in enumerate(outcome))
        if not chance:  # labels that nobody has neither stay nor leave
            continue
        stay = [label for label, what in zip(_LABELS, outcome, strict=True) if what == _STAYS]
        released = sum((what == _RELEASED) << (2 - i) for i, what in enumerate(outcome))
        chances[released] += chance * _product(_cells(mechanism, people, relation, 1, 1, stay))
    return chances.ravel()


def law_of_one(mechanism: WeightedGaussian, people: ListedPeople, relation: Relation) -> Floats:
    """The chance of each label, and of none, to be the one that is peeled."""
    cells, chances = _cells(mechanism, people, relation, 0, 1), np.zeros(4)
    counts = Counter(label for owned in people.people for label in owned)
    width = float(Utility.declare(1, monotone=True, relation=relation).width)
    factor = mechanism.epsilon_of_round(relation) / width
    for released in product((0, 1), repeat=3):
        chance = math.prod(float(cells[i, passed]) for i, passed in enumerate(released))
        if not any(released):
            chances[3] += chance
            continue
        logits = np.array([counts[label] * factor for label in _LABELS])
        weights = np.where(np.array(released) == 1, np.exp(logits - logits.max()), 0.0)
        chances[:3] += chance * weights / weights.sum()
    return chances


def _cells(
    mechanism: WeightedGaussian,
    people: ListedPeople,
    relation: Relation,
    number: int,
    cells: int,
    within: Sequence[str] | None = None,
) -> Floats:
    """Of each label the chance that nothing is told of it, and those of its cells.

    In the first of two rounds the first cell is that of labels that stay for the second.
    """
    summed = people.summed(mechanism.max_items or 1, within)
    values = np.asarray(summed.values)
    weights = dict(zip(summed.items, values.tolist(), strict=True))
    variance = mechanism.variance(relation, number)
    edges = mechanism.threshold(relation, number) + (math.isqrt(variance) // 2) * np.arange(cells)
    if number == 0 and mechanism.rounds == 2:
        edges = np.concatenate([[mechanism.staying(relation)], edges])
    chances = np.zeros((3, len(edges) + 1))
    for place, label in enumerate(_LABELS):
        tails = np.zeros(len(edges))
        if label in weights:
            tails = gaussian_upper_tail(float(variance), edges - weights[label])
        chances[place] = -np.diff(np.concatenate([[1.0], tails, [0.0]]))
    return chances


def _product(cells: Floats) -> Floats:
    return np.asarray(np.einsum("i,j,k->ijk", *cells).ravel(), np.float64)


def pairs(relation: Relation, crowd: int = 1) -> Iterator[tuple[Group, Group]]:
    """Groups of up to two others (each ``crowd`` times), and one person more, or another one."""
    others = [(), *((one,) for one in SETS), *combinations(SETS, 2)]
    for few in others:
        group: Group = few * crowd
        for new in SETS:
            if relation is Relation.ADD_REMOVE:
                yield group, (*group, new)
                continue
            for old in SETS:
                if old < new:
                    yield (*group, old), (*group, new)


def enumerate_weighted(
    mechanism: WeightedGaussian,
    relation: Relation,
    kind: type[ListedPeople] = ListedPeople,
    crowd: int = 1,
) -> AuditResult:
    """One result: the largest hockey-stick divergence of neighbours at epsilon."""
    known = dict[Group, Floats]()
    epsilon, delta = float(mechanism.epsilon), float(mechanism.delta)

    def of(group: Group) -> Floats:
        if group not in known:
            known[group] = law(mechanism, kind(group), relation)
        return known[group]

    return largest(
        f"Weighted labels of up to {2 * crowd} people and one more: at epsilon={epsilon:g} "
        "neighbours differ by no more than delta.",
        mechanism,
        relation,
        delta,
        (stick(of(one), of(other), epsilon) for one, other in pairs(relation, crowd)),
        "over {} pairs of groups of people",
        tolerance=_TOLERANCE,
    )


def enumerate_threshold(mechanism: WeightedGaussian, relation: Relation) -> AuditResult:
    """How often a label leaves which one person alone has, however many of these there are."""
    event, most = mechanism.promise(relation).event, mechanism.max_items or 1
    assert isinstance(event, Truncated)

    def passing(labels: int) -> float:
        each, lost = weight(labels if mechanism.spread else most), 0.0
        for number in range(mechanism.rounds):
            edges = [mechanism.threshold(relation, number)]
            if number < mechanism.rounds - 1:  # given that it stays: so the proof asks
                edges.append(mechanism.staying(relation))
            variance = float(mechanism.variance(relation, number))
            tails = gaussian_upper_tail(variance, np.array(edges) - each)
            lost += labels * float(tails[0] / (tails[1] if len(tails) > 1 else 1.0))
        return lost

    return largest(
        "Weighted labels: what one person alone has is found no more often than is charged.",
        mechanism,
        relation,
        float(event.delta),
        map(passing, range(1, most + 1)),
        "by sums over the discrete Gaussian law, for 1 to {} labels",
        tolerance=0.0,
    )


def weighted(rounds: int = 1) -> WeightedGaussian:
    """What is enumerated: so large a delta that three labels are often released."""
    return WeightedGaussian(1.5, 0.2, EVERY, 3, spread=True, rounds=rounds)


def two_rounds_of_one() -> WeightedGaussian:
    """People who have more labels than stay: one of up to three."""
    return WeightedGaussian(3.0, 1e-6, EVERY, 1, spread=True, rounds=2)


def peeled() -> WeightedGaussian:
    """One label, by weights and then by how many people have it."""
    return WeightedGaussian(1.5, 0.2, 1, 3, spread=True, peel=Fraction(1, 2))


def labels_enumerated(*, quick: bool = False) -> Iterator[AuditResult]:
    """Neighbours, thresholds, and the rule."""
    for relation in Relation:
        for rounds in (1, 2):
            yield enumerate_weighted(weighted(rounds), relation)
        yield enumerate_weighted(two_rounds_of_one(), relation, crowd=40)
        for crowd in (1, 6):
            yield enumerate_weighted(peeled(), relation, crowd=crowd)
        yield enumerate_sensitivity(weighted(), relation)
        for most in (1, 3, 100):
            for spread in (True, False):
                made = WeightedGaussian(1.0, 1e-6, EVERY, most, spread=spread)
                yield enumerate_threshold(made, relation)
        yield enumerate_threshold(
            WeightedGaussian(1.0, 1e-6, EVERY, 20, spread=True, rounds=2), relation
        )
        yield enumerate_rule(rule(), relation)
        if not quick:
            yield enumerate_rule(OptimalRule(0.3, 1e-6, EVERY), relation)


_DRAWN_FROM: Group = (("a",), ("a", "b"), ("a", "b", "c"), ("b",), ("a", "c"), ("a",), ("a", "b"))


def sets_of(mechanism: WeightedGaussian, seed: int, draws: int) -> NDArray[np.int64]:
    """How often each set of labels was released by the mechanism itself."""
    relation, root = Relation.ADD_REMOVE, Tape.seeded(seed)
    plan, tallies = plan_of(mechanism, relation), np.zeros(9, np.int64)
    counts = mechanism.ready(counts_of(_DRAWN_FROM, relation))
    for draw in range(draws):
        key, _ = single_run(mechanism, relation, root.child(f"draw-{draw}"))
        released = plan.draw(counts, key)
        tallies[sum(1 << _LABELS.index(label) for label in released)] += 1
    return tallies


def fidelity_of_weighted(
    mechanism: WeightedGaussian, seed: int, drawn: WeightedGaussian | None = None
) -> AuditResult:
    """Sets of released labels against their exact law; ``drawn`` is what draws."""
    exact = _of_sets(mechanism)
    tallies = sets_of(drawn or mechanism, seed, _DRAWN)
    return fidelity_result(
        "Weighted labels: sets of labels are released with their exact chances.",
        mechanism.name,
        mechanism.promise(Relation.ADD_REMOVE).citation,
        chi_square_p_value(tallies, exact),
        f"{_DRAWN} draws",
    )


def _of_sets(mechanism: WeightedGaussian) -> Floats:
    """The chance of each set, whichever round finds what."""
    people, relation = ListedPeople(_DRAWN_FROM), Relation.ADD_REMOVE
    chances = np.zeros(8)
    if mechanism.peel:
        chances[[1, 2, 4, 0]] = law_of_one(mechanism, people, relation)
        return chances
    if mechanism.rounds == 2:
        by_rounds = law(mechanism, people, relation).reshape(8, 8)
        for first, second in product(range(8), repeat=2):
            chances[_reversed(first) | _reversed(second)] += by_rounds[first, second]
        return chances
    cells = _cells(mechanism, people, relation, 0, 1)
    for place, released in enumerate(product((0, 1), repeat=3)):
        chances[_reversed(place)] += math.prod(
            cells[i, passed] for i, passed in enumerate(released)
        )
    return chances


def _reversed(place: int) -> int:
    """The set of a place in a product, as bits from the first label on."""
    return sum(1 << i for i in range(3) if place >> (2 - i) & 1)


def labels_faithful(*, seed: int) -> Iterator[AuditResult]:
    """What is drawn has the law that was enumerated."""
    for rounds in (1, 2):
        yield fidelity_of_weighted(weighted(rounds), seed)
    yield fidelity_of_weighted(peeled(), seed)
    yield fidelity_of_rule(seed)


class BrokenOneLabel(WeightedGaussian):
    """BROKEN: the threshold is that of a person who has one label."""

    def threshold(self, relation: Relation, number: int = 0) -> int:
        """For one new label."""
        lost = float(self.delta) / (2 * self.rounds)
        return least_passing(self.variance(relation, number), lost, 1, spread=True)


class BrokenFreeStay(WeightedGaussian):
    """BROKEN: the first threshold is that of a round after which no label stays."""

    def threshold(self, relation: Relation, number: int = 0) -> int:
        """The threshold of a last round, whatever is learned from which labels stay."""
        if self._last(number):
            return super().threshold(relation, number)
        lost = float(self.delta) / 2 * float(self._share(number))
        most = self.max_items or 1
        return least_passing(self.variance(relation, number), lost, most, spread=True)


class BrokenTrueStay(WeightedGaussian):
    """BROKEN: almost no noise decides which labels stay for the second round."""

    def variance(self, relation: Relation, number: int = 0) -> int:
        """A hundredth of the deviation in the first round."""
        variance = super().variance(relation, number)
        return variance if self._last(number) else variance // 10_000


class BrokenEarlyEdge(TruncatedLaplace):
    """BROKEN: noise ends, and labels leave, one count too early."""

    def edge(self, utility: Utility) -> int:
        """Off by one."""
        return super().edge(utility) - 1


class BrokenAdded(WeightedGaussian):
    """BROKEN: a person who is replaced is taken to move the weights as one who is added."""

    def variance(self, relation: Relation, number: int = 0) -> int:
        """Without the factor for two people."""
        return super().variance(Relation.ADD_REMOVE, number)


class BrokenQuietWeights(WeightedGaussian):
    """BROKEN: the noise has half its variance."""

    def variance(self, relation: Relation, number: int = 0) -> int:
        """A half."""
        return super().variance(relation, number) // 2


class BrokenUnpaidPeeling(WeightedGaussian):
    """BROKEN: a round of peeling spends far more than its share."""

    def epsilon_of_round(self, relation: Relation) -> Fraction:
        """Twelve times as much."""
        return 12 * super().epsilon_of_round(relation)


def labels_twins() -> Iterator[AuditResult]:
    """Weights that are not spread, too little noise, a low threshold, and too quick a rule."""
    added, made = Relation.ADD_REMOVE, weighted()
    whole = enumerate_weighted(made, added, BrokenWholeWeight)
    yield as_twin("everybody adds a whole weight to each label", "Enumeration", whole)
    dear = BrokenUnpaidPeeling(1.5, 0.2, 1, 3, spread=True, peel=Fraction(1, 2))
    yield as_twin(
        "peeling is not paid for", "Enumeration", enumerate_weighted(dear, added, crowd=6)
    )
    true = BrokenTrueStay(1.5, 0.2, EVERY, 3, spread=True, rounds=2)
    yield as_twin("what stays is not private", "Enumeration", enumerate_weighted(true, added))
    anew = enumerate_weighted(two_rounds_of_one(), added, BrokenChosenAnew, crowd=40)
    yield as_twin("the labels of a person are chosen anew", "Enumeration", anew)
    free = BrokenFreeStay(1.0, 1e-6, EVERY, 20, spread=True, rounds=2)
    yield as_twin("what stays is not paid for", "Enumeration", enumerate_threshold(free, added))
    low = BrokenOneLabel(1.0, 1e-6, EVERY, 100, spread=True)
    yield as_twin("the threshold is for one label", "Enumeration", enumerate_threshold(low, added))
    replaced = BrokenAdded(1.0, 1e-6, EVERY, 3, spread=True)
    result = enumerate_sensitivity(replaced, Relation.SUBSTITUTION)
    yield as_twin("a replaced person is taken for an added one", "Enumeration", result)
    half = BrokenQuietWeights(made.epsilon, made.delta, EVERY, 3, spread=True)
    yield as_twin("noise is too small", "Fidelity", fidelity_of_weighted(made, 1, half))
    growth = BrokenGrowth(1.0, 1e-3, EVERY)
    yield as_twin("the rule grows too quickly", "Enumeration", enumerate_rule(growth, added))
    yield as_twin("the rule is another one", "Fidelity", fidelity_of_rule(1, 1.3))


def enumerate_sensitivity(mechanism: WeightedGaussian, relation: Relation) -> AuditResult:
    """The squared distance of the weights of neighbours over the variance, against the charge."""

    def told(one: Group, other: Group) -> float:
        sums = [
            dict(zip(each.items, np.asarray(each.values).tolist(), strict=True))
            for each in (
                ListedPeople(group).summed(mechanism.max_items or 1) for group in (one, other)
            )
        ]
        moved = sum((sums[0].get(x, 0) - sums[1].get(x, 0)) ** 2 for x in _LABELS)
        return float(moved / mechanism.variance(relation))

    return largest(
        "Weighted labels: the squared distance over the variance stays within what was charged.",
        mechanism,
        relation,
        float(mechanism.calibrated(relation).parameter),
        (told(one, other) for one, other in pairs(relation)),
        "over {} pairs of groups of up to three people",
        tolerance=_TOLERANCE,
    )
