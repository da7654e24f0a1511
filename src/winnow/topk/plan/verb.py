"""Plan a top-k release: which mechanism and which epsilon, on public or assumed scores."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from functools import cache
from typing import Any

from winnow.core.checks import Real, count, delta_range, exact, one_of, positive, probability
from winnow.core.laws import Law
from winnow.core.noisy_top.filter import Scores
from winnow.core.notebook import Card, InNotebook, lines_card, ruled
from winnow.core.relation import Relation
from winnow.core.utility import Utility
from winnow.errors import InputError, ParameterError
from winnow.foreign import guarded, shown
from winnow.mechanisms import TOP_K, row_named
from winnow.read.scores import SealedScores, seal_scores
from winnow.select.crossing import Selection
from winnow.topk.mechanisms.canonical import Canonical
from winnow.topk.plan.known import chances_of_canonical, simplest
from winnow.topk.plan.probabilities import epsilon_for_top
from winnow.topk.plan.profile import public_scores
from winnow.topk.plan.rows import PlanQuestion, TopKRow, shown_chance, shown_number
from winnow.topk.table import GAMMA, NOISY_COUNTS, PUBLIC, TopKOptions, in_order, top_k_named


@dataclass(frozen=True)
class Candidate:
    """A mechanism by its word, without its epsilon."""

    word: str
    k: int
    delta: Real
    options: TopKOptions
    lists: bool = False
    """Whether a list is wanted from a mechanism that can give a set or a list."""

    def at(self, epsilon: Real) -> Selection:
        """The mechanism at an epsilon; what it does not take is refused."""
        made = top_k_named(
            self.word, epsilon=epsilon, delta=self.delta, k=self.k, options=self.options
        )
        return in_order(made) if self.lists else made

    def at_any(self) -> Selection:
        """The mechanism at some epsilon that it allows."""
        return self.at(0.1)

    @property
    def label(self) -> str:
        """The word, and the noise where it was chosen."""
        return f"{self.word} ({self.options.noise})" if self.options.noise else self.word


@dataclass(frozen=True)
class Wishes:
    """What the user said about mechanisms."""

    k: int
    delta: Real
    gamma: Real | None
    noise: str | Law | None
    max_items: int | None
    with_counts: bool
    lists_only: bool

    def options(self, noise: str | Law | None, gamma: Real | None) -> TopKOptions:
        """The options of one mechanism."""
        most = self.max_items
        return TopKOptions(noise, gamma, max_items=most, with_counts=self.with_counts)

    def one(self, word: str) -> Candidate:
        """The mechanism of this word; wishes that it cannot meet are refused."""
        options = self.options(self.noise, self.gamma)
        candidate = Candidate(word, self.k, self.delta, options, self.lists_only)
        if self.lists_only and not candidate.at_any().ordered:
            raise ParameterError(
                f"{candidate.label} releases a set, which has no order; leave out ordered=True, "
                "or plan joint"
            )
        return candidate

    def all(self) -> tuple[list[Candidate], dict[str, str]]:
        """All mechanisms that apply, and why the others do not."""
        found, skipped = [], {}
        for word in PUBLIC:
            candidates = self._variants(word)
            if row_named(TOP_K, word).needs_delta and exact("delta", self.delta) == 0:
                skipped[word] = "it needs delta > 0"
            elif word in NOISY_COUNTS and self.max_items is None:
                skipped[word] = "it needs max_items"
            elif word == "oneshot-approximate" and exact("delta", self.delta) * 20 > 1:
                skipped[word] = "it needs delta up to 0.05"
            elif self.lists_only and not candidates[0].at_any().ordered:
                skipped[word] = "it releases a set, which has no order"
            else:
                found += candidates
        return found, skipped

    def _variants(self, word: str) -> list[Candidate]:
        """The mechanism, with each noise that is worth a row of its own."""
        noises: list[str | Law | None] = [None]
        if word == "canonical":
            noises = [Law.EXPONENTIAL, Law.GUMBEL] if self.noise is None else [self.noise]
        elif word == "oneshot":
            noises = [Law.EXPONENTIAL if self.noise is None else self.noise]
        delta = self.delta if row_named(TOP_K, word).needs_delta else 0
        gamma = self.gamma if word == "canonical" else None
        return [
            Candidate(word, self.k, delta, self.options(noise, gamma), self.lists_only)
            for noise in noises
        ]


_SCOPE = (
    "Computed from public or assumed scores: no data were read, nothing was spent. Chances and "
    "quantiles are exact for these scores; bounds hold for any data with as many items; errors "
    "are simulated with the stated seed."
)


@dataclass(frozen=True)
class TopKPlan(InNotebook):
    """What to expect of a top-k release, before it is paid for; one row per mechanism."""

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
            raise ParameterError("nothing was simulated, so there is no best; plan with draws > 0")
        return min(simulated, key=lambda row: row.typical_error)

    def row(self, mechanism: str) -> TopKRow:
        """The first row of this mechanism, by its word or by its full name."""
        for row in self.rows:
            if mechanism in (row.mechanism, row.name):
                return row
        raise ParameterError(
            f"{mechanism!r} is not in the plan; there is: "
            f"{', '.join(dict.fromkeys(row.mechanism for row in self.rows))}"
        )

    def to_dict(self) -> dict[str, Any]:
        """The plan as plain data, ready for JSON."""
        plain = {f.name: getattr(self, f.name) for f in fields(self)}
        return {**plain, "rows": [row.to_dict() for row in self.rows]}

    def table(self) -> list[list[str]]:
        """The plan as a table, its first line the headings."""
        confident = f"{100 * self.confidence:.6g} %"
        headings = ["mechanism", "epsilon", "gives", "Pr[top k]", "GREAT", "GOOD"]
        headings += ["l_inf", f"l_inf {confident}"]
        headings += ["l_1", "k-relative", f"bound {confident}"]
        counted = any(row.counts_margin is not None for row in self.rows)
        headings += [f"counts {confident}"] * counted
        if self.target_chance is not None:
            headings.append(f"epsilon for {self.target_chance:.6g}")
        lines = [headings]
        for row in self.rows:
            errors = row.simulated
            cells = [row.name.split(", k=")[0], shown_number(row.epsilon)]
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
def top_k(
    scores: Any,
    *,
    k: int,
    epsilon: Real | None = None,
    delta: Real = 0.0,
    mechanism: str = "compare",
    ordered: bool | None = None,
    gamma: Real | str | None = None,
    noise: str | Law | None = None,
    max_items: int | None = None,
    with_counts: bool = False,
    sensitivity: Real | tuple[Real, Real] = 1.0,
    monotone: bool = True,
    relation: str | Relation = Relation.ADD_REMOVE,
    confidence: Real = 0.99,
    target_chance: Real | None = None,
    draws: int = 200,
    seed: int = 0,
) -> TopKPlan:
    """Say what to expect of ``winnow.top_k`` before spending anything.

    ``scores`` are public or hypothetical: last year's published counts, a guess, a worst
    case. Never the private ones: chances, quantiles and simulated errors are computed from
    them without noise and would give them away. A list, an array, a column, a dict of
    scores, or a ``GapProfile``.

    ``mechanism="compare"`` puts all mechanisms that apply side by side; a word plans one:
    "joint", "canonical", "oneshot", "peel-permute-and-flip", "peel-gumbel" and
    "oneshot-approximate" (both need ``delta``), "gamma", "laplace" and, with a ``delta``,
    "gaussian" (both need ``max_items`` and whole counts). Mechanisms without use for
    delta stay pure.

    For each: the guarantee, whether it gives a list or a set, the exact chance of the true
    top k where a formula is known, the bounds that hold for any data at ``confidence``, and
    errors over ``draws`` simulated draws with ``seed`` (0 draws: none are simulated).

    ``ordered=True`` keeps the mechanisms that release an order and judges their lists;
    ``ordered=False`` judges all as sets, each listed by true score. By default lists are
    judged if every mechanism in the plan gives one, and sets otherwise.

    ``with_counts=True`` plans the release with noisy counts of the winners: the selection has what
    these leave of epsilon, and ``counts_margin`` says within what each count's noise lies.

    ``gamma`` is that of canonical, as in ``winnow.top_k``; ``gamma="best"`` finds the one with the
    highest chance of the true top k on these scores (without ``epsilon``: with the least epsilon
    for the target), in steps of 0.05. Its row says which; give that to ``winnow.top_k``.

    ``target_chance`` asks for the epsilon at which the chance of the true top k reaches it; for
    peel-permute-and-flip, whose chance is known for the list in order alone, the epsilon at which
    that does, which is enough for the set, too. Without ``epsilon`` every mechanism is planned at
    that epsilon of its own.
    """
    one_of(("compare", *PUBLIC), mechanism=mechanism)
    count(k=k)
    probability(confidence=confidence)
    delta_range(delta=delta)
    if ordered not in (None, True, False):
        raise ParameterError(f"ordered={shown(ordered)} is not True, False or None")
    if not isinstance(with_counts, bool):
        raise ParameterError(f"with_counts={shown(with_counts)} is not True or False")
    if isinstance(draws, bool) or not isinstance(draws, int) or draws < 0:
        raise ParameterError(f"draws={shown(draws)} is not a whole number; give 0 or more")
    if target_chance is not None:
        probability(target_chance=target_chance)
    if epsilon is not None:
        positive(epsilon=epsilon)
    elif target_chance is None:
        raise ParameterError("epsilon is missing; give epsilon, target_chance, or both")
    utility = Utility.declare(sensitivity, monotone=monotone, relation=relation)
    values = public_scores(scores)
    if k > len(values):
        raise ParameterError(f"k={k} exceeds {len(values)} candidates; lower k")
    if isinstance(gamma, str) and gamma != "best":
        raise ParameterError(f"gamma={shown(gamma)} is no number; give one from 0 to 1, or 'best'")
    wished = None if isinstance(gamma, str) else gamma
    wishes = Wishes(int(k), delta, wished, noise, max_items, with_counts, ordered is True)
    if isinstance(gamma, str):
        best = _best_gamma(values, utility, wishes, epsilon, target_chance)
        wishes = replace(wishes, gamma=best)
    skipped: dict[str, str] = {}
    if mechanism == "compare":
        candidates, skipped = wishes.all()
    else:
        candidates = [wishes.one(mechanism)]
    question = PlanQuestion(
        values,
        utility,
        int(k),
        float(confidence),
        None if target_chance is None else float(target_chance),
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
            if mechanism != "compare":
                raise
            skipped[candidate.label] = str(refusal)
    return TopKPlan(
        k=int(k),
        candidates=len(values),
        epsilon=None if epsilon is None else float(epsilon),
        delta=float(delta),
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
                else "the target is reached by a blind draw; give epsilon, or ask for more"
            )
        epsilon = needed
    mechanism = candidate.at(epsilon)
    mechanism.check(sealed)
    return question.row(candidate.word, mechanism, float(epsilon))


def _best_gamma(
    values: Scores, utility: Utility, wishes: Wishes, epsilon: Real | None, target: Real | None
) -> Fraction:
    """The gamma of the highest chance, or of the least epsilon; Gumbel noise stands for all."""

    @cache
    def worth(step: int) -> tuple[float, int]:
        options = wishes.options(Law.GUMBEL, Fraction(step, 20))
        made = Candidate("canonical", wishes.k, 0, options).at(1 if epsilon is None else epsilon)
        if epsilon is not None:
            selection = simplest(made)
            assert isinstance(selection, Canonical)
            found = chances_of_canonical(selection, values, utility).log_top
        else:
            needed = epsilon_for_top(made, values, wishes.k, float(target or 0), utility=utility)
            found = -math.inf if needed is None else -needed
        return round(found, 12), -abs(step - int(20 * GAMMA))  # equally good: the usual one

    rough = max(range(2, 21, 2), key=worth)
    return Fraction(max((rough - 1, rough, min(rough + 1, 20)), key=worth), 20)
