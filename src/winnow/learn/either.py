"""The plan of a vote, an additive model or both, whichever is right more often."""

from __future__ import annotations

from winnow.core.key import Key
from winnow.learn.about import AboutRows
from winnow.learn.additive import variants_of
from winnow.learn.crossing.rows import SealedLabelled
from winnow.learn.methods import VoteOrAdditive
from winnow.learn.plan import LearnPlan, adding, coded, given_by, voting
from winnow.learn.predictor import Predictor
from winnow.learn.request import Learn
from winnow.learn.rules import RuleClass
from winnow.learn.settings import longest_rules, sized_either
from winnow.learn.stacked import on_top
from winnow.learn.words import ADDITIVE, BOOSTED, CONJUNCTIONS


def either(method: VoteOrAdditive, asked: Learn, about: AboutRows) -> LearnPlan:
    """Noisy tables and the model that follows; rule after rule on top of it; and a choice."""
    about.two_classes()
    features = about.features(method.cuts)
    length = longest_rules(features)
    rules = RuleClass(features, CONJUNCTIONS, length)
    nobody, given = about.nobody(asked.class_weights), given_by(asked, about)
    sized = sized_either(nobody, len(features), len(rules), given)
    shape, kind = [feature.cardinality for feature in features], f"{BOOSTED}:{length}"

    def model(data: SealedLabelled, key: Key) -> Predictor:
        chosen = sized.either.drawn(data, shape, rules, key)
        if chosen.family is None:
            return voting(about, rules, kind, chosen.rules)
        added = adding(about, features, chosen.family, chosen.number)
        if not chosen.rules:
            return added
        return on_top(added, voting(about, rules, kind, chosen.rules))

    return LearnPlan(
        mechanism=sized.either,
        relation=about.relation,
        guarantee=sized.guarantee,
        draw=model,
        check=sized.either.check,
        reason=sized.reason,
        about=about,
        read=coded(features, asked.class_weights),
        kind=f"{kind} or {ADDITIVE}",
        hypotheses=len(rules) + variants_of(len(features)),
    )
