"""Every mechanism, with data of neighbours, how it is run, and what it has to refuse.

Mechanisms with a word come from the methods, and from the table of mechanisms. Those without
one are listed here: a class that is in neither fails ``test_mechanisms.py``, which names it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import numpy as np

import winnow as wn
from reference.inside import Law, Rows, group
from reference.mechanisms import AboveThreshold, Joint, NoisyCounts, NoisyTopWithLeads, SparseVector
from reference.releasing import flat_release
from reference.running import OpenedRun, plan_of, redeem, released, spent
from winnow import (
    IndexedExponential,
    Relation,
    Sealed,
    SealedCounts,
    SlackExponential,
    Utility,
    seal_vectors,
)
from winnow.ask.independent_answers import IndependentAnswers
from winnow.ask.mechanism import WeightsRounds
from winnow.ask.questions import Question
from winnow.describe.request import Describe
from winnow.inner_product.rounds import IndexedRounds, RepeatedSelection
from winnow.inner_product.vectors import query_of
from winnow.itemsets.audit.weighted import or_canonical, or_selected
from winnow.itemsets.crossing import FrequentItemsets
from winnow.itemsets.mechanisms.weighted import WeightedCounts
from winnow.learn.about import labelled as about_rows
from winnow.learn.crossing.additive import AdditiveModel
from winnow.learn.crossing.balanced import BalancedRule
from winnow.learn.crossing.boosted import BoostedRules
from winnow.learn.crossing.either import EitherModel
from winnow.learn.crossing.rows import LabelledRows, SealedLabelled
from winnow.learn.labelled import labelled as labelled_rows
from winnow.learn.methods import OneRule
from winnow.learn.request import Learn
from winnow.learn.rules import rules_over
from winnow.lp.crossing.rows import seal_offsets, seal_rows
from winnow.lp.kernels.scalar_program import ConstraintRows
from winnow.lp.mechanisms.constraint import ConstraintPrivateLp
from winnow.lp.mechanisms.scalar import ScalarPrivateLp
from winnow.mechanisms import CLASSES, ITEMSETS, TABLE, MechanismRow, row_named
from winnow.numbers.bounds.edges import sides_of
from winnow.numbers.bounds.mechanism import TailEdges
from winnow.numbers.histogram.request import Histogram
from winnow.numbers.joint import JointQuantiles
from winnow.numbers.mechanism import HalvingQuantiles
from winnow.numbers.methods import Cumulative
from winnow.numbers.moments.audit import column as valued
from winnow.numbers.moments.audit import made as made_sums
from winnow.numbers.moments.bounded import BoundedSums
from winnow.numbers.moments.measured import all_rows, first
from winnow.numbers.regress.audit import made as made_products
from winnow.numbers.regress.design import designed
from winnow.numbers.request import Quantiles
from winnow.numbers.tree import QuantileTree
from winnow.read.groups import pair_text
from winnow.read.people import PersonBound
from winnow.release.matrices.mechanism import MeasureLinear
from winnow.release.matrices.strategies import MatrixStrategy, QueriesStrategy, ToeplitzStrategy
from winnow.release.rounds.crossing.lazy_selection import LazyExponential
from winnow.release.rounds.crossing.rounds import SelectAndMeasure
from winnow.release.rounds.crossing.run_parts import Task
from winnow.release.rounds.kernels.distribution import uniform_distribution
from winnow.release.rounds.mechanism import MeasureMarginals
from winnow.release.tables.measured import NoisyForm, TableForm
from winnow.release.tables.mechanism import MeasureTables
from winnow.release.tables.trees import flat
from winnow.select.audit.listed_people import counts_of
from winnow.select.audit.looked import made as looked
from winnow.select.crossing.groups import EachGroup, OverPairs
from winnow.select.crossing.private_labels import EVERY
from winnow.select.crossing.selection import FromClasses, SparseVectorStream
from winnow.select.label_methods import OF_LABELS
from winnow.select.mechanisms.cut_away import MeasureCut, WithCut
from winnow.select.mechanisms.noisy_counts import WithCounts
from winnow.select.mechanisms.people_look import PeopleLook
from winnow.select.mechanisms.repeated import Repeated
from winnow.select.methods import OF_SCORES, Sizes
from winnow.select.top_k_methods import OF_LISTS, PrivateLabelsMethod

HUGE = 10**30
"""Noise of this size does not fit 64 bits."""
SECRET = 41_729
"""A private number that must not be seen anywhere; that of the neighbour is one less."""
Run = Callable[[Any, Any, Any, Any], Any]


@dataclass(frozen=True)
class Subject:
    """A mechanism under the contract."""

    name: str
    mechanism: Any
    data: Callable[..., Any]
    """Sealed data: ``data(0)`` and ``data(1)`` are neighbours; ``relation`` if it is declared."""
    run: Run
    """(mechanism, data, grant, tape): all of a draw. Returns what has the receipt."""
    refused: tuple[tuple[Any, Any], ...]
    """Mechanisms with data that they have to refuse."""
    state: Callable[[Any], Any] = field(default=lambda result: None)
    """What is left open after a run, where something is."""
    event: Callable[[Relation], Any] | None = None
    covers: tuple[type, ...] = ()
    """Parts of it that are charged by it, and never alone."""
    looks: bool = False
    """Whether it looks at the scores before the charge: to refuse those that are not whole, or
    not on the grid that their sensitivity declares. It may tell nothing else."""

    @property
    def parts(self) -> tuple[Any, ...]:
        """The mechanism, and the one inside it, and the one inside that."""
        found = [self.mechanism]
        for name in ("selection", "inner"):
            inside = getattr(found[-1], name, None)
            found += [inside] if hasattr(inside, "promise") else []
        return tuple(found)

    def charged(self, relation: Relation) -> Any:
        """The event of a run."""
        return (self.event or (lambda r: self.mechanism.promise(r).event))(relation)

    def __str__(self) -> str:
        return self.name


def _released(mechanism: Any, data: Any, grant: Any, tape: Any) -> Any:
    private, *public = data if isinstance(data, tuple) else (data,)
    return released(mechanism, private, grant, tape, *public)


# --- those with a word ---

ASKED: dict[str, Any] = {
    "epsilon": Fraction(1, 5), "delta": Fraction(1, 20), "k": 2, "noise": Law.GUMBEL,
    "thresholds": "tight", "gamma": Fraction(1, 2), "rounded": False, "accountant": "best",
    "one_item": False,
    "max_items": 2, "with_counts": False, "reach": None, "moved": 3, "growth": 3,
    "private": False,
}  # fmt: skip


def scores(turn: int = 0, relation: Relation = Relation.ADD_REMOVE, sensitivity: Any = 1) -> Any:
    utility = Utility.declare(sensitivity, monotone=True, relation=relation)
    return wn.seal_scores({"a": SECRET - turn, "b": 7, "c": 3}, utility)


def labels(turn: int = 0, relation: Relation = Relation.ADD_REMOVE, sensitivity: Any = 1) -> Any:
    utility = Utility.declare(sensitivity, monotone=True, relation=relation)
    counts = np.array([SECRET - turn, 7, 3], np.int64)
    return SealedCounts(Sealed(counts, "counts"), Sealed(["a", "b", "c"], "labels"), utility, 2)


def baskets(
    turn: int = 0, relation: Relation = Relation.ADD_REMOVE, items: Any = ("a", "b", "c")
) -> Any:
    rows = [["a", "b"]] * (9 - turn) + [["b", "c"], ["a"]]
    public = None if items is None else list(items)
    return wn.read_baskets(rows, unit="basket", max_items=2, items=public, relation=relation)


def classes(turn: int = 0, relation: Relation = Relation.ADD_REMOVE, lowest: int = 0) -> Any:
    given = [(SECRET - turn, ["a"]), (7, ["b", "c"]), (0, 97, lambda uniform: uniform.below(97))]
    return wn.classes(given, total=100, lowest=lowest, monotone=True, relation=relation)


def _with_a_word(row: MechanismRow) -> Subject:
    name = f"{row.verb} {row.word}"
    built = row.build(ASKED)
    if row.verb == ITEMSETS:
        mechanism = FrequentItemsets(built, 1, built.k if hasattr(built, "k") else 1)
        too_large = FrequentItemsets(built, 3)
        return Subject(name, mechanism, baskets, _released, ((too_large, baskets()),))
    assert row.verb == CLASSES
    tiny = row.build(ASKED | {"epsilon": Fraction(1, 10**290), "noise": Law.GUMBEL})
    wrong = (FromClasses(tiny), classes(lowest=0))
    if built.counts_people:
        wrong = (FromClasses(built), classes(lowest=-1))
    return Subject(name, FromClasses(built), classes, _released, (wrong,))


SIZES = Sizes(epsilon=Fraction(1, 5), delta=Fraction(1, 20), k=2)
LOOKING = (wn.Joint, wn.Canonical, wn.Laplace, wn.Gaussian)
"""Methods whose mechanisms look at scores before the charge."""


def people_of_labels(
    turn: int = 0, relation: Relation = Relation.ADD_REMOVE, sensitivity: Any = 1
) -> Any:
    people = (*(("a",),) * (SECRET // 1000 - turn), ("a", "b"), ("b", "c"))
    counts = counts_of(people, relation)
    utility = Utility.declare(sensitivity, monotone=True, relation=relation)
    return replace(counts, utility=utility)


def about_labels() -> Any:
    return wn.plan.counts(labels="log", max_items=2)


def of_a_method(method: Any, *, looks: bool = False) -> Subject:
    """The mechanism that a method of selection or of top k builds, under the contract."""
    about = wn.plan.counts(max_items=2)
    if isinstance(method, OF_LABELS):
        most = 1 if isinstance(method, wn.OptimalRule) else 2
        sizes = replace(SIZES, k=EVERY)
        counted = wn.plan.counts(labels="private", max_items=most)
        built: Any = method.among_private(counted, sizes)
        data: Callable[..., Any] = labels
    elif isinstance(method, PrivateLabelsMethod):
        built = method.among_private(about, SIZES)
        data = labels
    else:
        sizes = replace(SIZES, k=1) if isinstance(method, wn.LargeMargin) else SIZES
        built, data = method.mechanism(about, sizes), scores
    refused = ((built, data(sensitivity=10**290)),)
    return Subject(f"method {method.word()}", built, data, _released, refused, looks=looks)


def _of_methods() -> Iterator[Subject]:
    for kind in (*OF_SCORES, *OF_LISTS, wn.LimitedDomain, wn.Stability, *OF_LABELS):
        method = kind(noise="gumbel") if kind is wn.Lipschitz else kind()
        yield of_a_method(method, looks=kind in LOOKING)
    peeled = wn.WeightedGaussian(peel=0.5).among_private(about_labels(), SIZES)
    refused = ((peeled, people_of_labels(sensitivity=10**290)), (peeled, labels()))
    yield Subject("method weighted-gaussian, peeled", peeled, people_of_labels, _released, refused)
    for rounds in (1, 2):
        spread = wn.WeightedGaussian(rounds=rounds)
        made = spread.among_private(about_labels(), replace(SIZES, k=EVERY))
        refused = ((made, people_of_labels(sensitivity=10**290)), (made, labels()))
        name = f"method weighted-gaussian of a log, {rounds}"
        yield Subject(name, made, people_of_labels, _released, refused)


# --- those without ---

COUNTRIES = wn.Groups("country", names=("x", "y"))


def paired(turn: int = 0, relation: Relation = Relation.ADD_REMOVE, sensitivity: Any = 1) -> Any:
    utility = Utility.declare(sensitivity, monotone=True, relation=relation)
    counts = Sealed(np.array([SECRET - turn, 7, 3, 5], np.int64), "counts")
    pairs = [(country, item) for country in "xy" for item in "ab"]
    return SealedCounts(counts, pairs, utility, 2, groups=COUNTRIES)


def paired_privately(
    turn: int = 0, relation: Relation = Relation.ADD_REMOVE, sensitivity: Any = 1
) -> Any:
    public = paired(turn, relation, sensitivity)
    texts = Sealed([pair_text(*pair) for pair in public.labels], "items")
    return replace(public, labels=texts)


def _lists_of_groups() -> Iterator[Subject]:
    listed = EachGroup(Joint(Fraction(1, 5), 1), 1, COUNTRIES, 2)
    refused = ((listed, paired(sensitivity=10**290)),)
    yield Subject("a list for each group", listed, paired, _released, refused, looks=True)
    hidden = wn.plan.counts(labels="private", max_items=2)
    for made in (wn.LimitedDomain(), wn.Stability()):
        inner = made.among_private(hidden, SIZES)
        each = EachGroup(inner, 2, COUNTRIES, 2, Fraction(9, 10))
        over = OverPairs(inner, 2, COUNTRIES)
        for mechanism in (each, over):
            wrong = ((mechanism, paired_privately(sensitivity=10**290)),)
            name = f"lists of groups, {mechanism.name}"
            yield Subject(name, mechanism, paired_privately, _released, wrong, looks=True)


SCHEMA = wn.Schema.parse({"a": 2, "b": 3})
PAIRS = wn.marginals(2).over(SCHEMA)
QUESTION = Question(SCHEMA, {0: np.array([1])})


def table(turn: int = 0, relation: Relation = Relation.SUBSTITUTION) -> Any:
    codes = (np.array([0, 1], np.int32), np.array([2, 0], np.int32))
    rows = group(codes, np.array([SECRET - turn, 20 + turn], np.int64), SCHEMA.shape)
    return wn.SealedTable(SCHEMA, Sealed(Rows(*rows), "rows"), relation=relation)


def _threshold() -> Iterator[Subject]:
    for made in (SparseVector(1, 10, cutoff=2), AboveThreshold(1, 10)):
        yield Subject(f"above {made.title}", made, scores, _released,
                      ((made, scores(sensitivity=10**290)),))  # fmt: skip

    def opened(mechanism: Any, data: Any, grant: Any, tape: Any) -> Any:
        mechanism.check(data)
        key, receipt = spent(mechanism, data.relation, grant, tape)
        guarantee = mechanism.guarantee(mechanism.promise(data.relation))
        stream = SparseVectorStream(mechanism, data.utility, guarantee, key, receipt)
        stream.ask(data)
        return stream

    made = SparseVector(1, 10, cutoff=2)
    refused = ((made, scores(sensitivity=10**290)),)
    yield Subject("open above", made, scores, opened, refused, state=lambda stream: stream)


def _with_leads() -> Iterator[Subject]:
    made = NoisyTopWithLeads(1, "laplace", 2)
    yield Subject("select with leads", made, scores, _released,
                  ((made, scores(sensitivity=10**290)),), looks=True)  # fmt: skip


def _with_counts() -> Iterator[Subject]:
    made = WithCounts(Joint(1, 2), 1, 2)
    yield Subject("top-k with counts", made, scores, _released,
                  ((made, scores(sensitivity=10**290)),), looks=True)  # fmt: skip
    inner = row_named(ITEMSETS, "exponential").build(ASKED | {"noise": Law.GUMBEL})
    repeated = FrequentItemsets(Repeated(inner, 2), 1, 2, counts_epsilon=1)
    tiny = FrequentItemsets(Repeated(inner, 2), 1, 2, counts_epsilon=Fraction(1, HUGE))
    yield Subject("itemsets, repeated, with counts", repeated, baskets, _released,
                  ((tiny, baskets()),))  # fmt: skip


def _looked() -> Iterator[Subject]:
    yield Subject("top-k, looked", looked(), scores, _released,
                  ((looked(), scores(sensitivity=10**290)),), looks=True)  # fmt: skip


def _weighted_or() -> Iterator[Subject]:
    for made in (or_selected(), or_canonical()):
        mechanism = FrequentItemsets(made, 2, made.k)
        yield Subject(f"itemsets, {made.title}", mechanism, baskets, _released,
                      ((FrequentItemsets(made, 3), baskets()),
                       (mechanism, baskets(items=None))), covers=(WeightedCounts,))  # fmt: skip


BOUND = PersonBound("person", "row", 2)


def people(turn: int = 0, relation: Relation = Relation.ADD_REMOVE) -> Any:
    return Sealed({1: 3, 2: 4, 7: SECRET - turn}, "people"), relation


def _with_cut() -> Iterator[Subject]:
    def measured(mechanism: Any, data: Any, grant: Any, tape: Any) -> Any:
        numbers, relation = data
        key, receipt = spent(mechanism, relation, grant, tape)
        return OpenedRun(mechanism.drawn(numbers, relation, key), receipt, key)

    yield Subject("cut away", MeasureCut(1, BOUND), people, measured, ())

    yield Subject("look at people", PeopleLook(1, (1, 2, 4)), people, measured, ())

    def both(turn: int = 0, relation: Relation = Relation.ADD_REMOVE) -> Any:
        return scores(turn, relation), people(turn)[0]

    def released(mechanism: Any, data: Any, grant: Any, tape: Any) -> Any:
        counts, numbers = data
        both = mechanism.plan(plan_of(mechanism.inner, counts.relation), numbers)
        return redeem(both, counts, grant, tape)

    made = WithCut(NoisyCounts(1, 2, 1, with_counts=True), MeasureCut(Fraction(1, 9), BOUND))
    yield Subject("top-k with cut", made, both, released, (), looks=True)


VECTORS = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])


def vectors(turn: int = 0, relation: Relation = Relation.ADD_REMOVE, dimension: int = 2) -> Any:
    query = [float(SECRET - turn), 2.0, 1.0][:dimension]
    utility = Utility.declare(1, relation=relation)
    return seal_vectors(VECTORS, index="flat"), query_of(query, utility)


def _searched(mechanism: Any, data: Any, grant: Any, tape: Any) -> Any:
    candidates, query = data
    plan = replace(
        plan_of(mechanism, query.relation),
        draw=lambda private, key: mechanism.labels(candidates, private, key),
        check=lambda private: mechanism.check(candidates, private),
    )
    return redeem(plan, query, grant, tape)


def _inner_products() -> Iterator[Subject]:
    for made in (IndexedExponential(1, 2), SlackExponential(1, 2, slack=Fraction(1, 10))):
        yield Subject(f"inner products, {made.title}", made, vectors, _searched,
                      ((made, vectors(dimension=3)), (type(made)(1, 4), vectors())))  # fmt: skip

    def rounds(mechanism: Any, data: Any, grant: Any, tape: Any) -> Any:
        candidates, query = data
        key, receipt = spent(mechanism, query.relation, grant, tape)
        run = IndexedRounds(mechanism.selection, candidates, query.utility, 3, key)
        run.next(query)
        return OpenedRun(run, receipt, key)

    repeated = RepeatedSelection(IndexedExponential(1, 2), 3)
    yield Subject("inner products, rounds", repeated, vectors, rounds, (),
                  state=lambda opened: opened.run)  # fmt: skip


def counted(turn: int = 0, relation: Relation = Relation.SUBSTITUTION) -> Any:
    cells = np.array([SECRET - turn, 0, 0, 3 + turn, 50, 30], np.int64)
    return Sealed(cells, "counts"), relation


def _rounds() -> Iterator[Subject]:
    def released(mechanism: Any, data: Any, grant: Any, tape: Any) -> Any:
        counts, relation = data
        first = Sealed(np.array([SECRET]), "rows")
        task = Task(counts, PAIRS, 2)
        mechanism.check([task])
        key, receipt = spent(mechanism, relation, grant, tape)
        run = mechanism.open([task], key, relation=relation, total=first)
        run.tasks[0].next(uniform_distribution(PAIRS, 500))
        return OpenedRun(run, receipt, key)

    yield Subject("release, rounds", SelectAndMeasure(1, 2, 2, "gaussian", 3), counted, released,
                  ((SelectAndMeasure(1, 2, 3, "gaussian", 3), counted()),
                   (SelectAndMeasure(1, HUGE, 2, "gaussian", 3), counted())),
                  state=lambda opened: opened.run.tasks[0], covers=(LazyExponential,))  # fmt: skip

    def measured(mechanism: Any, data: Any, grant: Any, tape: Any) -> Any:
        counts, relation = data
        mechanism.check(relation)
        key, receipt = spent(mechanism, relation, grant, tape)
        run = mechanism.open(counts, PAIRS, key, relation=relation)
        run.start(counts, PAIRS, (1,)).next([0], [np.full(6, 80.0)], [0.0])
        return OpenedRun(run, receipt, key)

    refused = ((MeasureMarginals(1, HUGE, 2, (3,)), counted()),)
    made = MeasureMarginals(1, 2, 2, (3,))
    yield Subject("wide, rounds", made, counted, measured, refused, state=lambda opened: opened.run)


def _sessions() -> Iterator[Subject]:
    def asked(mechanism: Any, data: Any, grant: Any, tape: Any) -> Any:
        mechanism.check(data.rows_per_person)
        key, receipt = spent(mechanism, data.relation, grant, tape)
        run = mechanism.open(data, key)
        run.ask(QUESTION, 30.0, 1.0)
        run.prior()
        return OpenedRun(run, receipt, key)

    made = WeightsRounds(2, 1, 12, prior_multiplier=2)
    quiet = WeightsRounds(2, Fraction(1, HUGE), 12)
    yield Subject("ask, multiplicative weights", made, table, asked,
                  ((quiet, table()),), state=lambda opened: opened.run)  # fmt: skip

    def answered(mechanism: Any, data: Any, grant: Any, tape: Any) -> Any:
        mechanism.check(data.rows_per_person)
        key, receipt = spent(mechanism, data.relation, grant, tape)
        run = mechanism.open(data, key)
        run.answer([QUESTION])
        return OpenedRun(run, receipt, key)

    yield Subject("ask, independent answers", IndependentAnswers(2, 1), table, answered,
                  ((IndependentAnswers(2, HUGE), table()),),
                  state=lambda opened: opened.run)  # fmt: skip


MATRIX = np.array([[1.0, 0.0], [0.0, 1.0]])


def offsets(turn: int = 0, relation: Relation = Relation.ADD_REMOVE) -> Any:
    return seal_offsets([float(SECRET - turn), 1.0], 2, Utility.declare(1, relation=relation))


def owned(turn: int = 0, relation: Relation = Relation.ADD_REMOVE) -> Any:
    rows = np.array([[1.0, 0.5]] * (4 - turn) + [[0.25, 1.0]])
    return seal_rows(rows, [float(SECRET)] * len(rows), relation)


def _programs() -> Iterator[Subject]:
    def scalar(mechanism: Any, data: Any, grant: Any, tape: Any) -> Any:
        key, receipt = spent(mechanism, data.relation, grant, tape)
        run = mechanism.drawn(data, key)
        run.solve(ConstraintRows.of(MATRIX), np.ones(2), 0.5)
        return OpenedRun(run, receipt, key)

    yield Subject("lp, scalar", ScalarPrivateLp(1, 2, check_multiplier=2), offsets, scalar, (),
                  state=lambda opened: opened.run)  # fmt: skip

    def constraint(mechanism: Any, data: Any, grant: Any, tape: Any) -> Any:
        key, receipt = spent(mechanism, data.relation, grant, tape)
        run = mechanism.drawn(data, key)
        run.solve(np.ones(2), 0.5, 0.1)
        return OpenedRun(run, receipt, key)

    made = ConstraintPrivateLp(1, 2, 2, (0, 1), (-1, 1), check_multiplier=2)
    yield Subject("lp, constraint", made, owned, constraint, (), state=lambda opened: opened.run)


def _tables() -> Iterator[Subject]:
    for law in ("gaussian", "laplace"):
        forms = tuple(NoisyForm(TableForm(((column, 0),), False), Fraction(9)) for column in (0, 1))
        made = MeasureTables(((0, flat(2)), (1, flat(3))), forms, law)
        several = replace(table(), rows_per_person=2)
        yield Subject(f"tables, {law}", made, table, _released, ((made, several),), looks=True)


def _linear() -> Iterator[Subject]:
    several = replace(table(), rows_per_person=2)
    matrix = MatrixStrategy(SCHEMA.shape, (0, 1), np.eye(6, dtype=np.int64))
    for strategy in (matrix, ToeplitzStrategy(SCHEMA.shape, 1), QueriesStrategy(PAIRS)):
        made = MeasureLinear(strategy, 9)
        title = f"linear, {strategy.title}"
        yield Subject(title, made, table, _released, ((made, several),), looks=True)


def _additive() -> Iterator[Subject]:
    def data(turn: int = 0, relation: Relation = Relation.ADD_REMOVE) -> Any:
        codes, labels = np.array([0, 1], np.int32), np.array([0, 1], np.int32)
        rows = LabelledRows((codes,), labels, np.array([SECRET - turn, 7], np.int64))
        return SealedLabelled(Sealed(rows, "rows"), ("no", "yes"), relation), (2,)

    for law in ("laplace", "gaussian"):
        model = AdditiveModel(law, 5, Fraction(1, 2), 1, delta=Fraction(1, 100))
        refused = (replace(model, multiplier=2**50), data())
        yield Subject(f"additive model, {law}", model, data, _released, (refused,))


def _rules() -> Iterator[Subject]:
    def data(turn: int = 0, relation: Relation = Relation.ADD_REMOVE) -> Any:
        codes, labels = np.array([0, 1], np.int32), np.array([0, 1], np.int32)
        rows = LabelledRows((codes,), labels, np.array([SECRET - turn, 7], np.int64))
        held = SealedLabelled(Sealed(rows, "rows"), ("no", "yes"), relation)
        return held, rules_over("stumps", wn.Schema.parse({"x": 2}))

    made = BalancedRule(Fraction(1, 10), Fraction(1, 2))
    refused = (replace(made, sizes=Fraction(1, 2**50)), data())
    yield Subject("balanced rule", made, data, _released, (refused,))

    for selection, sizes in (("permute-and-flip", Fraction(1, 10)), ("exponential", None)):
        vote = BoostedRules(3, Fraction(1, 2), selection, sizes, Fraction(1, 100))
        tiny = replace(vote, epsilon=Fraction(1, 10**290))
        refusals = ((tiny, data()), (replace(vote, sizes=Fraction(1, 2**50)), data()))
        yield Subject(f"boosted rules, {selection}", vote, data, _released, refusals)


def _either() -> Iterator[Subject]:
    def data(turn: int = 0, relation: Relation = Relation.ADD_REMOVE) -> Any:
        codes, labels = np.array([0, 1], np.int32), np.array([0, 1], np.int32)
        rows = LabelledRows((codes,), labels, np.array([SECRET - turn, 7], np.int64))
        held = SealedLabelled(Sealed(rows, "rows"), ("no", "yes"), relation)
        return held, (2,), rules_over("stumps", wn.Schema.parse({"x": 2}))

    model = AdditiveModel("laplace", 5, Fraction(1, 2), 1, balanced=True)
    both = EitherModel(model, BoostedRules(3, Fraction(1, 2)), Fraction(1, 4))
    tiny = replace(both, epsilon=Fraction(1, 10**290))
    noisy = replace(both, model=replace(model, multiplier=2**50))
    yield Subject("vote or additive model", both, data, _released,
                  ((tiny, data()), (noisy, data())))  # fmt: skip


def _binned() -> Iterator[Subject]:
    """A column of a hundred numbers, cut at private quantiles, and rules over its bins."""
    grid = {"type": "number", "low": 0, "high": 99}
    asked = Learn(epsilon=1, method=OneRule(of="stumps"))

    def data(turn: int = 0, relation: Relation = Relation.ADD_REMOVE) -> Any:
        codes, labels = np.array([0, 70], np.int32), np.array([0, 1], np.int32)
        rows = LabelledRows((codes,), labels, np.array([SECRET - turn, 7], np.int64))
        return SealedLabelled(Sealed(rows, "rows"), ("no", "yes"), relation)

    def plan(relation: Relation) -> Any:
        schema = {"x": grid, "y": {"values": ["no", "yes"]}}
        return asked.plan(about_rows(schema, "y", relation=relation))

    def drawn(mechanism: Any, held: Any, grant: Any, tape: Any) -> Any:
        made = replace(plan(held.relation), mechanism=mechanism)
        return redeem(made.map(lambda predictor: predictor.text), held, grant, tape)

    made = plan(Relation.ADD_REMOVE).mechanism
    yield Subject("rule in private bins", made, data, drawn, (), looks=True)


def _calibrated() -> Iterator[Subject]:
    """Rules, and noisy counts of what they say."""
    asked = Learn(epsilon=1, method=OneRule(of="stumps", cuts=[0.5]), calibrated=True)

    def data(turn: int = 0, relation: Relation = Relation.ADD_REMOVE) -> Any:
        labels = np.array([0] * (SECRET - turn) + [1] * 7)
        return labelled_rows(labels[:, None] / 1.0, labels, relation=relation)

    def drawn(mechanism: Any, held: Any, grant: Any, tape: Any) -> Any:
        made = replace(asked.plan(held), mechanism=mechanism)
        return redeem(made.map(lambda predictor: predictor.text), held, grant, tape)

    made = asked.plan(data()).mechanism
    yield Subject("calibrated rule", made, data, drawn, ())


def _quantiles() -> Iterator[Subject]:
    def drawn(mechanism: Any, data: Any, grant: Any, tape: Any) -> Any:
        plan = replace(
            plan_of(mechanism, data.relation),
            draw=lambda private, key: mechanism.drawn(private, 1, (), key).codes.tolist(),
            check=mechanism.check,
        )
        return redeem(plan, data, grant, tape)

    made = HalvingQuantiles(1, Fraction(1, 2), QuantileTree((1, 2), 3), 3, 1)
    yield Subject("quantiles, halving", made, table, drawn, (), looks=True)
    yield Subject("quantiles, joint", JointQuantiles(1, (1, 2), 3, 3, 1), table, drawn, (),
                  looks=True)  # fmt: skip

    def counted(mechanism: Any, data: Any, grant: Any, tape: Any) -> Any:
        plan = replace(in_bins.plan(data), mechanism=mechanism)
        return redeem(plan.map(lambda histogram: histogram.to_dict()), data, grant, tape)

    in_bins = Histogram("b", bins=2, split="quantiles", epsilon=1)

    def looked(mechanism: Any, data: Any, grant: Any, tape: Any) -> Any:
        plan = replace(first_look.plan(numbered(data)), mechanism=mechanism)
        return redeem(plan.map(lambda found: found.to_dict()), numbered(data), grant, tape)

    def numbered(data: Any) -> Any:
        grid = {"type": "number", "low": 0, "high": SCHEMA.shape[1] - 1}
        schema = wn.Schema.parse({"a": SCHEMA.shape[0], "b": grid})
        return replace(data, schema=schema)

    first_look = Describe(epsilon=1)
    every = first_look.plan(numbered(table())).mechanism
    yield Subject("description", every, table, looked, (), looks=True)

    def read_off(mechanism: Any, data: Any, grant: Any, tape: Any) -> Any:
        plan = replace(cumulative.plan(numbered(data)), mechanism=mechanism)
        return redeem(plan.map(lambda found: found.to_dict()), numbered(data), grant, tape)

    cumulative = Quantiles("b", [0.5], epsilon=1, method=Cumulative())
    read = cumulative.plan(numbered(table())).mechanism
    yield Subject("quantiles, cumulative", read, table, read_off, (), looks=True)
    both = in_bins.plan(table()).mechanism
    yield Subject("histogram over private edges", both, table, counted, (), looks=True)


def _moments() -> Iterator[Subject]:
    def drawn(mechanism: Any, data: Any, grant: Any, tape: Any) -> Any:
        plan = replace(
            plan_of(mechanism, data.relation),
            draw=lambda private, key: mechanism.drawn(private, (), key).tolist(),
            check=mechanism.check,
        )
        return redeem(plan, data, grant, tape)

    def ends(mechanism: Any, data: Any, grant: Any, tape: Any) -> Any:
        plan = plan_of(mechanism, data.relation)
        return redeem(plan, data, grant, tape)

    def bounded(mechanism: Any, data: Any, grant: Any, tape: Any) -> Any:
        plan = replace(
            plan_of(mechanism.ends, data.relation),
            mechanism=mechanism,
            draw=lambda private, key: mechanism.drawn_within(private, (), key)[2].tolist(),
            check=mechanism.check,
        )
        return redeem(plan, data, grant, tape)

    own = replace(valued("b"), place=1)
    edges = TailEdges(1, sides_of("b", 1, own.grid))
    both = BoundedSums(2, edges, made_sums((all_rows(), first(own))))
    yield Subject("bounds", edges, table, ends, (), looks=True)
    yield Subject("moments within bounds", both, table, bounded, (), looks=True)
    for law in ("box", "gaussian"):
        made = replace(made_sums((all_rows(), first(own)), law), delta=1e-3)
        yield Subject(f"moments, {law}", made, table, drawn, (), looks=True)


def _regression() -> Iterator[Subject]:
    def drawn(mechanism: Any, data: Any, grant: Any, tape: Any) -> Any:
        plan = replace(
            plan_of(mechanism, data.relation),
            draw=lambda private, key: mechanism.drawn(private, key).tolist(),
            check=mechanism.check,
        )
        return redeem(plan, data, grant, tape)

    design = designed(table().schema, "b", ())
    for law in ("box", "gaussian"):
        made = replace(made_products(law=law), design=replace(design, one=2))
        yield Subject(f"regression, {law}", made, table, drawn, (), looks=True)


SUBJECTS: tuple[Subject, ...] = (
    *_additive(),
    *_rules(),
    *_either(),
    *_binned(),
    *_calibrated(),
    *(_with_a_word(row) for row in TABLE),
    *_of_methods(),
    *_threshold(),
    *_with_counts(),
    *_looked(),
    *_with_cut(),
    *_weighted_or(),
    *_with_leads(),
    *_lists_of_groups(),
    *_inner_products(),
    *_rounds(),
    *_tables(),
    *_linear(),
    *_sessions(),
    *_programs(),
    *_quantiles(),
    *_moments(),
    *_regression(),
)

# --- verbs: what they refuse costs nothing ---

_COUNTS = {"a": SECRET, "b": 7, "c": 3}
_PROGRAM: tuple[Any, ...] = (MATRIX, [1.0, 1.0], np.ones(2))
REFUSED: dict[str, Callable[..., Any]] = {
    "select, negative epsilon": lambda **to: wn.select(_COUNTS, epsilon=-1, **to),
    "select, k beyond all": lambda **to: wn.select(_COUNTS, epsilon=1, k=9, **to),
    "select, unused delta": lambda **to: wn.select(_COUNTS, epsilon=1, delta=0.1, **to),
    "select, classes that do not add up": lambda **to: wn.select(
        wn.classes([(SECRET, ["a"])], total=9), epsilon=1, **to
    ),
    "top_k, classes of an unknown universe": lambda **to: wn.top_k(
        wn.classes([(SECRET, ["a"])], total=None), k=1, epsilon=1, method="joint", **to
    ),
    "top_k, no delta": lambda **to: wn.top_k(_COUNTS, k=2, epsilon=1, method="peel-gumbel", **to),
    "top_k, real scores": lambda **to: wn.top_k(
        wn.seal_counts({"a": 0.5, "b": 1.0}, max_items=1), k=1, epsilon=1, method="laplace", **to
    ),
    "itemsets, size": lambda **to: wn.itemsets(baskets(), size=3, epsilon=1, delta=0.1, **to),
    "above, no threshold": lambda **to: wn.above(_COUNTS, threshold=float("nan"), epsilon=1, **to),
    "mips, lengths": lambda **to: wn.mips(
        VECTORS, wn.seal_query([1.0, 2.0, 3.0], sensitivity=1), epsilon=1, **to
    ),
    "release, unknown update": lambda **to: flat_release(
        table(), wn.marginals(1), epsilon=1, delta=1e-6, method=wn.MWEM(update="none"), **to
    ),
    "tabulate, an estimate of no bound": lambda **to: wn.tabulate(
        table(), ["a"], epsilon=1, with_cut=0.1, **to
    ),
    "top_k, no share": lambda **to: wn.top_k(_COUNTS, k=1, epsilon=1, with_cut=1, **to),
    "tabulate, no table": lambda **to: wn.tabulate(table(), [], epsilon=1, **to),
    "ask, no questions": lambda **to: wn.ask(
        table(), epsilon=1, delta=1e-6, max_queries=0, method="independent", **to
    ),
    "lp, too small a sensitivity": lambda **to: wn.lp(
        wn.lp_problem(*_PROGRAM, opt=1),
        method=wn.ScalarSides(sensitivity=1e-300),
        epsilon=1,
        **to,
    ),
    "lp, entries without a range": lambda **to: wn.lp(
        wn.lp_problem(*_PROGRAM, opt=1),
        method=wn.PersonRows(entries=(1, 0), sides=(0, 1), rows=3, exceptions=1),
        epsilon=1,
        **to,
    ),
    "learn, unknown target": lambda **to: wn.learn(table(), "z", method="stumps", epsilon=1, **to),
}
"""Calls of verbs with something wrong in them."""
