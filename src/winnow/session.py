"""The verbs a user calls: one by one, or under the one budget of a Session."""

from __future__ import annotations

from dataclasses import replace
from itertools import count as count_from
from types import TracebackType
from typing import Any

from winnow.domain.checks import Real, count
from winnow.domain.neighbours import Relation
from winnow.domain.utility import Utility
from winnow.errors import InputError, RelationMismatch
from winnow.mechanisms.naming import selection_named
from winnow.mechanisms.topk_naming import (
    WITH_DELTA,
    TopKOptions,
    automatic,
    automatic_unknown,
    top_k_named,
    unknown_domain_named,
)
from winnow.privacy import Budget, Event, Grant, single_use_grant
from winnow.random.laws import Law
from winnow.random.tape import Randomness
from winnow.released import Released
from winnow.sealed import SealedCounts, SealedScores, seal_scores


def select(
    scores: Any,
    *,
    epsilon: Real,
    delta: Real = 0.0,
    mechanism: str = "permute-and-flip",
    noise: str | Law | None = None,
    k: int | None = None,
    sensitivity: Real | tuple[Real, Real] = 1.0,
    monotone: bool = False,
    relation: str | Relation = Relation.ADD_REMOVE,
    labels: Any = None,
    label_column: str | None = None,
    score_column: str | None = None,
    thresholds: str | None = None,
    budget: Budget | None = None,
    seed: int | None = None,
) -> Released[Any]:
    """Select the candidate with the (nearly) highest score, privately.

    ``scores`` is a dict, a list, a NumPy array, or a pandas, Polars or Arrow column or
    table. The list of candidates is public, their scores are private. ``epsilon`` is the
    total for the call.

    ``sensitivity`` is the most by which one person can move any score, or (down, up) for
    what adding one person can do; ``monotone=True`` says that adding a person never lowers
    a score (as with counts): under add/remove that halves the noise.

    ``mechanism`` is "permute-and-flip" (default), "exponential", "noisy-max",
    "large-margin" (needs delta), or "lipschitz" with ``noise`` one of gumbel, exponential,
    laplace, logistic, half-logistic. With ``k`` the value is a list of the k selected
    labels (the oneshot variant): in order for "exponential", as a set in the order of
    the candidates for the others. Without ``k`` it is one label.

    ``budget`` charges a shared budget, whose relation must be the same. ``seed`` makes a
    repeatable result for tests, which carries no privacy, and the receipt says so.
    """
    if k is not None:
        count(k=k)
        k = int(k)
    utility = Utility.declare(sensitivity, monotone=monotone, relation=relation)
    chosen = selection_named(
        mechanism, epsilon=epsilon, delta=delta, k=k or 1, noise=noise, thresholds=thresholds
    )
    randomness = Randomness(seed)
    sealed = seal_scores(
        scores,
        utility,
        labels=labels,
        label_column=label_column,
        score_column=score_column,
        copy=False,  # they are released from before this call returns
    )
    chosen.check(sealed)
    event = chosen.promise(utility.relation).event
    grant = _grant(event, budget)
    released: Released[list[Any]] = chosen.release(sealed, grant, randomness.tape())
    if k is not None:
        return released
    return Released(released.value[0], released.guarantee, released.receipt)


