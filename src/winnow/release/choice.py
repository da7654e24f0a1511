"""Which method answers a workload: the least predicted error, from public numbers alone."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

from winnow.core.workloads.part import table_columns
from winnow.errors import ParameterError
from winnow.release.answered import plain_noise
from winnow.release.graphical.whole_workload import MOST_WEIGHED
from winnow.release.methods import METHODS, Adaptive, ReleaseMethod
from winnow.release.prediction import Prediction, reason_for
from winnow.release.rounds.adaptive import adaptive_settings
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
    """The method with the least predicted error."""
    compared = compare(terms)
    wide = terms.schema.cells > MOST_WEIGHED
    word = _best(compared, wide=wide, in_rounds=_selections_pay(terms))
    method = next(each for each in METHODS if each.word() == word)()
    taken = next(each for each in compared.found if each.method == word)
    return MethodChoice(method, taken, reason_for(taken, compared.plain))


def _selections_pay(terms: ReleaseTerms) -> bool:
    """Whether rounds over whole tables measure fewer than half of the tables.

    Who measures most of them anyway gains nothing by selecting, and pays for it: on 61 generated
    settings (``benchmarks/choice.py``) .90 of the choices were within 1.15 of the best by this
    rule, and .87 to .89 where rounds might take as many tables as there are.
    """
    if None in map(table_columns, terms.workload.parts):
        return False
    near = "pure" if terms.pure else "zcdp"  # quick, and near enough for the number of rounds
    try:
        planned = adaptive_settings(Adaptive(), replace(terms, accountant=near))
    except ParameterError:
        return False
    return 2 * planned.rounds.rounds < len(terms.workload.parts)


@lru_cache(maxsize=4)
def compare(terms: ReleaseTerms) -> Compared:
    """What is predicted of every method."""
    found: list[Prediction] = []
    refused: list[tuple[str, str]] = []
    for method in METHODS:
        made = method().compared(terms)
        if isinstance(made, Prediction):
            found.append(made.capped(terms.total))
        else:
            refused.append((method.word(), made))
    return Compared(tuple(found), tuple(refused), plain_noise(terms).capped(terms.total))


_RISING = 1.05
"""Prefixes that rise gain less by the root of prefixes than by trees. Chosen on five histograms of
4,096 cells, where scores were 1.06 times what was predicted of their ratio, and checked on two of
256 cells."""
_LONG = 120.0
"""Seconds: what is estimated to take longer is not taken unless nothing else is fair."""
_KNOWN_BETTER = {"toeplitz": _RISING}


def _expected(each: Prediction) -> float:
    """What methods are compared by: the predicted score, with what it does not know."""
    return each.score * _KNOWN_BETTER.get(each.method, 1.0)


def _best(compared: Compared, *, wide: bool, in_rounds: bool) -> str:
    """The least predicted error of those that are nowhere worse than plain noise.

    In a wide domain a graphical model is taken before a weight on each cell, whatever the rules of
    thumb say: on parts of four tables (groceries-25, msweb-35, books, generated-30; 10^6 to 10^7
    cells, triples, epsilon .1 to 10) it had .2 to .9 of the largest error of MWEM and .46 to .83 of
    its mean error, in eight settings of eight.
    """
    found = compared.found
    if not in_rounds and any(each.method == "tables" for each in found):
        found = tuple(each for each in found if each.method != "adaptive")
    fair = [each for each in found if not each.worse_than(compared.plain)]
    if wide and any(each.method == "graphical" for each in fair):
        fair = [each for each in fair if each.method != "mwem"]
    quick = [each for each in fair if each.seconds <= _LONG]
    if fair:
        return min(quick or fair, key=_expected).method
    for word in ("graphical", "mwem"):  # nothing that plain noise could be compared with
        if any(each.method == word for each in found):
            return word
    refused = "; ".join(f"{word}: {why}" for word, why in compared.refused)
    raise ParameterError(f"no method can run: {refused}")
