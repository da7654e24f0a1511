"""``winnow.learn``: the (nearly) most accurate classifier of a public class, privately.

Here it is checked, charged and released; what is fixed before is in ``settings``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from winnow.core.checks import Real, count, delta_range, exact, one_of, probability
from winnow.core.key import Key
from winnow.core.plan import Plan, plan_of
from winnow.core.relation import Relation
from winnow.core.released import Released
from winnow.errors import ParameterError
from winnow.foreign import guarded, shown
from winnow.learn import bound as learning_bound
from winnow.learn.additive import ADDITIVE, AdditivePredictor
from winnow.learn.boosted import BOOSTED, BoostedPredictor
from winnow.learn.bound import GeneralisationBound
from winnow.learn.crossing.rows import SealedLabelled
from winnow.learn.features import Feature
from winnow.learn.predictor import Predictor
from winnow.learn.problem import (
    Problem,
    asked_model,
    featured_rows,
    is_balanced,
    problem_of,
    public_rows_of,
    read_once,
    rule_predictor,
    ruled_rows,
    weighed,
)
from winnow.learn.rules import Hypotheses, RuleClass
from winnow.learn.settings import (
    AUTO,
    SIZES,
    Given,
    balanced_rule,
    because,
    chosen_kind,
    sized_model,
    sized_rules,
)
from winnow.privacy import Budget, guarantee_of
from winnow.privacy.sizing import rounds_accountant
from winnow.select.crossing import Selection
from winnow.select.table import selection_named
from winnow.topk.mechanisms.noisy_counts import WithCounts


@guarded
def learn(
    X: Any,
    y: Any,
    *,
    hypotheses: Any = AUTO,
    epsilon: Real,
    delta: Real = 0.0,
    mechanism: str | None = None,
    thresholds: str | None = None,
    schema: Any = None,
    classes: Sequence[Any] | None = None,
    relation: str | Relation | None = None,
    with_accuracy: bool = False,
    class_weights: Any = None,
    rows: int | None = None,
    confidence: Real = 0.95,
    budget: Budget | None = None,
    seed: int | None = None,
) -> Released[Predictor]:
    """Choose the classifier with (nearly) the most correct rows, privately.

    ``X`` and ``y`` are private. Either ``X`` is a sealed table (or whatever ``read_table``
    reads, with ``schema``) and ``y`` names its column of classes; or ``X`` is an array or
    a data frame and ``y`` its labels, each one of the public ``classes`` (negative, positive),
    0 and 1 if nothing is said. Only "additive" takes more than two classes.

    ``hypotheses`` says what is learned. "auto" (default) takes "additive" for more than two
    classes, and for two a vote of rules, or one rule where the rows are too few for a vote; it
    goes by public numbers, and the receipt says why. Else it is a public class: "thresholds",
    "stumps", "intervals" or "conjunctions:2" over the schema; ``wn.stumps(cuts=[...])`` and the
    like with public cut points for arrays; an array of predictions with a row for each hypothesis;
    or a list of functions of ``X``. A prediction must depend on its own row only. Nothing is
    learned from the data but the choice. "boosted" (``wn.boosted(rounds=...)``) chooses
    conjunctions one after the other, each for the rows that the vote of those before does not
    have yet. "additive" (``wn.additive(cuts=...)``) measures tables of classes by values with
    noise and chooses one of the models that add up points from them.

    ``class_weights`` says what a correct row of each class counts: a number for each class, in
    their order or by name, rounded to thousandths of the largest. For balanced accuracy give
    the inverse of each class's share, as far as that is public, or "balanced": a tenth of epsilon
    then buys the noisy sizes of the classes, and weights follow from these; "additive" balances
    the noisy sizes that it measures anyway.

    ``mechanism`` is "permute-and-flip" (default: it promises the least error of the three, with
    or without a delta), "exponential" or "large-margin" (``thresholds``). One person
    moves the number of correct rows by at most the rows that they have; under add-remove only
    one way, which halves the noise.

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
    alone = mechanism is not None or thresholds is not None or with_accuracy
    asked, why = asked_model(hypotheses), ""
    if asked is not None and asked.kind == AUTO:
        X, schema = read_once(X, y, asked, schema, classes, relation)
        labelled, features = featured_rows(X, y, asked, schema, classes, relation)
        kind = chosen_kind(
            weighed(labelled, class_weights),
            features,
            rows=public_rows_of(labelled, rows),
            epsilon=epsilon,
            delta=delta,
            balanced=is_balanced(class_weights),
            accountant=rounds_accountant(budget),
            alone=alone,
        )
        hypotheses, why = replace(kind.hypotheses, cuts=asked.cuts), kind.reason
        asked = asked_model(hypotheses)
    if asked is not None:
        if alone:
            raise ParameterError(
                "mechanism, thresholds and with_accuracy are for one rule of a class; leave them "
                f"out with hypotheses={asked.kind!r}"
            )
        labelled, features = featured_rows(X, y, asked, schema, classes, relation)
        labelled, even = weighed(labelled, class_weights), is_balanced(class_weights)
        public = public_rows_of(labelled, rows)
        given = Given(epsilon, delta, even, public, rounds_accountant(budget))
        planned = (_boosted if asked.kind == BOOSTED else _additive)(
            asked, labelled, features, given
        )
        return _because(planned.run(labelled, budget=budget, seed=seed), why)
    if is_balanced(class_weights):
        if mechanism not in (None, "permute-and-flip") or thresholds is not None or with_accuracy:
            raise ParameterError(
                "a rule with class_weights='balanced' is chosen by permute-and-flip, and its "
                "accuracy is not released; leave out mechanism, thresholds and with_accuracy, or "
                "give a weight for each class"
            )
        delta_range(delta=delta)
        labelled, rules = ruled_rows(X, y, hypotheses, schema, classes, relation)
        public = public_rows_of(labelled, rows)
        planned = _balanced(labelled, rules, epsilon, public)
        return _because(planned.run(labelled, budget=budget, seed=seed), why)
    chosen = mechanism or ("permute-and-flip" if thresholds is None else "large-margin")
    one_of(learning_bound.MECHANISMS, mechanism=chosen)
    share = exact("epsilon", epsilon) / 2 if with_accuracy else epsilon
    delta_range(delta=delta)
    if mechanism is None and chosen == "permute-and-flip":
        delta = 0  # allowed, and not needed
    selection: Selection = selection_named(
        chosen, epsilon=share, delta=delta, thresholds=thresholds
    )
    problem = problem_of(X, y, hypotheses, schema, classes, relation, class_weights)
    by_class = problem.labelled.class_weights is not None
    if by_class and with_accuracy:
        raise ParameterError(
            "with_accuracy counts rows and class_weights weigh them; leave out one of the two"
        )
    public_rows = public_rows_of(problem.labelled, rows)
    running: Selection = WithCounts(selection, share, 1) if with_accuracy else selection
    reason = ""
    if mechanism is None:
        least = "it promises the least error: 2 Delta ln(|H|/eta)/epsilon, and needs no delta"
        reason = least if thresholds is None else "thresholds were given"

    def predictor(selected: list[Any]) -> Predictor:
        number, correct = selected[0] if with_accuracy else (selected[0], None)
        bound = None
        if not by_class:
            bound = _bound(problem, chosen, share, correct, public_rows, float(confidence))
        made = problem.predictor(number)
        return replace(made, correct=correct, rows=public_rows, bound=bound)

    plan = plan_of(running, problem.scores.relation, reason=reason)
    released = plan.run(problem.scores, budget=budget, seed=seed)
    return _because(released.map(predictor), why)


