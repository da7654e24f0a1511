"""What is learned from: sealed rows with classes, sealed scores of a public class of rules."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np

from winnow.core.checks import exact, positive
from winnow.core.relation import Relation
from winnow.core.schema import Schema
from winnow.errors import DataError, ParameterError
from winnow.foreign import shown
from winnow.learn.additive import ADDITIVE
from winnow.learn.boosted import BOOSTED
from winnow.learn.crossing.rows import (
    Classes,
    SealedLabelled,
    function_scores,
    labelled_arrays,
    labelled_table,
    matrix_scores,
    rule_scores,
)
from winnow.learn.features import Feature, named_columns, pick_columns
from winnow.learn.predictor import ListedPredictor, Predictor, RulePredictor
from winnow.learn.rules import Hypotheses, RuleClass, parse
from winnow.read.crossing import SealedTable
from winnow.read.scores import SealedScores
from winnow.read.table import read_table


@dataclass(frozen=True)
class Problem:
    """Sealed scores of a public class, and how a number of it becomes a predictor."""

    labelled: SealedLabelled
    scores: SealedScores
    predictor: Callable[[int], Predictor]


def asked_model(hypotheses: Any) -> Hypotheses | None:
    """What was asked for in words, where it is more than one rule or is not said; else None."""
    if not isinstance(hypotheses, str | Hypotheses):
        return None
    asked = parse(hypotheses)
    return asked if asked.kind in (ADDITIVE, BOOSTED, "auto") else None


def featured_rows(
    X: Any, y: Any, asked: Hypotheses, schema: Any, classes: Any, relation: Any
) -> tuple[SealedLabelled, tuple[Feature, ...]]:
    """Sealed rows of two classes or more, and their features."""
    if isinstance(y, str):
        table = _table(X, asked, schema, classes, relation)
        named = feature_names(table.schema, y)
        return labelled_table(table, y, many=True), asked.over(table.schema.subset(named)).features
    _refuse_table(X)
    many = _classes(classes)
    unit = Relation.SUBSTITUTION if relation is None else Relation.parse(relation)
    features = _rules(asked, X, schema).features
    columns = pick_columns(features, X)
    sealed = labelled_arrays(columns, y, features=features, classes=many, relation=unit)
    return sealed, features


def read_once(
    X: Any, y: Any, asked: Hypotheses, schema: Any, classes: Any, relation: Any
) -> tuple[Any, Any]:
    """X and its schema; a table that y names a column of is read now, for all that follows."""
    if not isinstance(y, str):
        return X, schema
    return _table(X, asked, schema, classes, relation), None


def is_balanced(class_weights: Any) -> bool:
    """Whether these words ask for weights by the noisy sizes of the classes."""
    return isinstance(class_weights, str) and class_weights == "balanced"


def weighed(labelled: SealedLabelled, class_weights: Any) -> SealedLabelled:
    """The rows with whole weights of their classes, where these are given as numbers."""
    if class_weights is None or is_balanced(class_weights):
        return labelled
    return replace(labelled, class_weights=whole_weights(class_weights, labelled.classes))


def whole_weights(class_weights: Any, classes: Classes) -> tuple[int, ...]:
    """Weights in thousandths of the largest, at least 1, in the order of the classes."""
    given = class_weights
    if isinstance(given, Mapping):
        strange = [name for name in given if name not in classes]
        missing = [name for name in classes if name not in given]
        if strange or missing:
            about = f"name {shown(strange[0])}" if strange else f"lack {shown(missing[0])}"
            named = ", ".join(shown(name) for name in classes[:20])
            raise ParameterError(
                f"class_weights {about}; give a weight for each of the classes {named}"
            )
        given = [given[name] for name in classes]
    if isinstance(given, str) or not isinstance(given, Sequence | np.ndarray):
        raise ParameterError(
            f"class_weights={shown(class_weights)} are no weights; give a number for each class"
        )
    if len(given) != len(classes):
        raise ParameterError(f"{len(given)} class_weights for {len(classes)} classes; give each")
    for weight in given:
        positive(class_weight=weight)
    exactly = [exact("class_weight", weight) for weight in given]
    return tuple(max(1, round(1000 * weight / max(exactly))) for weight in exactly)


def problem_of(
    X: Any, y: Any, hypotheses: Any, schema: Any, classes: Any, relation: Any, class_weights: Any
) -> Problem:
    """The rows and the class of hypotheses that were given, in any of their forms."""
    if isinstance(y, str) or isinstance(hypotheses, str | Hypotheses):
        sealed, rules = ruled_rows(X, y, hypotheses, schema, classes, relation)
        sealed = weighed(sealed, class_weights)
        return Problem(sealed, rule_scores(sealed, rules), rule_predictor(sealed.classes, rules))
    _refuse_table(X)
    pair = _two_classes(classes)
    unit = Relation.SUBSTITUTION if relation is None else Relation.parse(relation)
    if schema is not None:
        raise ParameterError("a schema is for classes of rules; leave it out, or name such a class")
    if class_weights is not None:
        raise ParameterError("class_weights are for classes of rules and additive models")
    sealed = labelled_arrays((), y, features=(), classes=pair, relation=unit)
    predicted = _predictions(hypotheses)
    if predicted is not None:
        size, kind = len(predicted) if predicted.ndim else 0, "rows of predictions"
        scores = matrix_scores(sealed, predicted)
        return Problem(sealed, scores, lambda i: ListedPredictor(pair, i, size, kind))
    functions = _functions(hypotheses)
    scores = function_scores(sealed, functions, X)
    size = len(functions)
    return Problem(
        sealed,
        scores,
        lambda i: ListedPredictor(pair, i, size, "functions", function=functions[i]),
    )


def ruled_rows(
    X: Any, y: Any, hypotheses: Any, schema: Any, classes: Any, relation: Any
) -> tuple[SealedLabelled, RuleClass]:
    """Sealed rows of two classes, and the rules over their features."""
    if isinstance(y, str):
        return _from_table(X, y, hypotheses, schema, classes, relation)
    if not isinstance(hypotheses, str | Hypotheses):
        raise ParameterError("class_weights are for classes of rules and additive models")
    _refuse_table(X)
    pair = _two_classes(classes)
    unit = Relation.SUBSTITUTION if relation is None else Relation.parse(relation)
    rules = _rules(parse(hypotheses), X, schema)
    columns = pick_columns(rules.features, X)
    sealed = labelled_arrays(columns, y, features=rules.features, classes=pair, relation=unit)
    return sealed, rules


def _refuse_table(X: Any) -> None:
    if isinstance(X, SealedTable):
        raise ParameterError(
            "a sealed table holds its classes; name their column, as in y='income'"
        )


def _from_table(
    X: Any,
    target: str,
    hypotheses: Any,
    schema: Any,
    classes: Any,
    relation: Any,
) -> tuple[SealedLabelled, RuleClass]:
    if not isinstance(hypotheses, str | Hypotheses):
        raise ParameterError(
            f"the rows of a table are private, so a {type(hypotheses).__name__} cannot predict "
            "them one by one; name a class of rules over the schema, such as 'stumps', or give X "
            "and y as arrays"
        )
    asked = parse(hypotheses)
    table = _table(X, asked, schema, classes, relation)
    features = feature_names(table.schema, target)
    return labelled_table(table, target), asked.over(table.schema.subset(features))


def feature_names(schema: Schema, target: str) -> list[str]:
    """The columns beside the target."""
    features = [name for name in schema.names if name != target]
    if not features:
        raise ParameterError(
            f"there is no column beside {target!r}; add the features to the schema"
        )
    return features


def _table(X: Any, asked: Hypotheses, schema: Any, classes: Any, relation: Any) -> SealedTable:
    """The table that was given, or that is read."""
    if classes is not None:
        raise ParameterError("the schema declares the two classes; leave out classes")
    if asked.cuts is not None:
        raise ParameterError("the schema declares the cut points as edges; leave out cuts")
    if isinstance(X, SealedTable):
        if schema is not None:
            raise ParameterError("a sealed table has its schema already; leave out schema")
        return X if relation is None else X.under(relation)
    if schema is None:
        raise ParameterError(
            "y names a column, so X is a table: give its public schema=, or read it with "
            "wn.read_table"
        )
    unit = Relation.SUBSTITUTION if relation is None else relation
    return read_table(X, schema=Schema.parse(schema), relation=unit)


def _rules(asked: Hypotheses, X: Any, schema: Any) -> RuleClass:
    if schema is None:
        names, _, named = named_columns(X)
        return asked.cut(names, named=named)
    if asked.cuts is not None:
        raise ParameterError("cuts and a schema are both given; leave out one of them")
    return asked.over(Schema.parse(schema))


def rule_predictor(classes: Classes, rules: RuleClass) -> Callable[[int], Predictor]:
    """How the number of a rule becomes a predictor."""

    def predictor(number: int) -> Predictor:
        rule = rules.rule(number)
        return RulePredictor(
            classes, number, len(rules), rules.name, features=rules.features, rule=rule
        )

    return predictor


def _two_classes(classes: Any) -> Classes:
    pair = _classes(classes)
    if len(pair) != 2:
        raise ParameterError(
            f"classes={shown(classes)} are not two; give (negative, positive), and of more classes "
            "learn one against the others, as in y == 'a', or hypotheses='additive'"
        )
    return pair


def _classes(classes: Any) -> Classes:
    """Two different classes or more; 0 and 1 if nothing is said."""
    if classes is None:
        return 0, 1
    if isinstance(classes, str) or not isinstance(classes, Sequence | np.ndarray):
        raise ParameterError(f"classes={shown(classes)} is not a pair; give (negative, positive)")
    named = tuple(c.item() if isinstance(c, np.generic) else c for c in classes)
    if len(named) < 2 or any(a == b for a, b in combinations(named, 2)):
        raise ParameterError(
            f"classes={shown(classes)} are not two; give (negative, positive), or all of several"
        )
    return named


def _predictions(hypotheses: Any) -> np.ndarray[Any, Any] | None:
    """A matrix of predictions: an array, a data frame, or a list of lists; else None."""
    if isinstance(hypotheses, np.ndarray):
        return hypotheses
    lists = isinstance(hypotheses, list | tuple) and len(hypotheses) > 0
    if lists and all(isinstance(row, list | tuple | np.ndarray) for row in hypotheses):
        if len({len(row) for row in hypotheses}) > 1:
            raise DataError("the rows of predictions differ in length; give one for each label")
        return np.asarray(hypotheses)
    framed = hasattr(hypotheses, "columns") and hasattr(hypotheses, "to_numpy")
    return np.asarray(hypotheses.to_numpy()) if framed else None


def _functions(hypotheses: Any) -> list[Callable[[Any], Any]]:
    if isinstance(hypotheses, Sequence) and not isinstance(hypotheses, str | bytes):
        functions = list(hypotheses)
        if functions and all(callable(function) for function in functions):
            return functions
    raise ParameterError(
        f"hypotheses are a {type(hypotheses).__name__}; give thresholds, intervals, stumps or "
        "conjunctions:N, an array of predictions with a row for each hypothesis, or a list of "
        "functions"
    )


def public_rows_of(labelled: SealedLabelled, rows: int | None) -> int | None:
    """The number of rows where it is public, or was declared."""
    if rows is None:
        return labelled.n or None  # no rows: nothing to divide by
    if labelled.n is None:
        return int(rows)
    if int(rows) != labelled.n:  # both are public here
        raise ParameterError(f"rows={rows}, and there are {labelled.n} rows; leave out rows")
    return labelled.n