def top_k(
    counts: Any,
    *,
    k: int,
    epsilon: Real,
    delta: Real = 0.0,
    mechanism: str = "auto",
    ordered: bool | None = None,
    noise: str | Law | None = None,
    gamma: Real | None = None,
    rounded: bool = False,
    reach: int | None = None,
    with_counts: bool = False,
    max_items_per_user: int | None = None,
    sensitivity: Real | tuple[Real, Real] = 1,
    monotone: bool = True,
    relation: str | Relation = Relation.ADD_REMOVE,
    labels: Any = None,
    label_column: str | None = None,
    score_column: str | None = None,
    budget: Budget | None = None,
    seed: int | None = None,
) -> Released[list[Any]]:
    """The k items with the (nearly) highest counts, privately.

    ``counts`` is a dict, a list, an array, a data frame, or what ``winnow.counts`` made of a
    table. One person moves every count by at most ``sensitivity``, and adding a person never
    lowers one (``monotone``). ``epsilon`` is the total for the call.

    ``mechanism``: "joint" (a list in order), "canonical" (a set; ``gamma``, ``noise``,
    ``rounded``), "oneshot" (a set; ``noise``), "peel-permute-and-flip", "peel-gumbel" (needs
    delta), "gamma", "laplace" (noise on every count, needs ``max_items_per_user``),
    "oneshot-approximate" (small epsilon, needs delta); where the items came from the data and
    are private, "limited-domain" or "stability", which need delta and may release fewer than
    k. "auto" chooses by k, delta, ``ordered`` and the items per person, and the receipt says
    why.

    ``with_counts=True`` releases noisy counts of the winners too, as pairs: at no cost with
    "laplace" and "stability", for half of epsilon with the others.
    """
    count(k=k)
    k = int(k)
    if not isinstance(with_counts, bool) or ordered not in (None, True, False):
        raise InputError("with_counts and ordered are True or False")
    sealed = counts
    if isinstance(counts, SealedCounts):
        relation = _relation_of(counts, relation)
        bound = counts.max_items_per_user
        if max_items_per_user is not None and max_items_per_user != bound:
            raise InputError(
                f"max_items_per_user={max_items_per_user} was not used when counting; give it "
                "to counts(...)"
            )
        max_items_per_user = bound
        if counts.domain_known:
            sealed = counts.to_scores()
    options = TopKOptions(noise, gamma, rounded, reach, max_items_per_user, with_counts)
    randomness = Randomness(seed)
    if isinstance(sealed, SealedCounts):
        if labels is not None or label_column is not None or score_column is not None:
            raise InputError("these counts have their labels already; do not give others")
        reason = ""
        if mechanism == "auto":
            mechanism, reason = automatic_unknown(max_items_per_user, with_counts)
        hidden = unknown_domain_named(mechanism, epsilon=epsilon, delta=delta, k=k, options=options)
        hidden.check(sealed.utility)
        grant = _grant(hidden.promise(sealed.utility.relation).event, budget)
        return _because(reason, hidden.release(sealed, grant, randomness.tape()))
    utility = Utility.declare(sensitivity, monotone=monotone, relation=relation)
    if isinstance(sealed, SealedScores):
        utility = sealed.utility
    scores = seal_scores(
        sealed,
        utility,
        labels=labels,
        label_column=label_column,
        score_column=score_column,
        copy=False,  # they are released from before this call returns
    )
    if k > scores.size:
        raise InputError(f"k={k} exceeds {scores.size} candidates; lower k")
    reason = ""
    if mechanism == "auto":
        mechanism, reason = automatic(
            k=k,
            epsilon=epsilon,
            delta=delta,
            ordered=ordered,
            max_items_per_user=max_items_per_user,
        )
        if mechanism not in WITH_DELTA:
            delta = 0.0  # allowed, and not needed
    chosen = top_k_named(mechanism, epsilon=epsilon, delta=delta, k=k, options=options)
    if ordered and not chosen.ordered:
        raise InputError(
            f"{mechanism} releases a set without an order; leave out ordered=True, or use joint"
        )
    chosen.check(scores)
    grant = _grant(chosen.promise(utility.relation).event, budget)
    return _because(reason, chosen.release(scores, grant, randomness.tape()))


def _relation_of(counts: SealedCounts, relation: str | Relation) -> Relation:
    asked = Relation.parse(relation)
    if asked is not counts.utility.relation:
        raise RelationMismatch(
            f"these counts speak of {counts.utility.relation} and the call of {asked}"
        )
    return asked


def _grant(event: Event, budget: Budget | None) -> Grant:
    return single_use_grant(event) if budget is None else budget.charge(event)


def _because(reason: str, released: Released[list[Any]]) -> Released[list[Any]]:
    return replace(released, receipt=replace(released.receipt, reason=reason))


class Session:
    """One budget and one neighbour relation for several releases about the same people.

    The guarantee of everything released together is the cap (epsilon, delta), whatever
    was asked and in whatever order.
    """

    def __init__(
        self,
        *,
        epsilon: Real,
        delta: Real = 0.0,
        relation: str | Relation = Relation.ADD_REMOVE,
        accountant: str | None = None,
        delta_for_events: Real = 0.0,
        seed: int | None = None,
    ) -> None:
        self.relation = Relation.parse(relation)
        self.budget = Budget(
            epsilon,
            delta,
            self.relation,
            accountant=accountant,
            delta_for_events=delta_for_events,
        )
        if seed is not None:
            Randomness(seed)  # refuses what is not an integer
        self._seeds = None if seed is None else count_from(int(seed) << 32)

    def select(self, scores: Any, *, epsilon: Real, **options: Any) -> Released[Any]:
        """``winnow.select`` charged to this session's budget."""
        return select(scores, epsilon=epsilon, **self._under_this_budget(options))

    def top_k(self, counts: Any, *, k: int, epsilon: Real, **options: Any) -> Released[list[Any]]:
        """``winnow.top_k`` charged to this session's budget."""
        return top_k(counts, k=k, epsilon=epsilon, **self._under_this_budget(options))

    def _under_this_budget(self, options: dict[str, Any]) -> dict[str, Any]:
        relation = Relation.parse(options.pop("relation", self.relation))
        if relation is not self.relation:
            raise RelationMismatch(
                f"this session speaks of {self.relation} and the call of {relation}; "
                "use one relation for all releases of a session"
            )
        if "budget" in options:
            raise InputError("a session charges its own budget; leave out budget=")
        if "seed" not in options and self._seeds is not None:
            options["seed"] = next(self._seeds)
        return options | {"relation": relation, "budget": self.budget}

    def __enter__(self) -> Session:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Nothing to close: the budget lives as long as the session."""

    def __repr__(self) -> str:
        return f"Session({self.budget!r})"
