"""``winnow.plan.learn``: the plan that ``winnow.learn`` runs, from public facts alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from winnow.core.checks import exact
from winnow.core.key import Key
from winnow.core.notebook import Card, InNotebook, text_card
from winnow.core.options import AUTO, takes
from winnow.core.plan import Plan
from winnow.errors import ParameterError
from winnow.foreign import shown
from winnow.learn.about import AboutRows
from winnow.learn.additive import AdditiveFamily, AdditivePredictor, variants_of
from winnow.learn.binned import plan_in_bins, wide_places
from winnow.learn.boosted import BoostedPredictor
from winnow.learn.bound import RuleBound, RuleBounds
from winnow.learn.calibrated import plan_calibrated
from winnow.learn.crossing.rows import SealedLabelled
from winnow.learn.features import Feature
from winnow.learn.labelled import Labelled
from winnow.learn.methods import Additive, Boosted, LearnMethod, OneRule, VoteOrAdditive
from winnow.learn.predictor import Predictor
from winnow.learn.request import Learn
from winnow.learn.rules import RuleClass
from winnow.learn.settings import (
    Given,
    because,
    longest_rules,
    rules_of_half,
    sized_model,
    sized_rules,
)
from winnow.learn.weights import is_balanced, weighed, where_rare
from winnow.learn.words import ADDITIVE, BOOSTED, CONJUNCTIONS
from winnow.privacy.sizing import as_all_there_is, rounds_accountant


@dataclass(frozen=True, kw_only=True, eq=False)
class LearnPlan(Plan[Any, Predictor], InNotebook):
    """What ``winnow.learn`` charges, draws and promises, before rows are looked at."""

    about: AboutRows = field(repr=False)
    """What is public of the rows."""
    read: Callable[[Labelled], Any] = field(repr=False)
    """What is drawn from, made of the rows and still sealed; it refuses what cannot be read."""
    kind: str
    """As in "boosted:2"."""
    hypotheses: int
    """How many of them there are."""
    expected: RuleBounds | None = None
    """What is promised of one rule on new rows; nothing is of a vote or of an additive model."""
    compared: tuple[RuleBound, ...] = ()
    """What other mechanisms promise of one rule."""
    error: float | None = None
    """By how much the error rate exceeds the best of the class at most, where that is promised."""

    def ready(self, data: Any) -> Labelled:
        """The rows as the draw takes them; those of another plan are refused."""
        if not isinstance(data, Labelled):
            raise ParameterError(
                f"a {type(data).__name__} is not labelled; give wn.labelled(X, y) or "
                "wn.labelled(table, 'column')"
            )
        self.about.check(data.about)
        rows: Labelled = self.read(data)
        return rows

    def near(self, number: int) -> LearnPlan:
        """With what large-margin promises if only so many hypotheses lie near the best."""
        if self.expected is None:
            raise ParameterError("nothing is promised about this model on new rows; leave out near")
        expected = self.expected.near(number)
        return replace(self, expected=expected, compared=expected.table)

    def to_dict(self) -> dict[str, Any]:
        """The plan as plain data, ready for JSON."""
        return {
            "kind": self.kind,
            "mechanism": self.name,
            "guarantee": self.guarantee.to_dict(),
            "reason": self.reason,
            "hypotheses": self.hypotheses,
            "rows": self.about.rows,
            "relation": str(self.relation),
            "error": self.error,
            "expected": None if self.expected is None else self.expected.to_dict(),
        }

    def _card(self) -> Card:
        return text_card(str(self))

    def __str__(self) -> str:
        lines = f"{self.kind}, {self.guarantee}: {self.name}\nwhy: {self.reason}"
        return lines if self.expected is None else f"{lines}\n{self.expected}"


@takes(Learn)
def learn(about: AboutRows | Labelled, asked: Learn) -> LearnPlan:
    """Say what ``winnow.learn`` does with such rows; nothing is read and nothing is spent.

    ``about`` are labelled rows, of which only what is public is looked at, or
    ``wn.plan.labelled(schema, target, rows=)`` where there are none yet. The options are those of
    ``winnow.learn``. The plan says what is learned and why, what it is charged and what is
    promised of it on new rows; ``plan.run(rows, budget=)`` releases it.
    """
    return asked.plan(about)


@as_all_there_is
def planned(asked: Learn, about: AboutRows | Labelled) -> LearnPlan:
    """The plan of a request, by what is public of the rows."""
    public = about.about if isinstance(about, Labelled) else about
    if not isinstance(public, AboutRows):
        raise ParameterError(
            f"a {type(about).__name__} does not describe rows to learn from; give "
            "wn.plan.labelled(schema, target), or labelled rows"
        )
    if wide := wide_places(public):
        return plan_in_bins(asked, public, wide)
    if asked.calibrated:
        return plan_calibrated(asked, public)
    method, why = asked.method, ""
    if where_rare(asked.class_weights) and (method != AUTO or public.predictions is not None):
        asked = replace(asked, class_weights=None)
    if method == AUTO:
        method, why = _chosen(asked, public)
    if not isinstance(method, LearnMethod):
        raise ParameterError(
            f"method={shown(method)} is not a method of learning; give wn.Boosted(), "
            "wn.Additive(), wn.OneRule() or a word"
        )
    plan = method.plan(asked, public)
    return replace(plan, reason=because(why, plan.reason))


def _chosen(asked: Learn, about: AboutRows) -> tuple[LearnMethod, str]:
    """What "auto" stands for, and why.

    An additive model of more than two classes. Of two a vote, an additive model or both, whatever
    is right most often, where the rows are enough for a vote; then one rule.
    """
    if about.predictions is not None:
        return OneRule(), ""
    features, nobody = about.features(None), about.nobody(asked.class_weights)
    if len(about.classes) > 2:
        return Additive(), f"additive for {len(about.classes)} classes"
    length = longest_rules(features)
    size = len(RuleClass(features, CONJUNCTIONS, length))
    given = given_by(asked, about)
    sized = sized_rules(nobody, size, rounds=None, **vars(given))
    if sized.rules.rounds == 1:
        return OneRule(), f"one rule: {sized.reason}"
    half = rules_of_half(nobody, size, given, exact("epsilon", given.epsilon))
    return VoteOrAdditive(), f"a vote or an additive model: {half.reason}"


def given_by(asked: Learn, about: AboutRows) -> Given:
    """The public numbers that sizes follow from."""
    return Given(
        asked.epsilon,
        asked.delta,
        is_balanced(asked.class_weights),
        about.rows,
        rounds_accountant(asked.budget),
        where_rare(asked.class_weights),
    )


def boosted(method: Boosted, asked: Learn, about: AboutRows) -> LearnPlan:
    """Rule after rule, and the vote."""
    about.two_classes()
    features = about.features(method.cuts)
    size = int(method.size)
    rules = RuleClass(features, CONJUNCTIONS, size)
    nobody, given = about.nobody(asked.class_weights), given_by(asked, about)
    sized = sized_rules(nobody, len(rules), rounds=method.rounds, **vars(given))
    kind = f"{BOOSTED}:{size}"

    def vote(data: SealedLabelled, key: Key) -> Predictor:
        return voting(about, rules, kind, sized.rules.drawn(data, rules, key))

    return LearnPlan(
        mechanism=sized.rules,
        relation=about.relation,
        guarantee=sized.guarantee,
        draw=vote,
        check=sized.rules.check,
        reason=sized.reason,
        about=about,
        read=coded(features, asked.class_weights),
        kind=kind,
        hypotheses=len(rules),
    )


def additive(method: Additive, asked: Learn, about: AboutRows) -> LearnPlan:
    """Noisy tables, and one of the models that follow from them."""
    features = about.features(method.cuts)
    nobody, given = about.nobody(asked.class_weights), given_by(asked, about)
    sized = sized_model(nobody, len(features), **vars(given))
    shape = [feature.cardinality for feature in features]

    def model(data: SealedLabelled, key: Key) -> Predictor:
        return adding(about, features, *sized.model.drawn(data, shape, key))

    return LearnPlan(
        mechanism=sized.model,
        relation=about.relation,
        guarantee=sized.guarantee,
        draw=model,
        check=sized.model.check,
        reason=sized.reason,
        about=about,
        read=coded(features, asked.class_weights),
        kind=ADDITIVE,
        hypotheses=variants_of(len(features)),
    )


def voting(
    about: AboutRows, rules: RuleClass, kind: str, numbers: tuple[int, ...]
) -> BoostedPredictor:
    """The predictor of a vote."""
    return BoostedPredictor(
        about.classes, numbers[0], len(rules), kind, None, about.rows, None,
        rules.features, tuple(rules.rule(number) for number in numbers), numbers,
    )  # fmt: skip


def adding(
    about: AboutRows, features: tuple[Feature, ...], family: AdditiveFamily, number: int
) -> AdditivePredictor:
    """The predictor of an additive model."""
    points, start = family.model(number)
    return AdditivePredictor(
        about.classes, number, len(family.variants), ADDITIVE, None, about.rows, None, features,
        tuple(points.items()), tuple(start.tolist()),
    )  # fmt: skip


def coded(
    features: tuple[Feature, ...], class_weights: Any
) -> Callable[[Labelled], SealedLabelled]:
    """What reads rows as the codes of these features, with weights that were given."""
    return lambda data: weighed(data.coded(features), class_weights)
