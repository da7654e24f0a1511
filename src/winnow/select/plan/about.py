"""What is public of scores and counts before there are any: for plans."""

from __future__ import annotations

from winnow.core.checks import Real, count, one_of
from winnow.core.relation import Relation
from winnow.core.utility import declared
from winnow.errors import ParameterError
from winnow.foreign import guarded
from winnow.read.bound_choice import AboutChoice, checked_bound
from winnow.read.groups import Groups
from winnow.read.scores import LABELS
from winnow.select.about import AboutScores
from winnow.select.plan.chances import MOST_CANDIDATES, GapProfile, Gaps

FOUND_IN_LOG = "log"
"""What is said of labels that are found in a log that is at hand."""


@guarded
def scores(
    candidates: int | None = None,
    *,
    gaps: Gaps | None = None,
    sensitivity: Real | tuple[Real, Real] = 1,
    monotone: bool = False,
    relation: str | Relation = Relation.ADD_REMOVE,
) -> AboutScores:
    """Say what is public of scores before there are any, for ``wn.plan.select``.

    ``candidates`` is how many there are. ``gaps`` is how far each *other* candidate is assumed to
    lie behind the best, in score units: a list with one number for each, ``{gap: how many}``, or
    one number together with ``candidates``. These are public or hypothetical numbers, such as last
    year's published counts or a guess; gaps of the private scores themselves would leak through
    the plan. ``sensitivity``, ``monotone`` and ``relation`` are those of ``wn.seal_scores``.
    """
    utility = declared(sensitivity, monotone, relation)
    if candidates is not None:
        count(candidates=candidates)
        if candidates > MOST_CANDIDATES:
            raise ParameterError(f"candidates={candidates} exceeds 2**53; plan for fewer")
        candidates = int(candidates)
    if gaps is None:
        alone = GapProfile.alone() if candidates == 1 else None
        return AboutScores(utility=utility, candidates=candidates, gaps=alone)
    profile = GapProfile.parse(gaps, candidates)
    return AboutScores(utility=utility, candidates=profile.candidates, gaps=profile)


@guarded
def counts(
    candidates: int | None = None,
    *,
    labels: str = "public",
    max_items: int | str | None = None,
    by: Groups | str | None = None,
    sensitivity: Real | tuple[Real, Real] = 1,
    relation: str | Relation = Relation.ADD_REMOVE,
) -> AboutScores:
    """Say what is public of counts before there are any, for ``wn.plan.top_k``.

    ``candidates`` is how many items are on the public list; ``labels="private"`` says that the
    items are found in the data, and ``labels="log"`` that the log itself will be there, too, as
    ``wn.counts(log, item=, person=)`` has it. ``max_items`` is the most items that one person is
    counted for, or "auto" where the release chooses it. ``by`` is that of ``wn.counts``: lists of
    groups, of ``candidates`` items each.
    """
    groups = Groups.of(by)
    one_of((*LABELS, FOUND_IN_LOG), labels=labels)
    if candidates is not None:
        count(candidates=candidates)
        if labels != "public":
            raise ParameterError("how many private labels there are is private; leave it out")
    auto = checked_bound("max_items", max_items)
    if not auto and max_items is not None:
        count(max_items=max_items)
    if groups is not None and labels == "private":
        raise ParameterError("ready counts know no groups; plan for labels='log', or leave out by=")
    if groups is not None and labels == "public":
        if groups.names is None:
            raise ParameterError(
                "the groups of public items are public, too; give wn.Groups(names=)"
            )
        candidates = None if candidates is None else candidates * len(groups.names)
    return AboutScores(
        groups=groups,
        utility=declared(sensitivity, not isinstance(sensitivity, tuple), relation),
        candidates=None if candidates is None else int(candidates),
        max_items=None if auto or max_items is None else int(max_items),
        choice=AboutChoice.of_items("person", "item", candidates) if auto else None,
        private=labels != "public",
        weighed=labels == FOUND_IN_LOG,
    )
