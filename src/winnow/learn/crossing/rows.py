"""Private rows with a class each, sealed, and how many of them every hypothesis gets right.

What one person can do. A person with at most r rows, added or removed, moves every number of
correct rows by 0 to r, all in the same direction: half the width of that interval is r/2.
Replacing a person's rows moves each by -r to r: half the width is r. In the paper's units
(accuracy, substitution, one row each) that is the sensitivity 1/n [LMM, Section 4.2].

With class weights a correct row of class c counts w_c, a public whole number. A person then moves
every sum by 0 to r max w, all in the same direction: r max w takes the place of r.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from winnow.core.relation import Relation
from winnow.core.sealed import PublicFact, Sealed
from winnow.core.unit import ROW, Unit
from winnow.core.utility import Utility
from winnow.core.workloads.part import sum_of
from winnow.errors import DataError, InputError, ParameterError
from winnow.foreign import shown
from winnow.learn.features import UNKNOWN, Feature
from winnow.learn.inputs import pick_columns
from winnow.learn.kernels.rule_counts import correct_by_row, correct_by_rule
from winnow.learn.rules import RuleClass
from winnow.read.crossing import Rows, SealedTable, all_rows, sealed_table
from winnow.read.scores import SealedScores

T = TypeVar("T")

Classes = tuple[Any, ...]
"""The classes; of two, the negative and the positive one."""


class LabelledRows(NamedTuple):
    """The private content: codes of each feature, the number of the class, weights."""

    codes: tuple[NDArray[np.int32], ...]
    labels: NDArray[np.integer[Any]]
    weights: NDArray[np.int64]

    @property
    def positive(self) -> NDArray[np.bool_]:
        """Which rows are of the second of two classes."""
        return np.asarray(self.labels == 1)


@dataclass(frozen=True, repr=False, eq=False)
class SealedLabelled:
    """Private rows with one of some public classes each."""

    rows: Sealed[LabelledRows]
    classes: Classes
    relation: Relation
    rows_per_person: int = 1
    class_weights: tuple[int, ...] | None = None
    """What a correct row of each class counts; None: 1 each."""
    unit: Unit = ROW
    """Whose presence is protected."""

    @property
    def n(self) -> int | None:
        """The number of rows where it is public: one row per person, under substitution."""
        if self.relation.size_is_public and self.rows_per_person == 1:
            fact = PublicFact.ROWS_UNDER_SUBSTITUTION
            return self.rows.publish(fact, lambda rows: sum_of(rows.weights))
        return None

    @property
    def utility(self) -> Utility:
        """How far one person moves a number of correct rows, or a sum of their weights."""
        most = 1 if self.class_weights is None else max(self.class_weights)
        return Utility.declare(most * self.rows_per_person, monotone=True, relation=self.relation)

    def __repr__(self) -> str:
        return f"<sealed rows of {_words(len(self.classes))} classes>"


def _words(classes: int) -> str:
    return "two" if classes == 2 else str(classes)


def no_rows(classes: Classes, relation: Relation, rows_per_person: int = 1) -> SealedLabelled:
    """Rows of nobody: for plans and audits, as the noise depends on public numbers only."""
    nothing = LabelledRows((np.zeros(0, np.int32),), np.zeros(0, np.int32), np.zeros(0, np.int64))
    return SealedLabelled(Sealed(nothing, "rows"), classes, relation, rows_per_person)


def check_classes(target: str, number: int) -> None:
    """Refuse a column that does not tell classes apart."""
    if number < 2:
        raise ParameterError(
            f"the target {target!r} has {number} label in the schema; declare two values or more, "
            "or one value and 'other'"
        )


def labelled_table(table: SealedTable, target: str) -> SealedLabelled:
    """A sealed table with one of its columns as the class."""
    sealed_table(table)
    column = table.schema.column(target)
    check_classes(target, column.cardinality)
    place = table.schema.position(target)

    def labelled(rows: Rows) -> LabelledRows:
        features = tuple(codes for i, codes in enumerate(rows.codes) if i != place)
        return LabelledRows(features, rows.codes[place], rows.weights)

    rows = all_rows(table).map(labelled, "rows")
    return SealedLabelled(
        rows, tuple(column.labels), table.relation, table.rows_per_person, unit=table.unit
    )


def labels_alone(labels: Any, classes: Classes, relation: Relation) -> SealedLabelled:
    """The classes of rows, one row per person, before any feature is read."""
    numbers = numbers_of(labels, classes)
    if not len(numbers) and relation.size_is_public:
        raise DataError("there are no rows; give at least one")
    rows = LabelledRows((), numbers, np.ones(len(numbers), np.int64))
    return SealedLabelled(Sealed(rows, "rows"), classes, relation)


def with_codes(
    labelled: SealedLabelled, data: Sealed[Any], features: Sequence[Feature]
) -> SealedLabelled:
    """The rows with a code for each feature, read from private columns of values."""

    def coded(content: tuple[LabelledRows, Any]) -> LabelledRows:
        rows, values = content
        columns = pick_columns(features, values)
        pairs = enumerate(zip(features, columns, strict=True), 1)
        codes = [_codes(f"column {place} of X", *pair, len(rows.labels)) for place, pair in pairs]
        return rows._replace(codes=tuple(codes))

    return replace(labelled, rows=labelled.rows.beside(data).map(coded, "rows"))


def _codes(where: str, feature: Feature, values: Any, rows: int) -> NDArray[np.int32]:
    codes = feature.encode(values, where)
    if len(codes) != rows:
        raise DataError(
            f"{where} and the labels have different lengths; give one label for each row"
        )
    if (codes == UNKNOWN).any():
        raise DataError(
            f"{where} holds a value that was not declared, or a missing one; correct it, or "
            "declare 'other'"
        )
    return codes


def numbers_of(labels: Any, classes: Classes) -> NDArray[np.int32]:
    """The number of each label's class; a label that is none of them is an error."""
    values = np.asarray(labels)
    if values.ndim != 1:
        raise DataError(f"the labels have {values.ndim} dimensions; give one label for each row")
    numbers = np.full(values.shape, -1, np.int32)
    for number, name in enumerate(classes):
        same = np.asarray(values == name)
        if same.shape == values.shape:
            numbers[same] = number
    if (numbers < 0).any():
        if len(classes) > 2:
            raise DataError(
                "a label is not one of the declared classes; name all of them in classes="
            )
        raise DataError(
            f"a label is neither {shown(classes[0])} nor {shown(classes[1])}; declare the two "
            "classes with classes=(negative, positive), or learn one class against the others, as "
            "in y == 'a'"
        )
    return numbers


