"""The plan of a model whose chances are calibrated."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, cast

from winnow.core.checks import exact
from winnow.core.key import Key
from winnow.errors import ParameterError
from winnow.learn.about import AboutRows
from winnow.learn.chances import ScoredPredictor
from winnow.learn.crossing.calibrated import CalibratedModel
from winnow.learn.labelled import Labelled
from winnow.learn.methods import OneRule
from winnow.learn.predictor import Predictor
from winnow.learn.request import Learn

if TYPE_CHECKING:
    from winnow.learn.plan import LearnPlan

SHARE = Fraction(1, 20)
"""The part of epsilon that calibrates: two numbers are fitted to all rows, which bears noise."""


def plan_calibrated(asked: Learn, about: AboutRows) -> LearnPlan:
    """What is learned with most of epsilon, and noisy counts of what it says."""
    listed = isinstance(asked.method, OneRule) and bool(asked.method.functions)
    if about.predictions is not None or listed:
        raise ParameterError(
            "calibrated is for rules and additive models over columns; leave it out for "
            "predictions and functions of your own"
        )
    epsilon = exact("epsilon", asked.epsilon)
    first = replace(asked, epsilon=(1 - SHARE) * epsilon, calibrated=False).plan(about)
    mechanism = CalibratedModel(first.mechanism, SHARE * epsilon, first.guarantee.delta)

    def model(data: Labelled, key: Key) -> Predictor:
        made = cast(ScoredPredictor, first.draw(first.ready(data), key.child("model")))
        rows = data.coded(made.features)
        return replace(made, calibration=mechanism.drawn(rows, made, key.child("calibration")))

    def check(data: Labelled) -> None:
        first.check(first.ready(data))
        mechanism.check(data.labels)

    return replace(
        first,
        mechanism=mechanism,
        guarantee=mechanism.guarantee(mechanism.promise(about.relation)),
        draw=model,
        check=check,
        read=lambda data: data,
    )
