"""Everything that the choice of a method needs, and the choice; before data are looked at."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from winnow.core.options import AUTO
from winnow.errors import ParameterError
from winnow.release.graphical.predicted import predict_graphical
from winnow.release.graphical.whole_workload import MOST_WEIGHED
from winnow.release.matrices.linear import LinearPlan, plan_explicit, plan_queries, plan_toeplitz
from winnow.release.prediction import Prediction
from winnow.release.rounds.predicted import predict_adaptive, predict_mwem
from winnow.release.tables.answered import TablesPlan, plan_tables
from winnow.release.terms import ReleaseTerms


@dataclass(frozen=True, eq=False)
class MethodChoice:
    """Which method is taken, and what was predicted of each; nothing depends on data."""

    request: ReleaseTerms
    method: str
    predictions: tuple[Prediction, ...]
    """Of each method that can run, the one that is taken first."""
    plain: Prediction
    """Noise on each cell, or on each query: what nothing chosen is predicted to be worse than."""
    refused: tuple[tuple[str, str], ...]
    """The methods that cannot run, each with the reason."""
    tables: TablesPlan
    linear: Mapping[str, LinearPlan]
    """The plans of "toeplitz" and "explicit", where they can run."""

    @property
    def taken(self) -> Prediction:
        """What is predicted of the method that is taken."""
        return next(each for each in self.predictions if each.method == self.method)

    @property
    def reason(self) -> str:
        """Why this method, for the receipt."""
        taken, plain = self.taken, self.plain
        if taken.largest is None or taken.mean is None:
            return f"{self.method}: {taken.note}"
        against = "" if plain.largest is None or plain.mean is None else (
            f", against {plain.largest:.3g} and {plain.mean:.3g} of {plain.method}"
        )  # fmt: skip
        return (
            f"{self.method}: predicted largest error {taken.largest:.3g} rows and mean "
            f"{taken.mean:.3g} ({taken.kind}){against}"
        )


@dataclass(frozen=True, eq=False)
class Compared:
    """What is predicted of every method for a release."""

    found: tuple[Prediction, ...]
    refused: tuple[tuple[str, str], ...]
    plain: Prediction
    tables: TablesPlan
    linear: Mapping[str, LinearPlan]

    def first(self, taken: str) -> tuple[Prediction, ...]:
        """The one that is taken, then the others from the least error on."""
        return tuple(sorted(self.found, key=lambda each: (each.method != taken, each.score)))


def choose(request: ReleaseTerms, method: str = AUTO) -> MethodChoice:
    """The method to take: the one asked for, or the one with the least predicted error."""
    made = compare(request, method)
    wide = request.schema.cells > MOST_WEIGHED
    taken = method if method != AUTO else _best(made.found, made.plain, made.refused, wide=wide)
    reasons = dict(made.refused)
    if taken in reasons:
        raise ParameterError(f"method={taken!r} cannot run: {reasons[taken]}")
    return MethodChoice(
        request, taken, made.first(taken), made.plain, made.refused, made.tables, made.linear
    )


def compare(request: ReleaseTerms, method: str = AUTO) -> Compared:
    """What is predicted of every method; ``method`` is the one that was asked for."""
    found: list[Prediction] = []
    refused: list[tuple[str, str]] = []
    each_query = plan_queries(request)
    tables = plan_tables(request, each_query)
    plans = {
        "toeplitz": plan_toeplitz(request),
        "explicit": plan_explicit(request, each_query, named=method == "explicit"),
    }
    linear = {word: plan for word, plan in plans.items() if isinstance(plan, LinearPlan)}
    for word, made in (
        ("tables", tables.prediction or tables.refused),
        *((w, p if isinstance(p, str) else p.prediction) for w, p in plans.items()),
        ("adaptive", predict_adaptive(request)),
        ("mwem", predict_mwem(request)),
        ("graphical", predict_graphical(request)),
    ):
        if isinstance(made, Prediction):
            found.append(made.capped(request.total))
        else:
            refused.append((word, made))
    plain = tables.plain.capped(request.total)
    return Compared(tuple(found), tuple(refused), plain, tables, linear)


_RISING = 1.05
"""Prefixes that rise gain less by the root of prefixes than by trees. Chosen on five histograms of
4,096 cells, where scores were 1.06 times what was predicted of their ratio, and checked on two of
256 cells."""
_ADAPTIVE = 0.57
"""Rounds over whole tables do better than their rule of thumb, beside fitted tables. Chosen on
made-up mixtures (9 columns of 2 codes, 2,000 rows; 5 columns of 2 to 6 codes, 3,000 and 50,000
rows; pairs and triples, epsilon .1, .2 and 1), where scores were .66 of what was predicted, and
those of fitted tables 1.15 times."""
_LONG = 120.0
"""Seconds: what is estimated to take longer is not taken unless nothing else is fair."""
_KNOWN_BETTER = {"toeplitz": _RISING, "adaptive": _ADAPTIVE}


def _expected(each: Prediction) -> float:
    """What methods are compared by: the predicted score, with what it does not know."""
    return each.score * _KNOWN_BETTER.get(each.method, 1.0)


def _best(
    found: Sequence[Prediction],
    plain: Prediction,
    refused: Sequence[tuple[str, str]],
    *,
    wide: bool,
) -> str:
    """The least predicted error of those that are nowhere worse than plain noise.

    In a wide domain a graphical model is taken before a weight on each cell, whatever the rules of
    thumb say: on parts of four tables (groceries-25, msweb-35, books, generated-30; 10^6 to 10^7
    cells, triples, epsilon .1 to 10) it had .2 to .9 of the largest error of MWEM and .46 to .83 of
    its mean error, in eight settings of eight.
    """
    fair = [each for each in found if not each.worse_than(plain)]
    if wide and any(each.method == "graphical" for each in fair):
        fair = [each for each in fair if each.method != "mwem"]
    quick = [each for each in fair if each.seconds <= _LONG]
    if fair:
        return min(quick or fair, key=_expected).method
    for word in ("graphical", "mwem"):  # nothing that plain noise could be compared with
        if any(each.method == word for each in found):
            return word
    raise ParameterError("no method can run: " + "; ".join(f"{w}: {why}" for w, why in refused))
