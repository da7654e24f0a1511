"""Draws of a list for each group, from counts of the items of all groups."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from winnow.core.frames import GroupedItems
from winnow.core.key import Key
from winnow.core.relation import Relation
from winnow.core.sealed import Sealed
from winnow.privacy import Guarantee, Promise, Repeat, guarantee_of
from winnow.read.counts import SealedCounts, label_text
from winnow.read.groups import Groups, pair_of
from winnow.read.kept import held
from winnow.read.scores import SealedScores
from winnow.select.crossing.private_labels import UnknownDomain
from winnow.select.crossing.selection import Selection, check_in_memory
from winnow.select.lists import CountedItems, ListsByGroup

Listing = UnknownDomain | Selection


@dataclass(frozen=True)
class OverPairs:
    """One draw over the items of all groups, of which the k first of each group are listed.

    Formal guarantees
        Those of the mechanism on its candidates, which are the pairs of a group and an item:
        a person counts for at most ``max_items`` of them, whatever their groups. What of its
        list belongs to which group is written in the pairs, and the k first of each follow from
        the list: post-processing. So the groups of a person need no bound of their own.
    """

    inner: Listing
    k: int
    groups: Groups
    margin: int | None = None
    """Within what the noise of each released count lies with probability 0.95."""

    @property
    def name(self) -> str:
        """What the receipt calls it."""
        return f"{self.inner.name}; the {self.k} first of each {self.groups.by}"

    def promise(self, relation: Relation) -> Promise:
        """What one release is charged, and why."""
        return self.inner.promise(relation)

    def guarantee(self, promised: Promise) -> Guarantee:
        """What the release states about itself."""
        return self.inner.guarantee(promised)

    def check(self, counts: SealedCounts) -> None:
        """Refuse what cannot be released, before anything is charged."""
        if isinstance(self.inner, UnknownDomain):
            self.inner.check(counts)
        else:
            self.inner.check(counts.to_scores())

    def ready(self, counts: SealedCounts) -> SealedCounts:
        """The counts with what the draw needs of their source, which is read before a charge."""
        return self.inner.ready(counts) if isinstance(self.inner, UnknownDomain) else counts

    def drawn(self, counts: SealedCounts, key: Key) -> ListsByGroup:
        """The k first of each group, with their noisy counts where these are released."""
        pairs: Iterable[Any]
        if isinstance(self.inner, UnknownDomain):
            lists = self.inner.drawn(counts, key)
            with_counts = isinstance(lists, CountedItems)
            told = ((pair_of(each[0]), each[1]) if with_counts else pair_of(each) for each in lists)
            named = _names(self.groups)
            pairs = (_with_name(each, named, with_counts) for each in told)
        else:
            lists = self.inner.drawn(counts.to_scores(), key)
            with_counts = isinstance(lists, CountedItems)
            pairs = lists
        return _listed(pairs, self.groups, self.k, with_counts, margin=self.margin)


@dataclass(frozen=True)
class EachGroup:
    """One mechanism in every group, each on the counts of that group alone.

    Formal guarantees
        Of one person the counts of at most G groups hold anything: G = ``touched`` under
        add/remove, twice that under substitution, where the groups of either person may
        change. The draws are independent, so the law of all lists is a product over the groups;
        wherever two neighbours have equal counts its factors are equal. The other factors, at
        most G, are each those of one draw on neighbours: adding or removing a person's items of
        one group is a move that the mechanism allows under its relation (under substitution the
        other person has nothing in the group). So the event is that of G draws, composed; with
        G = 1 that of one draw. [parallel composition: McSherry 2009]
        Groups that are found in the data: a mechanism for private labels lists nothing where
        there are no counts. So the law is that of one draw in every group that there could be, and
        what is left out are empty lists.
    """

    inner: Listing
    k: int
    groups: Groups
    touched: int
    delta: Any = 0
    """What the guarantee states, where composition or the mechanism needs it."""
    with_counts: bool = False
    margin: int | None = None

    @property
    def name(self) -> str:
        """What the receipt calls it."""
        return f"{self.inner.name}; in each {self.groups.by}"

    @property
    def ordered(self) -> bool:
        """Whether the order of a list says anything."""
        return getattr(self.inner, "ordered", True)

    def promise(self, relation: Relation) -> Promise:
        """What one release is charged, and why."""
        one, draws = self.inner.promise(relation), relation.people * self.touched
        if draws == 1:
            return replace(one, citation=f"{one.citation}; {_PARALLEL}")
        event, citation = Repeat(one.event, draws), f"{one.citation}, {draws} times; {_PARALLEL}"
        return Promise(event, citation, f"{one.statement}, for each group")

    def guarantee(self, promised: Promise) -> Guarantee:
        """What the release states about itself."""
        if isinstance(promised.event, Repeat):
            return guarantee_of(promised.event, self.delta)
        return self.inner.guarantee(promised)

    def check(self, counts: SealedCounts) -> None:
        """Refuse what cannot be released, before anything is charged."""
        check_in_memory(SealedScores(counts.values, 0, None, counts.utility, counts.unit))
        if isinstance(self.inner, UnknownDomain):
            self.inner.check(counts)
            return
        many = len(self.groups.names or ())
        for part in range(many):
            self.inner.check(_part(counts, part, many))

    def ready(self, counts: SealedCounts) -> SealedCounts:
        """The counts as they are."""
        return counts

    def drawn(self, counts: SealedCounts, key: Key) -> ListsByGroup:
        """A list for each group."""
        names, lists = self.groups.names, dict[Any, list[Any]]()
        for group, part in self._parts(counts, key):
            list_of_group = self.inner.drawn(part, key.child(f"group {label_text(group)}"))
            if list_of_group or names is not None:
                lists[group] = list_of_group
        if names is not None:
            lists = {name: lists.get(name, []) for name in names}
        return ListsByGroup(self.groups.by, lists, self.ordered, self.with_counts, self.margin)

    def _parts(self, counts: SealedCounts, key: Key) -> Iterator[tuple[Any, Any]]:
        """The counts of each group, sealed again."""
        names = self.groups.names
        if not isinstance(self.inner, UnknownDomain):
            for place, name in enumerate(names or ()):
                yield name, _part(counts, place, len(names or ()))
            return
        labels = counts.labels
        texts = key.open(labels) if isinstance(labels, Sealed) else labels
        values, named = held(key.open(counts.values)), _names(self.groups)
        inside: dict[str, list[tuple[str, int]]] = {}
        for text, value in zip(texts, values.tolist(), strict=True):
            group, item = pair_of(text)
            inside.setdefault(group, []).append((item, value))
        for group, pairs in sorted(inside.items()):
            items: Sealed[Any] = Sealed([item for item, _ in pairs], "items")
            of_group = Sealed(np.array([value for _, value in pairs], np.int64), "counts")
            part = SealedCounts(of_group, items, counts.utility, counts.max_items, counts.unit)
            yield named.get(group, group), part


_PARALLEL = "parallel composition: McSherry 2009, proved beside the mechanism"


def _part(counts: SealedCounts, place: int, many: int) -> SealedScores:
    """The scores of one public group: of so many, listed one after another."""
    assert not isinstance(counts.labels, Sealed)
    size = len(counts.labels) // many
    first = place * size
    labels = [item for _, item in counts.labels[first : first + size]]
    values = counts.values.map(lambda all_of: held(all_of)[first : first + size], "counts")
    return SealedScores(values, size, labels, counts.utility, counts.unit)


def _names(groups: Groups) -> dict[str, Any]:
    """The public groups by their texts, as their user wrote them."""
    return {label_text(name): name for name in groups.names or ()}


def _with_name(told: Any, named: dict[str, Any], with_counts: bool) -> Any:
    (group, item), *count = told if with_counts else (told,)
    pair = (named.get(group, group), item)
    return (pair, *count) if with_counts else pair


def _listed(
    pairs: Iterable[Any], groups: Groups, k: int, with_counts: bool, margin: int | None
) -> ListsByGroup:
    """The k first of each group, in the order of the pairs; of public groups empty lists, too."""
    lists: dict[Any, list[Any]] = {name: [] for name in groups.names or ()}
    for each in pairs:
        (group, item), *count = each if with_counts else (each,)
        mine = lists.setdefault(group, [])
        if len(mine) < k:
            mine.append((item, *count) if with_counts else item)
    if groups.names is None:
        lists = dict(sorted(lists.items()))
    if with_counts:
        lists = {group: CountedItems(mine) for group, mine in lists.items()}
    return ListsByGroup(groups.by, lists, True, with_counts, margin)


def pairs_of(texts: list[Any], groups: Groups | None) -> list[Any]:
    """Found labels as pairs of a group and an item, where items are those of groups."""
    if groups is None:
        return texts
    named = _names(groups)
    pairs = GroupedItems(_with_name(pair_of(text), named, False) for text in texts)
    pairs.by = groups.by
    return pairs
