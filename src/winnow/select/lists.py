"""Released items with their counts, and a list of the most common items for each group."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from winnow.core.drawing import Plotted
from winnow.core.frames import Columns, Framed, labelled, plain_column
from winnow.core.notebook import Card, Chart, columns_card
from winnow.core.saving import Saved
from winnow.core.unit import about_counted, within_counted
from winnow.errors import ParameterError


class CountedItems(Plotted, Framed, list[Any]):
    """A released list of pairs: an item and its noisy count."""

    margin: int | None = None
    """Within what the noise of each count lies with probability 0.95; None: not known."""
    ordered = True
    """Whether the order of the list says anything."""

    def __init__(
        self, pairs: Iterable[Any] = (), *, margin: int | None = None, ordered: bool = True
    ) -> None:
        super().__init__(pairs)
        self.margin, self.ordered = margin, ordered

    def to_columns(self) -> Columns:
        """The items in their order, and their noisy counts."""
        counts = np.array([noisy for _, noisy in self], np.int64)
        return {"item": plain_column([item for item, _ in self]), "count": counts}

    def _picture(self, ending: str = ".png") -> bytes:
        told = about_counted(self.counted) if self.counted else ""
        title = f"{len(self):,} released, with noisy counts"
        return self.drawn(title=title, subtitle=told and f"counted: {told}", ending=ending)

    def drawn(self, *, title: str, subtitle: str, ending: str = ".png") -> bytes:
        """Bars of the noisy counts, as the content of a file: by rank, or by count for a set."""
        from winnow.show.plots.bars import draw_top

        bars = [(name, int(noisy)) for name, noisy, _, _ in self._chart().rows()]
        if not self.ordered:
            bars.sort(key=lambda bar: -bar[1])
        return draw_top(bars, title=title, subtitle=subtitle, margin=self.margin, ending=ending)

    def _card(self) -> Card:
        card = columns_card(f"{len(self):,} released", self.to_columns(), 1)
        return replace(card.with_notes(*margin_note(self.margin)), chart=self._chart)

    def _chart(self) -> Chart:
        columns, off = self.to_columns(), self.margin
        names, counts = (columns["item"].tolist(),), columns["count"]
        return (
            Chart(names, counts)
            if off is None
            else Chart(names, counts, counts - off, counts + off)
        )


def margin_note(margin: int | None) -> list[tuple[str, str]]:
    """How far off a released count may be, as a note below a table."""
    if margin is None:
        return []
    return [("each count", f"{within_counted(f'{margin:,}')}, with probability 0.95")]


@dataclass(frozen=True, eq=False)
class ListsByGroup(Plotted, Saved, Mapping[Any, list[Any]]):
    """Released lists, one for each group: ``lists["France"]`` is that of France."""

    by: str
    """The column of the groups."""
    lists: Mapping[Any, list[Any]]
    """The items of each group, or pairs of an item and its noisy count."""
    ordered: bool = True
    """Whether the order of a list says anything."""
    with_counts: bool = False
    margin: int | None = None
    """Within what the noise of each released count lies with probability 0.95."""

    def __getitem__(self, group: Any) -> list[Any]:
        return self.lists[group]

    def __iter__(self) -> Iterator[Any]:
        return iter(self.lists)

    def __len__(self) -> int:
        return len(self.lists)

    def to_columns(self) -> Columns:
        """One row for each item of each group: its rank, where there is an order, and its count."""
        groups, names = list(self.lists), self._names
        sizes = [len(self.lists[group]) for group in groups]
        columns: Columns = {
            names[0]: labelled(tuple(groups), np.repeat(np.arange(len(groups)), sizes))
        }
        if self.ordered:
            ranks = [np.arange(1, size + 1) for size in sizes]
            columns[names[1]] = np.concatenate([np.zeros(0, np.int64), *ranks])
        rows = [each for group in groups for each in self.lists[group]]
        columns[names[2]] = plain_column([each[0] for each in rows] if self.with_counts else rows)
        if self.with_counts:
            columns[names[3]] = np.array([each[1] for each in rows], np.int64)
        return columns

    @property
    def _names(self) -> list[str]:
        """Names of columns; those of ours differ from that of the groups."""
        return [self.by, *(f"{each}_" * (each == self.by) or each for each in _OWN)]

    def to_dict(self) -> dict[str, Any]:
        """All lists as plain data, ready for JSON."""
        return {
            "by": self.by,
            "ordered": self.ordered,
            "with_counts": self.with_counts,
            "margin": self.margin,
            "lists": [
                {"group": group, "items": list(map(_plain, items))}
                for group, items in self.lists.items()
            ],
        }

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> ListsByGroup:
        """The lists that ``to_dict`` wrote."""
        counted = document["with_counts"]
        lists = {
            row["group"]: CountedItems(map(tuple, row["items"])) if counted else row["items"]
            for row in document["lists"]
        }
        return cls(document["by"], lists, document["ordered"], counted, document["margin"])

    def _picture(self, ending: str = ".png") -> bytes:
        from winnow.show.plots.multiples import draw_lists

        if not self.with_counts:
            raise ParameterError(
                "these lists have no counts to draw; ask for them: top_k(..., with_counts=True)"
            )
        return draw_lists(self, ending=ending)

    def _card(self) -> Card:
        title = f"Lists of {len(self.lists):,} groups by {self.by}"
        card = columns_card(title, self.to_columns(), 3 if self.ordered else 2)
        return replace(card.with_notes(*margin_note(self.margin)), parts=self._lists)

    def _lists(self) -> list[Card]:
        """A card for each list."""
        cards = []
        for group, items in self.lists.items():
            title = f"{self.by}: {group}"
            if self.with_counts:
                counted = CountedItems(items, margin=self.margin, ordered=self.ordered)
                cards.append(replace(counted._card(), title=title, notes=()))
            else:
                ranked = [(str(rank), str(item)) for rank, item in enumerate(items, start=1)]
                cards.append(Card(title, ("rank", "item"), ranked))
        return cards

    def __repr__(self) -> str:
        return f"<released lists of {len(self.lists):,} groups by {self.by}>"


_OWN = ("rank", "item", "count")


def _plain(item: Any) -> Any:
    return list(item) if isinstance(item, tuple) else item
