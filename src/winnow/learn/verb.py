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
    """Learn a classifier with (nearly) the most correct rows.

    ``X`` is a sealed table, and ``y`` names its column of classes. Or ``X`` is an array or a data
    frame with a row for each person, and ``y`` holds labels, 0 and 1. For other classes, a schema
    of the columns, another relation, a public number of rows, or predictions in place of ``X``,
    pass ``wn.labelled(...)`` in place of both.

    ``method`` says what is learned:

    - "auto" (default) takes ``wn.Additive()`` for more than two classes. For two it takes
      ``wn.VoteOrAdditive()``: an additive model and rules on top of it, each for nearly half of
      epsilon, and then whichever is right most often, one of them or both together. If there are
      too few rows for a vote, it takes one rule. It decides by public numbers, and the receipt
      says why.
    - ``wn.OneRule(of=)`` is one rule of a class. A class in words ("thresholds", "stumps",
      "intervals", "conjunctions:2") means one rule of it.

    Columns of more than 64 numbers are cut at private quantiles, for a tenth of epsilon. Arrays
    need public ``cuts=`` in the method, or a schema. Nothing else is learned from the data.

    ``class_weights`` says how much a correct row of each class counts:

    - "auto" (default) depends on the method. The automatic method measures noisy sizes of the
      classes. If one class has less than half of an even share, every class counts the same
      (balanced accuracy). With a method that you name, every row counts the same.
    - None counts every row the same.
    - "balanced" counts every class the same. A tenth of epsilon pays for the noisy sizes of the
      classes; an additive model measures them anyway.
    - Or give a public number for each class, in their order or by name. The numbers are rounded to
      thousandths of the largest.

    One person moves the number of correct rows by at most their own rows; under add-remove in one
    direction only, which halves the noise. The ``bound`` of one rule says how far it is from the
    best of the class on new rows. It needs a public number of rows.
    """
    return asked.plan(rows).run(rows, budget=asked.budget, seed=asked.seed)
