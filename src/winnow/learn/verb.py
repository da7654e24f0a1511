"""``winnow.learn``: the (nearly) most accurate classifier of a public class, privately."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from inspect import Parameter, signature
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar

from winnow.core.options import takes
from winnow.core.released import Released
from winnow.learn.labelled import Labelled, labelled
from winnow.learn.predictor import Predictor
from winnow.learn.request import Learn

P = ParamSpec("P")
R = TypeVar("R", covariant=True)


class OfPairs(Protocol[P, R]):
    """A verb of labelled rows, or of X and y."""

    def __call__(self, X: Any, y: Any = None, *args: P.args, **options: P.kwargs) -> R:
        """Label the rows, if they are not, and go on."""


def of_pairs(verb: Callable[Concatenate[Labelled, P], R]) -> OfPairs[P, R]:
    """A verb of labelled rows that takes X and y, too."""

    run: Any = verb

    @wraps(run)
    def called(X: Any, y: Any = None, **options: Any) -> Any:
        try:
            return run(labelled(X, y), **options)
        finally:  # a frame that an error passes through keeps no data
            del X, y, options

    first = [
        Parameter("X", Parameter.POSITIONAL_OR_KEYWORD, annotation="Any"),
        Parameter("y", Parameter.POSITIONAL_OR_KEYWORD, default=None, annotation="Any"),
    ]
    whole = signature(verb)
    own = whole.replace(parameters=[*first, *list(whole.parameters.values())[1:]])
    called.__signature__ = own  # type: ignore[attr-defined]
    taken: Any = called
    return taken  # type: ignore[no-any-return]


@of_pairs
@takes(Learn)
def learn(rows: Labelled, asked: Learn) -> Released[Predictor]:
    """Choose the classifier with (nearly) the most correct rows, privately.

    ``X`` is a sealed table and ``y`` names its column of classes; or ``X`` is an array or a data
    frame with a row for each person and ``y`` holds labels, 0 and 1. Other classes, a schema of
    the columns, another relation, a public number of rows and predictions in the place of ``X``
    are said by ``wn.labelled``, whose result stands in the place of both.

    ``method`` says what is learned. "auto" (default) takes ``wn.Additive()`` for more than two
    classes. For two it takes ``wn.VoteOrAdditive()``: an additive model and rules on top of it,
    each for nearly half of epsilon, and of these what is right most often, alone or together.
    Columns of more than 64 numbers are cut at private quantiles, for a tenth of epsilon. Where
    too few rows are left for a vote it is one rule (``wn.OneRule(of=)``). It goes by public
    numbers, and the receipt says why. A class of rules in words ("thresholds", "stumps",
    "intervals", "conjunctions:2") is one rule of it. Arrays need public ``cuts=`` in the
    method, or a schema. Nothing else is learned from the data.

    ``class_weights`` says what a correct row of each class counts. "auto" (default) goes with the
    automatic method: noisy sizes of the classes are measured, and where these say
    that one has less than half of an even share, every class counts the same (balanced accuracy).
    With a method that was named every row counts the same, and so it does by None. Or give a number
    for each class, in their order or by name, rounded to thousandths of the largest. For balanced
    accuracy give the inverse of each class's share, as far as that is public, or "balanced": a
    tenth of epsilon then buys the noisy sizes of the classes, and weights follow from these; where
    an additive model is learned they are the noisy sizes that it measures anyway.

    One person moves the number of correct rows by at most the rows that they have; under
    add-remove only one way, which halves the noise. The ``bound`` of one rule says how far it is
    from the best of the class on new rows; it needs a public number of rows.
    """
    return asked.plan(rows).run(rows, budget=asked.budget, seed=asked.seed)
