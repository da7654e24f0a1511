"""What is public of scores, counts or classes: all that a plan may know of them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from winnow.core.relation import Relation
from winnow.core.unit import at_most
from winnow.core.utility import Utility
from winnow.errors import ParameterError, RelationMismatch
from winnow.read.bound_choice import AboutChoice
from winnow.read.classes import SealedClasses
from winnow.read.counts import SealedCounts, private_counts
from winnow.read.groups import Groups
from winnow.read.people import PersonBound
from winnow.read.score_source import ScoreSource
from winnow.read.scores import (
    SealedScores,
    read_scores_of,
    refuse_found_labels,
    seal_scores,
)

if TYPE_CHECKING:
    from winnow.select.plan.chances import GapProfile

Candidates = SealedScores | SealedCounts | SealedClasses | ScoreSource
"""What is picked from, sealed."""


@dataclass(frozen=True, kw_only=True)
class AboutScores:
    """What is public of one score or count for each candidate; plans take it."""

    utility: Utility
    """By how much one person moves a score, under which relation."""
    candidates: int | None = None
    """How many are on the public list; None: nobody said, or the list is private."""
    max_items: int | None = None
    """The most candidates that one person is counted for; None: not bounded."""
    private: bool = False
    """Whether the labels were found in the data."""
    weighed: bool = False
    """Whether the log itself is at hand, so that it is known who has which labels."""
    names_travel: bool = True
    """Whether names of labels may go from the log to this process and back."""
    bound: PersonBound | None = None
    """What of each person was counted, where an estimate of the rest can be made."""
    groups: Groups | None = None
    """Where items are those of groups: each candidate is then a pair of a group and an item."""
    choice: AboutChoice | None = None
    """Where the release may choose a bound on the items of a person."""
    gaps: GapProfile | None = field(default=None, compare=False, repr=False)
    """How far others are assumed to lie behind the best; never gaps of the private scores."""

    @property
    def relation(self) -> Relation:
        """Which datasets are neighbours."""
        return self.utility.relation

    @property
    def counted(self) -> str:
        """What of each person is counted, in the words of a receipt; empty: all."""
        if self.bound is not None:
            return self.bound.counted
        most = self.max_items
        return at_most("person", (most, "item")).counted if most is not None and most > 1 else ""

    def bounded(self, most: int) -> AboutScores:
        """These counts under a bound that was chosen."""
        assert self.choice is not None
        return replace(self, max_items=most, bound=self.choice.at(most), choice=None)

    def read(self, data: Any) -> Candidates:
        """The data, sealed: what is not sealed yet is taken for what this is about."""
        if isinstance(data, Candidates):
            return data
        if self.groups is not None:
            raise ParameterError(
                "lists for each group need the log itself; give wn.counts(log, item=, person=, by=)"
            )
        if self.private:
            values, labels = read_scores_of(data)
            if labels is None:
                raise ParameterError("private labels need counts with labels; give a dict")
            return private_counts(labels, values, self.utility, self.max_items)
        sealed = seal_scores(data, self.utility, copy=False)
        if self.max_items is None:
            return sealed
        labels = range(sealed.size) if sealed.labels is None else sealed.labels
        return SealedCounts(sealed.values, labels, self.utility, self.max_items)

    def check(self, data: Candidates) -> None:
        """Refuse data for which another plan was to be made."""
        other = about(data)
        if not isinstance(other, AboutScores):
            raise ParameterError("the plan is for scores, and these are classes; plan again")
        if other.relation is not self.relation:
            raise RelationMismatch(
                f"the plan is for data under {self.relation}, and these are under "
                f"{other.relation}; plan again for these"
            )
        for what, said in (
            ("utility", "another sensitivity"),
            ("private", "labels of another kind"),
            ("max_items", "another bound on the items of a person"),
            ("groups", "other groups"),
        ):
            if getattr(self, what) != getattr(other, what):
                raise ParameterError(f"the plan is for data with {said}; plan again for these")
        if None not in (self.candidates, other.candidates) and self.candidates != other.candidates:
            raise ParameterError(
                f"the plan is for {self.candidates} candidates, and there are "
                f"{other.candidates}; plan again"
            )


@dataclass(frozen=True, kw_only=True)
class AboutClasses:
    """What is public of a universe in classes of equal scores; plans take it."""

    utility: Utility
    total: int | None
    """How many candidates there are; None: nobody knows."""
    max_items: int | None = None
    """The most candidates that one person has; None: not bounded."""

    @property
    def relation(self) -> Relation:
        """Which datasets are neighbours."""
        return self.utility.relation

    def read(self, data: Any) -> Candidates:
        """The classes, which have to be sealed."""
        if not isinstance(data, SealedClasses):
            raise ParameterError(f"a {type(data).__name__} holds no classes; give wn.classes(...)")
        return data

    def check(self, data: Candidates) -> None:
        """Refuse classes for which another plan was to be made."""
        other = about(data)
        if isinstance(other, AboutClasses) and other.relation is not self.relation:
            raise RelationMismatch(
                f"the plan is for classes under {self.relation}, and these are under "
                f"{other.relation}; plan again for these"
            )
        if other != self:
            raise ParameterError("the plan is for classes of another kind; plan again for these")


About = AboutScores | AboutClasses


def about(data: Any) -> About:
    """What is public of sealed data, or what was said of data that are still to come."""
    match data:
        case AboutScores() | AboutClasses():
            return data
        case SealedScores():
            return AboutScores(utility=data.utility, candidates=data.size)
        case SealedCounts():
            return AboutScores(
                utility=data.utility,
                candidates=data.to_scores().size if data.domain_known else None,
                max_items=data.max_items,
                private=not data.domain_known,
                bound=None if data.people is None else data.people.bound,
                weighed=data.weighed is not None,
                names_travel=data.weighed is None or data.weighed.names_travel,
                groups=data.groups,
                choice=None if data.choice is None else data.choice.about,
            )
        case SealedClasses():
            return AboutClasses(utility=data.utility, total=data.total, max_items=data.max_items)
        case ScoreSource():
            return AboutScores(utility=data.utility)
    raise ParameterError(
        f"a {type(data).__name__} is not a public description; give wn.plan.scores(...) or "
        "wn.plan.counts(...), or data that are sealed. Public scores are for "
        "plan.simulate(scores)"
    )


def sealed_scores(data: Any, relation: Relation = Relation.ADD_REMOVE) -> Candidates:
    """Data of ``select``: plain numbers are scores that one person moves by at most 1."""
    if isinstance(data, Candidates):
        return data
    return seal_scores(data, relation=relation, copy=False)


def sealed_counts(data: Any, relation: Relation = Relation.ADD_REMOVE) -> Candidates:
    """Data of ``top_k``: plain numbers are counts that one person raises by at most 1."""
    if isinstance(data, Candidates):
        return data
    refuse_found_labels(data, tables=True)
    return seal_scores(data, monotone=True, relation=relation, copy=False)
