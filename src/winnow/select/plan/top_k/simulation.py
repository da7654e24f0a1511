"""Top-k methods side by side on public or assumed scores: chances, bounds, simulated errors."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from functools import cache
from typing import Any

from winnow.core.checks import Real, count, exact, probability
from winnow.core.notebook import Card, InNotebook, lines_card, ruled
from winnow.core.options import AUTO
from winnow.core.relation import Relation
from winnow.errors import InputError, ParameterError
from winnow.foreign import guarded, shown
from winnow.read.scores import SealedScores, seal_scores
from winnow.select.about import AboutScores
from winnow.select.crossing.selection import Selection
from winnow.select.mechanisms import canonical
from winnow.select.methods import PickMethod, Sizes
from winnow.select.plan.top_k.known import chances_of_canonical, simplest
from winnow.select.plan.top_k.probabilities import epsilon_for_top
from winnow.select.plan.top_k.profile import public_scores
from winnow.select.plan.top_k.rows import PlanQuestion, TopKRow, shown_chance, shown_number
from winnow.select.table import in_order, mechanism_of
from winnow.select.top_k_methods import (
    GAMMA,
    OF_LISTS,
    Canonical,
    NoisyCountsMethod,
    OneshotApproximate,
    TopKMethod,
)


@dataclass(frozen=True)
class Candidate:
    """A method for a question, without its epsilon."""

    method: TopKMethod
    about: AboutScores
    sizes: Sizes
    lists: bool = False
    """Whether a list is wanted from a mechanism that can give a set or a list."""

    def at(self, epsilon: Real) -> Selection:
        """The mechanism at an epsilon; what it does not take is refused."""
        made = mechanism_of(self.method, self.about, replace(self.sizes, epsilon=epsilon))
        return in_order(made) if self.lists else made

    def at_any(self) -> Selection:
        """The mechanism at some epsilon that it allows."""
        return self.at(0.1)

    @property
    def label(self) -> str:
        """The word, and the noise where it can be chosen."""
        noise = getattr(self.method, "noise", None)
        return f"{self.method.word()} ({noise})" if noise else self.method.word()


@dataclass(frozen=True)
class Wishes:
    """What is asked of every method that is compared."""

    about: AboutScores
    sizes: Sizes
    lists_only: bool
    gamma: Real | None = None
    """Of canonical, where all are compared."""

    def one(self, method: TopKMethod) -> Candidate:
        """The method that was named; wishes that it cannot meet are refused."""
        candidate = Candidate(method, self.about, self.sizes, self.lists_only)
        if self.lists_only and not candidate.at_any().ordered:
            raise ParameterError(
                f"{candidate.label} releases a set, which has no order; leave out ordered=True, "
                "or plan joint"
            )
        return candidate

    def all(self) -> tuple[list[Candidate], dict[str, str]]:
        """All methods that apply, and why the others do not."""
        listed, skipped = [], {}
        delta = exact("delta", self.sizes.delta)
        for kind in OF_LISTS:
            if kind.needs_delta and delta == 0:
                skipped[kind.word()] = "it needs delta > 0"
            elif issubclass(kind, NoisyCountsMethod) and self.about.max_items is None:
                skipped[kind.word()] = "it needs max_items"
            elif kind is OneshotApproximate and delta * 20 > 1:
                skipped[kind.word()] = "it needs delta up to 0.05"
            else:
                candidates = self._variants(kind)
                if self.lists_only and not candidates[0].at_any().ordered:
                    skipped[kind.word()] = "it releases a set, which has no order"
                else:
                    listed += candidates
        return listed, skipped

    def _variants(self, kind: type[TopKMethod]) -> list[Candidate]:
        """The method, with each noise that is worth a row of its own."""
        methods: list[TopKMethod] = [kind()]
        if kind is Canonical:
            methods = [Canonical(gamma=self.gamma), Canonical(gamma=self.gamma, noise="gumbel")]
        sizes = self.sizes if kind.needs_delta else replace(self.sizes, delta=0)
        return [Candidate(each, self.about, sizes, self.lists_only) for each in methods]


_SCOPE = (
    "Computed from public or assumed scores: no data were read, nothing was spent. Chances and "
    "quantiles are exact for these scores; bounds hold for any data with as many items; errors "
    "are simulated with the stated seed."
)


@dataclass(frozen=True)
class TopKSimulation(InNotebook):
    """What to expect of a top-k release on public scores; one row per mechanism."""

    k: int
    candidates: int
    epsilon: float | None
    """None: every row is planned for its own epsilon, which reaches the target."""
    delta: float
    relation: str
    confidence: float
    target_chance: float | None
    judged: str
    """Whether errors are those of "lists" in their order, or of "sets"."""
    draws: int
    seed: int
    rows: tuple[TopKRow, ...]
    skipped: dict[str, str]
    """The mechanisms that were left out, and why."""
    scope: str = _SCOPE

    def best(self) -> TopKRow:
        """The row with the smallest simulated l_infinity error: by median, then by mean."""
        simulated = [row for row in self.rows if row.simulated is not None]
        if not simulated:
            raise ParameterError("nothing was simulated, so there is no best; simulate draws > 0")
        return min(simulated, key=lambda row: row.typical_error)

    def row(self, method: str) -> TopKRow:
        """The first row of this method, by its word or by the full name of its mechanism."""
        for row in self.rows:
            if method in (row.method, row.name):
                return row
        raise ParameterError(
            f"{method!r} was not simulated; there is: "
            f"{', '.join(dict.fromkeys(row.method for row in self.rows))}"
        )

    def to_dict(self) -> dict[str, Any]:
        """The plan as plain data, ready for JSON."""
        plain = {f.name: getattr(self, f.name) for f in fields(self)}
        return {**plain, "rows": [row.to_dict() for row in self.rows]}

    def table(self) -> list[list[str]]:
        """The plan as a table, its first line the headings."""
        confident = f"{100 * self.confidence:.6g} %"
        headings = ["method", "epsilon", "gives", "Pr[top k]", "GREAT", "GOOD"]
        headings += ["l_inf", f"l_inf {confident}"]
        headings += ["l_1", "k-relative", f"bound {confident}"]
        counted = any(row.counts_margin is not None for row in self.rows)
        headings += [f"counts {confident}"] * counted
        if self.target_chance is not None:
            headings.append(f"epsilon for {self.target_chance:.6g}")
        lines = [headings]
        for row in self.rows:
            errors = row.simulated
            cells = [row.name.partition(f", k={self.k}")[0], shown_number(row.epsilon)]
            cells += [
                "list" if row.ordered else "set",
                shown_chance(row.top_chance, row.simulated_top),
            ]
            cells += [shown_chance(row.great_chance, row.simulated_great)]
            cells += [shown_chance(row.good_chance, row.simulated_good)]
            if errors is None:
                cells += ["-"] * 4
            else:
                largest = errors["l_infinity"]
                cells += [shown_number(largest.median), shown_number(largest.upper)]
                cells += [shown_number(errors[name].median) for name in ("l_1", "k_relative")]
            cells.append(shown_number(row.signed_bound))
            cells += [shown_number(row.counts_margin)] * counted
            if self.target_chance is not None:
                cells.append(
                    shown_number(row.epsilon_for_target) + (" (list)" if row.for_list else "")
                )
            lines.append(cells)
        return lines

    def _card(self) -> Card:
        return lines_card(str(self).split("\n", 1)[0], self.table(), self.scope)

    def __str__(self) -> str:
        shown = ruled(self.table(), texts=(0, 2))
        relation = Relation(self.relation).sentence
        title = f"top {self.k} of {self.candidates:,}"
        if self.epsilon is not None:
            title += f", epsilon={self.epsilon:.6g}"
        title += f", delta={self.delta:.6g}" if self.delta else ""
        notes = [
            f"l_inf, l_1, k-relative: medians of {self.draws} simulated draws (seed {self.seed}), "
            f"of released {self.judged}."
            if self.draws
            else "Nothing was simulated.",
            "GREAT: the best ceil(k/10) and none beyond rank 1.1 k. GOOD: the best ceil(k/100) and "
            "none beyond rank 1.5 k. ~: share of simulated draws; no formula is known.",
            "bound: on max_i (c_i - c_{s_i}), for any data.",
            *(f"Left out: {name} ({reason})." for name, reason in self.skipped.items()),
            self.scope,
        ]
        return "\n".join([f"{title}; {relation}", *shown, *notes])


@guarded
def simulated(
    scores: Any,
    about: AboutScores,
    sizes: Sizes,
    method: PickMethod | str = AUTO,
    *,
    epsilon: Real | None,
    ordered: bool | None = None,
    gamma: Real | None = None,
    chance: Real | None = None,
    confidence: Real = 0.99,
    draws: int = 200,
    seed: int = 0,
) -> TopKSimulation:
    """Methods on public scores, one or all of them, at an epsilon or each at that of a chance."""
    probability(confidence=confidence)
    count(k=sizes.k)
    if isinstance(draws, bool) or not isinstance(draws, int) or draws < 0:
        raise ParameterError(f"draws={shown(draws)} is not a whole number; give 0 or more")
    if chance is not None:
        probability(chance=chance)
    elif epsilon is None:
        raise ParameterError("epsilon is missing; give epsilon, a chance, or both")
    values, utility, k = public_scores(scores), about.utility, sizes.k
    if k > len(values):
        raise ParameterError(f"k={k} exceeds {len(values)} candidates; lower k")
    public = replace(about, candidates=len(values), private=False)
    wishes = Wishes(public, sizes, ordered is True, gamma)
    skipped: dict[str, str] = {}
    if isinstance(method, TopKMethod):
        candidates = [wishes.one(method)]
    else:
        candidates, skipped = wishes.all()
    question = PlanQuestion(
        values,
        utility,
        k,
        float(confidence),
        None if chance is None else float(chance),
        draws,
        seed,
        ordered if ordered is not None else all(c.at_any().ordered for c in candidates),
    )
    sealed = seal_scores(values, utility)  # the mechanisms' own checks take sealed scores
    rows = []
    for candidate in candidates:
        try:
            rows.append(_row(question, sealed, candidate, epsilon))
        except InputError as refusal:
            if isinstance(method, TopKMethod):
                raise
            skipped[candidate.label] = str(refusal)
    return TopKSimulation(
        k=k,
        candidates=len(values),
        epsilon=None if epsilon is None else float(epsilon),
        delta=float(sizes.delta),
        relation=str(utility.relation),
        confidence=float(confidence),
        target_chance=question.target_chance,
        judged="lists" if question.as_lists else "sets",
        draws=draws,
        seed=seed,
        rows=tuple(rows),
        skipped=skipped,
    )


def _row(
    question: PlanQuestion, sealed: SealedScores, candidate: Candidate, epsilon: Real | None
) -> TopKRow:
    """One mechanism at the given epsilon, or at the one that reaches the target."""
    if epsilon is None:
        needed = question.epsilon_for_target(candidate.at_any())
        if not needed:
            raise ParameterError(
                "no epsilon is known at which it reaches the target chance; give epsilon"
                if needed is None
                else "the target is reached by a random guess; give epsilon, or ask for more"
            )
        epsilon = needed
    mechanism = candidate.at(epsilon)
    mechanism.check(sealed)
    return question.row(candidate.method, mechanism, float(epsilon))


@guarded
def best_gamma(
    scores: Any, about: AboutScores, sizes: Sizes, epsilon: Real | None, chance: Real | None
) -> Fraction:
    """Canonical's gamma with the highest chance on public scores, in steps of 0.05.

    Without an epsilon, that of the least epsilon for a chance. Gumbel noise stands for all.
    """
    values, utility = public_scores(scores), about.utility
    public = replace(about, candidates=len(values))

    @cache
    def worth(step: int) -> tuple[float, int]:
        method = Canonical(gamma=Fraction(step, 20), noise="gumbel")
        candidate = Candidate(method, public, replace(sizes, delta=0))
        made = candidate.at(1 if epsilon is None else epsilon)
        if epsilon is not None:
            selection = simplest(made)
            assert isinstance(selection, canonical.Canonical)
            top_chance = chances_of_canonical(selection, values, utility).log_top
        else:
            needed = epsilon_for_top(made, values, sizes.k, float(chance or 0), utility=utility)
            top_chance = -math.inf if needed is None else -needed
        return round(top_chance, 12), -abs(step - int(20 * GAMMA))  # equally good: the usual one

    rough = max(range(2, 21, 2), key=worth)
    return Fraction(max((rough - 1, rough, min(rough + 1, 20)), key=worth), 20)