def rule_scores(labelled: SealedLabelled, rules: RuleClass) -> SealedScores:
    """How many rows every rule gets right, sealed."""

    def correct(rows: LabelledRows, nothing: None) -> NDArray[np.int64]:
        weights = weighted(rows, labelled.class_weights)
        return correct_by_rule(rules, rows.codes, rows.positive, weights)

    return _scores(labelled, Sealed(None, "nothing more"), len(rules), correct)


def weighted(rows: LabelledRows, class_weights: tuple[int, ...] | None) -> NDArray[np.int64]:
    """The weight of each row, with that of its class."""
    return rows.weights if class_weights is None else times(rows, of_class(rows, class_weights))


def of_class(rows: LabelledRows, class_weights: tuple[int, ...]) -> NDArray[np.int64]:
    """What one row counts by its class."""
    return np.asarray(np.array(class_weights, np.int64)[rows.labels])


def times(rows: LabelledRows, each: NDArray[np.int64]) -> NDArray[np.int64]:
    """The weight of each row, where one counts as many thousandths."""
    if sum_of(rows.weights) >= 2**42:
        raise DataError("there are 2^42 rows or more; too many to weigh them")
    return np.asarray(rows.weights * each)


def sealed_predictions(predicted: NDArray[Any], rows: int) -> Sealed[NDArray[Any]]:
    """A matrix of predictions with a row for each hypothesis, sealed: they tell of the rows."""
    if predicted.ndim != 2 or not len(predicted):
        raise DataError("the predictions need one row for each hypothesis")
    if predicted.size and predicted.dtype.kind not in "biu":  # an empty list has no type
        raise DataError(
            f"the predictions have the type {predicted.dtype}; give booleans, or 0 and 1"
        )
    if predicted.dtype.kind != "b" and not _binary(predicted):
        raise DataError(
            "a prediction is neither 0 nor 1; give booleans, or 1 for the positive class and 0"
        )
    if predicted.shape[1] != rows:
        raise DataError(
            "the predictions need one row for each hypothesis and one column for each label"
        )
    return Sealed(predicted, f"predictions of {len(predicted)} hypotheses")


