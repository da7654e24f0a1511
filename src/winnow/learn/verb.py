"""``winnow.learn``: the (nearly) most accurate classifier of a public class, privately."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from winnow.core.checks import Real, count, exact, one_of, probability
from winnow.core.mechanism import grant_for
from winnow.core.relation import Relation
from winnow.core.released import Released
from winnow.core.schema import Schema
from winnow.core.tape import Randomness
from winnow.errors import DataError, ParameterError
from winnow.foreign import guarded, shown
from winnow.learn import bound as learning_bound
from winnow.learn.bound import GeneralisationBound
from winnow.learn.crossing import (
    Classes,
    SealedLabelled,
    function_scores,
    labelled_arrays,
    labelled_table,
    matrix_scores,
    rule_scores,
)
from winnow.learn.features import named_columns, pick_columns
from winnow.learn.predictor import ListedPredictor, Predictor, RulePredictor
from winnow.learn.rules import Hypotheses, RuleClass, parse
from winnow.privacy import Budget
from winnow.read.crossing import SealedTable
from winnow.read.scores import SealedScores
from winnow.read.table import read_table
from winnow.select.crossing import Selection
from winnow.select.table import selection_named
from winnow.topk.mechanisms.noisy_counts import WithCounts


@guarded
def learn(
    X: Any,
    y: Any,
    *,
    hypotheses: Any,
    epsilon: Real,
    delta: Real = 0.0,
    mechanism: str | None = None,
    thresholds: str | None = None,
    schema: Any = None,
    classes: Sequence[Any] | None = None,
    relation: str | Relation | None = None,
    with_accuracy: bool = False,
    rows: int | None = None,
    confidence: Real = 0.95,
    budget: Budget | None = None,
    seed: int | None = None,
) -> Released[Predictor]:
    """Choose the classifier with (nearly) the most correct rows, privately.

    ``X`` and ``y`` are private. Either ``X`` is a sealed table (or whatever ``read_table``
    reads, with ``schema``) and ``y`` names its column of two classes; or ``X`` is an array or
    a data frame and ``y`` its labels, each one of the public ``classes`` (negative, positive),
    0 and 1 if nothing is said.

    ``hypotheses`` is a public class: "thresholds", "stumps", "intervals" or "conjunctions:2"
    over the schema; ``wn.stumps(cuts=[...])`` and the like with public cut points for arrays;
    an array of predictions with a row for each hypothesis; or a list of functions of ``X``. A
    prediction must depend on its own row only. Nothing is learned from the data but the choice.

    ``mechanism`` is "large-margin" (default with a delta; ``thresholds``), "permute-and-flip"
    (default without) or "exponential". One person moves the number of correct rows by at most
    the rows that they have; under add-remove only one way, which halves the noise.

    ``with_accuracy=True`` releases the noisy number of correct rows, too, for half of epsilon.
    The predictor's ``bound`` says how far it is from the best of the class on new rows, with
    probability ``confidence``; it needs a public number of rows: that of the table under
    substitution (the default), else ``rows``.
    """
    probability(confidence=confidence)
    if not isinstance(with_accuracy, bool):
        raise ParameterError(f"with_accuracy={shown(with_accuracy)} is not True or False")
    if rows is not None:
        count(rows=rows)
    chosen = mechanism or ("permute-and-flip" if exact("delta", delta) == 0 else "large-margin")
    one_of(learning_bound.MECHANISMS, mechanism=chosen)
    share = exact("epsilon", epsilon) / 2 if with_accuracy else epsilon
    selection: Selection = selection_named(
        chosen, epsilon=share, delta=delta, thresholds=thresholds
    )
    randomness = Randomness(seed)
    problem = _problem(X, y, hypotheses, schema, classes, relation)
    public_rows = _public_rows(problem.labelled, rows)
    running = WithCounts(selection, share, 1) if with_accuracy else selection
    running.check(problem.scores)
    utility = problem.scores.utility
    grant = grant_for(running.promise(utility.relation).event, budget)
    released = running.release(problem.scores, grant, randomness.tape())
    number, correct = released.value[0] if with_accuracy else (released.value[0], None)
    predictor = replace(
        problem.predictor(number),
        correct=correct,
        rows=public_rows,
        bound=_bound(problem, chosen, share, correct, public_rows, float(confidence)),
    )
    receipt = released.receipt
    if mechanism is None:
        why = "no delta was given" if chosen == "permute-and-flip" else "a delta was given"
        receipt = replace(receipt, reason=why)
    return Released(predictor, released.guarantee, receipt)


@dataclass(frozen=True)
class _Problem:
    """Sealed scores of a public class, and how a number of it becomes a predictor."""

    labelled: SealedLabelled
    scores: SealedScores
    predictor: Callable[[int], Predictor]


def _problem(X: Any, y: Any, hypotheses: Any, schema: Any, classes: Any, relation: Any) -> _Problem:
    if isinstance(y, str):
        return _from_table(X, y, hypotheses, schema, classes, relation)
    if isinstance(X, SealedTable):
        raise ParameterError(
            "a sealed table holds its classes; name their column, as in y='income'"
        )
    pair = _two_classes(classes)
    unit = Relation.SUBSTITUTION if relation is None else Relation.parse(relation)
    if isinstance(hypotheses, str | Hypotheses):
        asked = parse(hypotheses)
        rules = _rules(asked, X, schema)
        columns = pick_columns(rules.features, X)
        sealed = labelled_arrays(columns, y, features=rules.features, classes=pair, relation=unit)
        return _ruled(sealed, rules)
    if schema is not None:
        raise ParameterError("a schema is for classes of rules; leave it out, or name such a class")
    sealed = labelled_arrays((), y, features=(), classes=pair, relation=unit)
    predicted = _predictions(hypotheses)
    if predicted is not None:
        size, kind = len(predicted) if predicted.ndim else 0, "rows of predictions"
        scores = matrix_scores(sealed, predicted)
        return _Problem(sealed, scores, lambda i: ListedPredictor(pair, i, size, kind))
    functions = _functions(hypotheses)
    scores = function_scores(sealed, functions, X)
    size = len(functions)
    return _Problem(
        sealed,
        scores,
        lambda i: ListedPredictor(pair, i, size, "functions", function=functions[i]),
    )


def _from_table(
    X: Any, target: str, hypotheses: Any, schema: Any, classes: Any, relation: Any
) -> _Problem:
    if classes is not None:
        raise ParameterError("the schema declares the two classes; leave out classes")
    if not isinstance(hypotheses, str | Hypotheses):
        raise ParameterError(
            f"the rows of a table are private, so a {type(hypotheses).__name__} cannot predict "
            "them one by one; name a class of rules over the schema, such as 'stumps', or give X "
            "and y as arrays"
        )
    asked = parse(hypotheses)
    if asked.cuts is not None:
        raise ParameterError("the schema declares the cut points as edges; leave out cuts")
    if isinstance(X, SealedTable):
        if schema is not None:
            raise ParameterError("a sealed table has its schema already; leave out schema")
        table = X if relation is None else X.under(relation)
    else:
        if schema is None:
            raise ParameterError(
                f"y={target!r} names a column, so X is a table: give its public schema=, or read "
                "it with wn.read_table"
            )
        unit = Relation.SUBSTITUTION if relation is None else relation
        table = read_table(X, schema=Schema.parse(schema), relation=unit)
    features = [name for name in table.schema.names if name != target]
    sealed = labelled_table(table, target)
    if not features:
        raise ParameterError(
            f"there is no column beside {target!r}; add the features to the schema"
        )
    return _ruled(sealed, asked.over(table.schema.subset(features)))


def _rules(asked: Hypotheses, X: Any, schema: Any) -> RuleClass:
    if schema is None:
        names, _, named = named_columns(X)
        return asked.cut(names, named=named)
    if asked.cuts is not None:
        raise ParameterError("cuts and a schema are both given; leave out one of them")
    return asked.over(Schema.parse(schema))


def _ruled(sealed: SealedLabelled, rules: RuleClass) -> _Problem:
    def predictor(number: int) -> Predictor:
        return RulePredictor(
            sealed.classes,
            number,
            len(rules),
            rules.name,
            features=rules.features,
            rule=rules.rule(number),
        )

    return _Problem(sealed, rule_scores(sealed, rules), predictor)


def _two_classes(classes: Any) -> Classes:
    if classes is None:
        return 0, 1
    if isinstance(classes, str) or not isinstance(classes, Sequence | np.ndarray):
        raise ParameterError(f"classes={shown(classes)} is not a pair; give (negative, positive)")
    pair = tuple(c.item() if isinstance(c, np.generic) else c for c in classes)
    if len(pair) != 2 or pair[0] == pair[1]:
        raise ParameterError(
            f"classes={shown(classes)} are not two; give (negative, positive), and of more classes "
            "learn one against the others, as in y == 'a'"
        )
    return pair[0], pair[1]


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


def _public_rows(labelled: SealedLabelled, rows: int | None) -> int | None:
    if rows is None:
        return labelled.n or None  # no rows: nothing to divide by
    if labelled.n is None:
        return int(rows)
    if int(rows) != labelled.n:  # both are public here
        raise ParameterError(f"rows={rows}, and there are {labelled.n} rows; leave out rows")
    return labelled.n


def _bound(
    problem: _Problem,
    mechanism: str,
    epsilon: Real,
    correct: int | None,
    rows: int | None,
    confidence: float,
) -> GeneralisationBound | None:
    """The bound, where the rows are one for each person and their number is public."""
    if rows is None or problem.labelled.rows_per_person != 1:
        return None
    miss, size = 1.0 - confidence, problem.scores.size
    utility = problem.scores.utility
    cost = learning_bound.privacy_error(mechanism, size, float(utility.half_width), epsilon, miss)
    error = None
    if correct is not None:
        scale = float(utility.one_sided / exact("epsilon", epsilon))
        error = learning_bound.error_bound(correct, scale, size, rows, miss)
    return GeneralisationBound(
        confidence,
        rows,
        size,
        learning_bound.estimation_error(size, rows, miss),
        cost / rows,
        error,
        "sqrt(ln(3 |H|/eta)/(2n)) + sqrt(ln(3/eta)/(2n)) + E(eta/3)/n with "
        + learning_bound.statement(mechanism)
        + "; rows drawn independently from one distribution",
        "Hoeffding 1963; " + learning_bound.source(mechanism),
    )