def _because(found: Released[Predictor], why: str) -> Released[Predictor]:
    """With the reason for the kind before that for its mechanism, where Winnow chose it."""
    said = because(why, found.receipt.reason)
    return replace(found, receipt=replace(found.receipt, reason=said))


def _boosted(
    asked: Hypotheses, labelled: SealedLabelled, features: tuple[Feature, ...], given: Given
) -> Plan[SealedLabelled, Predictor]:
    """Rule after rule, and the vote."""
    rules = RuleClass(features, "conjunctions", asked.size)
    sized = sized_rules(labelled, len(rules), rounds=asked.rounds, **vars(given))

    def vote(data: SealedLabelled, key: Key) -> Predictor:
        numbers = sized.rules.drawn(data, rules, key)
        return BoostedPredictor(
            data.classes, numbers[0], len(rules), f"{BOOSTED}:{asked.size}", None, given.rows, None,
            features, tuple(rules.rule(number) for number in numbers), numbers,
        )  # fmt: skip

    return Plan(
        mechanism=sized.rules,
        relation=labelled.relation,
        guarantee=sized.guarantee,
        draw=vote,
        check=sized.rules.check,
        reason=sized.reason,
    )


def _additive(
    asked: Hypotheses, labelled: SealedLabelled, features: tuple[Feature, ...], given: Given
) -> Plan[SealedLabelled, Predictor]:
    """Noisy tables, and one of the models that follow from them."""
    sized = sized_model(labelled, len(features), **vars(given))
    shape = [feature.cardinality for feature in features]

    def model(data: SealedLabelled, key: Key) -> Predictor:
        family, number = sized.model.drawn(data, shape, key)
        points, start = family.model(number)
        return AdditivePredictor(
            data.classes, number, len(family.variants), ADDITIVE, None, given.rows, None, features,
            tuple(points.items()), tuple(start.tolist()),
        )  # fmt: skip

    return Plan(
        mechanism=sized.model,
        relation=labelled.relation,
        guarantee=sized.guarantee,
        draw=model,
        check=sized.model.check,
        reason=sized.reason,
    )


def _balanced(
    labelled: SealedLabelled, rules: RuleClass, epsilon: Real, rows: int | None
) -> Plan[SealedLabelled, Predictor]:
    """The sizes of the classes, and a rule."""
    choice, made = balanced_rule(epsilon), rule_predictor(labelled.classes, rules)

    def rule(data: SealedLabelled, key: Key) -> Predictor:
        return replace(made(choice.drawn(data, rules, key)), rows=rows)

    why = f"{SIZES} of epsilon for the sizes of the classes, the rest for the choice"
    return Plan(
        mechanism=choice,
        relation=labelled.relation,
        guarantee=guarantee_of(choice.promise(labelled.relation).event),
        draw=rule,
        check=choice.check,
        reason=why,
    )


def _bound(
    problem: Problem,
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