def matrix_scores(
    labelled: SealedLabelled, predicted: Sealed[NDArray[Any]], size: int
) -> SealedScores:
    """How many rows every hypothesis gets right, by a matrix of predictions."""
    return _scores(
        labelled, predicted, size, lambda rows, matrix: correct_by_row(matrix, rows.positive)
    )


def function_scores(
    labelled: SealedLabelled, functions: Sequence[Callable[[Any], Any]], data: Sealed[Any]
) -> SealedScores:
    """How many rows every hypothesis gets right, by functions that return a class for each row."""

    def correct(rows: LabelledRows, values: Any) -> NDArray[np.int64]:
        numbers, positive = np.empty(len(functions), np.int64), rows.positive
        for i, function in enumerate(functions):
            predicted = _said(i, function, values, labelled.classes)
            if predicted.shape != positive.shape:
                raise DataError(f"hypothesis {i} does not return one class for each row")
            numbers[i] = np.count_nonzero(predicted == positive)
        return numbers

    return _scores(labelled, data, len(functions), correct)


def _said(
    number: int, function: Callable[[Any], Any], data: Any, classes: Classes
) -> NDArray[np.bool_]:
    """Where a function predicts the positive class; its own errors leave by their type only."""
    try:
        return np.asarray(numbers_of(function(data), classes) == 1)
    except InputError:
        problem = f"does not return one of {shown(classes[0])} and {shown(classes[1])} for each row"
    except Exception as error:
        problem = f"failed with {type(error).__name__}"
    raise DataError(f"hypothesis {number} {problem}")


def accuracy_on_public(
    table: SealedTable, target: str, classify: Callable[..., NDArray[np.intp]]
) -> tuple[float, float]:
    """The exact share of correct rows on a *public* table, and its mean over the classes.

    Nothing is protected. ``classify`` maps the codes of the columns without the target, in their
    order, and the number of rows to the numbers of classes. Classes without rows are left out.
    """

    def shares(rows: LabelledRows) -> tuple[float, float]:
        total = sum_of(rows.weights)
        if not total:
            raise DataError("the test table has no rows; give at least one")
        right = classify(rows.codes, len(rows.weights)) == rows.labels
        of_classes = []
        for number in range(table.schema.column(target).cardinality):
            of_class = rows.labels == number
            if own := sum_of(rows.weights[of_class]):
                of_classes.append(sum_of(rows.weights[of_class & right]) / own)
        return sum_of(rows.weights[right]) / total, sum(of_classes) / len(of_classes)

    return labelled_table(table, target).rows.publish(PublicFact.PUBLIC_TABLE, shares)


def _binary(predicted: NDArray[Any]) -> bool:
    return bool(predicted.min(initial=0) >= 0 and predicted.max(initial=0) <= 1)


def _scores(
    labelled: SealedLabelled,
    beside: Sealed[T],
    size: int,
    correct: Callable[[LabelledRows, T], NDArray[np.int64]],
) -> SealedScores:
    """The number of correct rows of every hypothesis, sealed."""

    def frozen(content: tuple[LabelledRows, T]) -> NDArray[np.int64]:
        numbers = correct(*content)
        numbers.flags.writeable = False
        return numbers

    what = f"numbers of correct rows of {size} hypotheses"
    values = labelled.rows.beside(beside).map(frozen, what)
    return SealedScores(values, size, None, labelled.utility, labelled.unit)
