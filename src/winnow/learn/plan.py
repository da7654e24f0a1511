"""Plan a private choice of a classifier: what is promised on new rows, for each mechanism."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from winnow.core.checks import Real, count, delta_range, exact, one_of, positive, probability
from winnow.core.notebook import Card, InNotebook, text_card
from winnow.core.relation import Relation
from winnow.core.schema import Schema
from winnow.core.utility import Utility
from winnow.errors import ParameterError
from winnow.foreign import guarded, shown
from winnow.learn.additive import ADDITIVE, variants_of
from winnow.learn.boosted import BOOSTED
from winnow.learn.bound import MECHANISMS, estimation_error, margin_in_rows, privacy_error, source
from winnow.learn.crossing.rows import check_classes, no_rows
from winnow.learn.problem import feature_names, is_balanced, weighed
from winnow.learn.rules import Hypotheses, RuleClass, parse
from winnow.learn.settings import (
    AUTO,
    balanced_rule,
    because,
    chosen_kind,
    sized_model,
    sized_rules,
)
from winnow.privacy import Guarantee, guarantee_of
from winnow.select.margin_search import THRESHOLDS
from winnow.select.mechanism import PermuteAndFlip


@dataclass(frozen=True)
class LearnRow:
    """What one mechanism promises."""

    mechanism: str
    privacy: float
    """What privacy costs, in accuracy; 1: all of it."""
    excess: float
    """err(released) - min err over the class is at most this, at the confidence; 1 where nothing
    is promised."""
    margin: float | None
    """The assumption, in correct rows: at most `near` hypotheses lie within it of the best;
    None: nothing is assumed."""
    citation: str


@dataclass(frozen=True)
class ModelPlan(InNotebook):
    """What would be learned, as ``winnow.learn`` does with the same public numbers."""

    kind: str
    """As in "boosted:2"."""
    mechanism: str
    """As the receipt would say."""
    guarantee: Guarantee
    reason: str

    def to_dict(self) -> dict[str, Any]:
        """As plain data, ready for JSON."""
        return {**vars(self), "guarantee": self.guarantee.to_dict()}

    def _card(self) -> Card:
        return text_card(str(self))

    def __str__(self) -> str:
        return f"{self.kind}, {self.guarantee}: {self.mechanism}\nwhy: {self.reason}"


@dataclass(frozen=True)
class LearnPlan(InNotebook):
    """What to expect of ``winnow.learn`` before anything is paid for."""

    hypotheses: int
    rows: int
    epsilon: float
    delta: float
    confidence: float
    relation: str
    estimation: float
    """What finitely many rows cost, with or without privacy."""
    table: tuple[LearnRow, ...]
    """What is promised of one rule; nothing is of several that vote or of an additive model."""
    model: ModelPlan | None = None
    """What would be learned, where a schema is given."""

    @property
    def best(self) -> LearnRow:
        """The row with the least excess among those that assume nothing.

        Where none promises anything, permute-and-flip, which needs no assumption to do well.
        """
        if not self.table:
            raise ParameterError("nothing is promised of this model on new rows; see plan.model")
        return min(
            (row for row in self.table if row.margin is None),
            key=lambda row: (row.excess, row.mechanism == "large-margin"),
        )

    def to_dict(self) -> dict[str, Any]:
        """The plan as plain data, ready for JSON."""
        found = {**vars(self), "table": [vars(row) for row in self.table]}
        return found | {"model": None if self.model is None else self.model.to_dict()}

    def _card(self) -> Card:
        return text_card(str(self))

    def __str__(self) -> str:
        sure = f"{100 * self.confidence:.6g} %"
        about = [] if self.model is None else [str(self.model)]
        if not self.table:
            return "\n".join(about)
        lines = [
            *about,
            f"{self.hypotheses:,} hypotheses, {self.rows:,} rows, epsilon {self.epsilon:.6g}: at "
            f"{sure} the error rate exceeds the best of the class by at most",
        ]
        for row in self.table:
            words = "" if row.margin is None else f", if the next lies {row.margin:.0f} rows behind"
            promised = f"{row.excess:.4f}{words}" if row.excess < 1 else "nothing is promised"
            lines.append(f"{row.mechanism:<18}{promised}")
        return "\n".join(lines)


@guarded
def learn(
    *,
    hypotheses: int | str | Hypotheses = AUTO,
    rows: int,
    epsilon: Real,
    delta: Real = 0.0,
    near: int | None = None,
    thresholds: str = "tight",
    confidence: Real = 0.95,
    relation: str | Relation = Relation.SUBSTITUTION,
    schema: Any = None,
    target: str | None = None,
    class_weights: Any = None,
) -> LearnPlan:
    """Say what ``winnow.learn`` promises on new rows, from public numbers alone.

    ``hypotheses`` is the size of the class, ``rows`` the number of rows, one for each person.
    With ``near`` there is a further row for the large margin mechanism: what it promises if
    all but `near` hypotheses lie far enough behind the best, and how far that is.

    With a ``schema`` and the column ``target``, ``hypotheses`` are those of ``winnow.learn`` in
    words ("auto" if nothing is said), and ``model`` says what would be learned, with which
    mechanism, guarantee and reason. Under add-remove give ``winnow.learn`` the same ``rows``.
    """
    count(rows=rows)
    positive(epsilon=epsilon)
    delta_range(delta=delta)
    probability(confidence=confidence)
    one_of(THRESHOLDS, thresholds=thresholds)
    unit = Relation.parse(relation)
    model = None
    if isinstance(hypotheses, str | Hypotheses):
        if schema is None or target is None:
            raise ParameterError(
                f"hypotheses={shown(hypotheses)} are planned over a schema; give schema= and "
                "target=, or the number of hypotheses"
            )
        asked = parse(hypotheses)
        model, size = _model(asked, schema, target, class_weights, unit, rows, epsilon, delta)
    elif schema is not None or target is not None or class_weights is not None:
        raise ParameterError(
            "schema, target and class_weights are for hypotheses in words, such as 'auto'; leave "
            "out the number"
        )
    else:
        count(hypotheses=hypotheses)
        size = int(hypotheses)
    bounded = class_weights is None and (model is None or _is_one_rule(model.kind))
    table = _promised(size, rows, epsilon, delta, near, thresholds, float(confidence), unit)
    first = estimation_error(size, rows, 1.0 - float(confidence))
    return LearnPlan(
        size,
        int(rows),
        float(epsilon),
        float(delta),
        float(confidence),
        str(unit),
        min(first, 1.0),
        table if bounded else (),
        model,
    )


def _is_one_rule(kind: str) -> bool:
    return not kind.startswith((ADDITIVE, BOOSTED))


def _promised(
    size: int,
    rows: int,
    epsilon: Real,
    delta: Real,
    near: int | None,
    thresholds: str,
    confidence: float,
    relation: Relation,
) -> tuple[LearnRow, ...]:
    """What each mechanism promises of one rule."""
    utility = Utility.declare(1, monotone=True, relation=relation)
    half, miss = float(utility.half_width), 1.0 - confidence
    first = estimation_error(size, rows, miss)
    approximate = exact("delta", delta) > 0
    if near is not None:
        count(near=near)
        if not approximate:
            raise ParameterError("near is for the large margin mechanism, which needs delta > 0")
        if near > size:
            raise ParameterError(f"near={near} exceeds {size} hypotheses; lower it")

    def row(mechanism: str, among: int, margin: float | None) -> LearnRow:
        cost = privacy_error(mechanism, among, half, epsilon, miss) / rows
        excess = min(first + cost, 1.0)  # an error rate is no higher
        return LearnRow(mechanism, min(cost, 1.0), excess, margin, source(mechanism))

    table = [row(name, size, None) for name in MECHANISMS[0 if approximate else 1 :]]
    if near is not None:
        margin = margin_in_rows(near, half, epsilon, delta, thresholds, miss)
        table.append(row("large-margin", near, margin))
    return tuple(table)


def _model(
    asked: Hypotheses,
    schema: Any,
    target: str,
    class_weights: Any,
    relation: Relation,
    rows: int,
    epsilon: Real,
    delta: Real,
) -> tuple[ModelPlan, int]:
    """What would be learned over a schema, and how many hypotheses there are."""
    declared = Schema.parse(schema)
    classes = tuple(declared.column(target).labels)
    named = feature_names(declared, target)
    features = asked.over(declared.subset(named)).features
    held = weighed(no_rows(classes, relation), class_weights)
    check_classes(target, len(classes), many=asked.kind in (AUTO, ADDITIVE))
    even, why = is_balanced(class_weights), ""
    shared: dict[str, Any] = {
        "epsilon": epsilon, "delta": delta, "balanced": even, "accountant": "best"
    }  # fmt: skip
    if asked.kind == AUTO:
        kind = chosen_kind(held, features, rows=rows, alone=False, **shared)
        asked, why = kind.hypotheses, kind.reason
    if asked.kind == ADDITIVE:
        sized = sized_model(held, len(features), **shared)
        name = sized.model.name
        said = ModelPlan(ADDITIVE, name, sized.guarantee, because(why, sized.reason))
        return said, variants_of(len(features))
    size = len(RuleClass(features, "conjunctions" if asked.kind == BOOSTED else asked.kind,
                         asked.size))  # fmt: skip
    if asked.kind == BOOSTED:
        votes = sized_rules(held, size, rows=rows, rounds=asked.rounds, **shared)
        words, name = f"{BOOSTED}:{asked.size}", votes.rules.name
        return ModelPlan(words, name, votes.guarantee, because(why, votes.reason)), size
    rule = balanced_rule(epsilon) if even else PermuteAndFlip(epsilon)
    promised = guarantee_of(rule.promise(relation).event)
    words = RuleClass(features, asked.kind, asked.size).name
    return ModelPlan(words, rule.name, promised, why), size
