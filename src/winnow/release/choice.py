"""Which method answers a workload: the least predicted error, from public numbers alone."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

from winnow.errors import ParameterError
from winnow.release.answered import noise_alone, plain_noise
from winnow.release.graphical.whole_workload import MOST_WEIGHED
from winnow.release.methods import METHODS, MeasuredOnce, ReleaseMethod
from winnow.release.prediction import Prediction, reason_for
from winnow.release.rounds.adaptive import selections_pay
from winnow.release.terms import ReleaseTerms


@dataclass(frozen=True, eq=False)
class Compared:
    """What is predicted of every method for a release; nothing depends on data."""

    found: tuple[Prediction, ...]
    """Of each method that can run."""
    refused: tuple[tuple[str, str], ...]
    """The methods that cannot run, each with the reason."""
    plain: Prediction
    """Noise on each cell, or on each query: what nothing chosen is predicted to be worse than."""

    def first(self, taken: str) -> tuple[Prediction, ...]:
        """The one that is taken, then the others from the least error on."""
        return tuple(sorted(self.found, key=lambda each: (each.method != taken, each.score)))


@dataclass(frozen=True, eq=False)
class MethodChoice:
    """The method that is taken, and why."""

    method: ReleaseMethod
    taken: Prediction
    reason: str


def choose(terms: ReleaseTerms) -> MethodChoice:
    """The method with the least predicted error; nothing is predicted of one that cannot win.

    Tables come first, and are quick to predict. A method whose score cannot be below the least one
    so far (``ReleaseMethod.least``) would not be taken by a comparison of all methods either.
    """
    plain = plain_noise(terms).capped(terms.total)
    predicted: list[Prediction] = []
    refused: list[tuple[str, str]] = []
    least = math.inf
    for method in (each() for each in METHODS):
        tabled = any(each.method == "tables" for each in predicted)
        if tabled and method.word() == "adaptive" and not selections_pay(terms):
            continue
        if method.least(terms) > least:
            continue
        made = method.compared(terms)
        if isinstance(made, str):
            refused.append((method.word(), made))
            continue
        predicted.append(made.capped(terms.total))
        least = min(least, _to_beat(predicted[-1], plain))
    compared = Compared(tuple(predicted), tuple(refused), plain)
    taken = _best(compared, terms)
    method = next(each for each in METHODS if each.word() == taken.method)()
    return MethodChoice(method, taken, reason_for(taken, plain))


@lru_cache(maxsize=4)
def compare(terms: ReleaseTerms) -> Compared:
    """What is predicted of every method."""
    predictions: list[Prediction] = []
    refused: list[tuple[str, str]] = []
    for method in METHODS:
        made = method().compared(terms)
        if isinstance(made, Prediction):
            predictions.append(made.capped(terms.total))
        else:
            refused.append((method.word(), made))
    return Compared(tuple(predictions), tuple(refused), plain_noise(terms).capped(terms.total))


_LONG = 120.0
"""Seconds: what is estimated to take longer is not taken unless nothing else is fair."""
_ONCE = tuple(each.word() for each in METHODS if issubclass(each, MeasuredOnce))
_ROUNDING = 1e-3
"""Relative differences of errors that come from rounding noise to whole numbers."""


def _score(each: Prediction) -> float:
    """What methods are compared by."""
    return each.score


def _mean(each: Prediction) -> float:
    """What methods are compared by in a wide domain."""
    return math.inf if each.mean is None else each.mean


def _to_beat(each: Prediction, plain: Prediction) -> float:
    """The score that others have to be below, once this one is fair and quick."""
    beaten = each.worse_than(plain) or each.seconds > _LONG
    return math.inf if beaten else each.score


def _less_noise(fair: list[Prediction], terms: ReleaseTerms) -> list[Prediction]:
    """Of those that measure once and fit a distribution, the one with the least noise.

    All of these are fitted alike, so exact formulas of noise decide, and not what a fit is thought
    to leave of it. The first is taken where they are the same but for rounding.
    """
    once = [each.method for each in fair if each.method in _ONCE]
    if len(once) < 2:
        return fair
    noise = {word: noise_alone(word, terms) for word in once}
    least = min(noise.values()) * (1 + _ROUNDING)
    kept = next(word for word in once if noise[word] <= least)
    return [each for each in fair if each.method == kept or each.method not in noise]


def _best(compared: Compared, terms: ReleaseTerms) -> Prediction:
    """The least predicted error of those that are nowhere worse than plain noise.

    In a wide domain a graphical model and tables are taken before rounds with a weight on each
    cell, whatever the rules of thumb say: on parts of four tables (groceries-25, msweb-35, books,
    generated-30; 10^6 to 10^7 cells, triples, epsilon .1 to 10) a model had .2 to .9 of the largest
    error of MWEM and .46 to .83 of its mean error, in eight settings of eight. Mean errors are
    compared there: the largest error of a model is a rule of thumb, so that plain noise only has
    to be worse in both errors together. On 36 generated wide tables, pairs and triples, the method
    with the smaller predicted mean was .58 to 1.46 times as far off as the other, and more than
    1.15 times in two.
    """
    fair = [each for each in compared.found if not each.worse_than(compared.plain)]
    fair = _less_noise(fair, terms)
    wide = terms.schema.cells > MOST_WEIGHED
    models = [each for each in compared.found if each.method == "graphical"]
    if wide and models and models[0].score <= compared.plain.score:
        fair = [*fair, *(each for each in models if each not in fair)]
    if wide and any(each.method in ("graphical", "tables") for each in fair):
        fair = [each for each in fair if each.method not in ("mwem", "adaptive")]
    quick = [each for each in fair if each.seconds <= _LONG]
    if fair:
        return min(quick or fair, key=_mean if wide else _score)
    for word in ("graphical", "mwem"):  # nothing that plain noise could be compared with
        for each in compared.found:
            if each.method == word:
                return each
    refused = "; ".join(f"{word}: {why}" for word, why in compared.refused)
    raise ParameterError(f"no method can run: {refused}")
