"""What a client of a server receives, as values that look like the library's own."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from winnow.core.cut import CutAway
from winnow.core.frames import Columns, Framed, plain_column
from winnow.core.notebook import Card, Chart, InNotebook, columns_card, number_text, pairs_card
from winnow.core.released import Receipt, Released
from winnow.describe.result import Description
from winnow.errors import ParameterError
from winnow.itemsets.rules import ItemsetSupports
from winnow.numbers.histogram.result import ReleasedHistogram
from winnow.numbers.moments.result import ReleasedMoments
from winnow.numbers.regress.result import ReleasedRegression
from winnow.numbers.result import ReleasedQuantiles
from winnow.privacy import Guarantee
from winnow.privacy.refusals import COMPOSING
from winnow.select.lists import CountedItems, ListsByGroup

_MOST_VALUES = 12
"""Of a column of a synthetic table that are counted on a card."""
Fetch = Callable[[str], str]
"""Downloads a file of a release."""


def released_of(document: Mapping[str, Any], fetch: Fetch, labels: Mapping[str, Any]) -> Any:
    """The release that a server described."""
    value = value_of(document, fetch, labels)
    cut = document.get("cut")
    return Released(
        value,
        Guarantee(**document["guarantee"]),
        Receipt.from_dict(document["receipt"]),
        None if cut is None else CutAway.from_dict(cut),
    )


def value_of(document: Mapping[str, Any], fetch: Fetch, labels: Mapping[str, Any]) -> Any:
    """The value of a release as the library has it; ``fetch`` brings its files."""
    value, kind = document["value"], document["kind"]
    if kind == "tabulate":
        return RemoteTables.parse(value)
    if kind == "moments":
        return ReleasedMoments.from_dict(value)
    if kind == "top-k" and isinstance(value, dict):
        return ListsByGroup.from_dict(value)
    if kind == "quantiles":
        return ReleasedQuantiles.from_dict(value)
    if kind == "regress":
        return ReleasedRegression.from_dict(value)
    if kind == "describe":
        return Description.from_dict(value)
    if kind == "histogram":
        return ReleasedHistogram.from_dict(value)
    if kind == "release":
        return RemoteSynthetic(
            value["method"], value["total"], tuple(value["columns"]), fetch, dict(labels),
            "answers.csv" in document["downloads"],
        )  # fmt: skip
    if kind == "itemsets":
        return _itemsets(value, document["order"])
    counted = bool(document["order"].get("with_counts"))
    if isinstance(value, list) and counted:
        return CountedItems(map(tuple, value), margin=document.get("margin"))
    return value


def _itemsets(value: Any, order: Mapping[str, Any]) -> Any:
    """A list, or the one itemset (None: none stands out) where no number was asked for."""
    if not isinstance(value, list):
        return ItemsetSupports.from_dict(value)
    itemsets: list[Any] = [tuple(items) for items in value]
    if order.get("supports") is not None:
        itemsets = CountedItems((tuple(items), support) for items, support in value)
    if order.get("k") is None:
        return itemsets[0] if itemsets else None
    return itemsets


@dataclass(frozen=True, eq=False)
class RemoteTable(InNotebook, Framed):
    """One released table: labels, estimates, standard errors, and 95% intervals."""

    title: str
    columns: tuple[str, ...]
    rows: Columns = field(repr=False)

    @property
    def labels(self) -> list[tuple[Any, ...]]:
        """The labels along each axis."""
        return [tuple(dict.fromkeys(self.rows[name].tolist())) for name in self.columns]

    @property
    def estimate(self) -> NDArray[Any]:
        """The estimates, one axis for each column."""
        return self._shaped("estimate")

    @property
    def standard_error(self) -> NDArray[Any]:
        """Their standard errors."""
        return self._shaped("standard_error")

    def _shaped(self, name: str) -> NDArray[Any]:
        return self.rows[name].reshape([len(each) for each in self.labels])

    def to_columns(self) -> Columns:
        """One row for each answer, with its labels."""
        return dict(self.rows)

    def _card(self) -> Card:
        card = columns_card(f"{self.title}: {len(self)} estimates", self.rows, len(self.columns))
        return replace(card, chart=self._chart)

    def _chart(self) -> Chart:
        ends = (self._shaped(name) if name in self.rows else None for name in ("low", "high"))
        return Chart(tuple(self.labels), self.estimate, *ends)

    def __len__(self) -> int:
        return len(self.rows["estimate"])


@dataclass(frozen=True, eq=False)
class RemoteTables(InNotebook, Framed):
    """All tables of one release."""

    tables: tuple[RemoteTable, ...]
    total: float | None
    """The number of rows, noisy where it is private."""

    @classmethod
    def parse(cls, value: Mapping[str, Any]) -> RemoteTables:
        """The tables of a document."""
        tables = []
        for each in value["tables"]:
            rows = each["rows"]
            names = list(rows[0]) if rows else [*each["columns"], "estimate", "standard_error"]
            columns = {name: plain_column([row[name] for row in rows]) for name in names}
            tables.append(RemoteTable(each["table"], tuple(each["columns"]), columns))
        total = value["total"]
        return cls(tuple(tables), None if total is None else total["estimate"])

    def table(self, *columns: str) -> RemoteTable:
        """The table of these columns."""
        for table in self.tables:
            if sorted(table.columns) == sorted(columns):
                return table
        titles = ", ".join(repr(each.title) for each in self.tables[:20])
        asked = ", ".join(map(repr, columns))
        raise ParameterError(f"there is no table of {asked}; there is: {titles}")

    def to_columns(self) -> Columns:
        """The rows of all tables; a column that a table does not have is None there."""
        if len(self.tables) == 1:
            return self.tables[0].to_columns()
        names = dict.fromkeys(name for table in self.tables for name in table.columns)
        names |= dict.fromkeys(name for table in self.tables for name in table.rows)
        columns: dict[str, list[Any]] = {"table": []} | {name: [] for name in names}
        for table in self.tables:
            columns["table"] += [table.title] * len(table)
            for name in names:
                column = table.rows.get(name)
                columns[name] += [None] * len(table) if column is None else column.tolist()
        return {name: plain_column(values) for name, values in columns.items()}

    def _card(self) -> Card:
        rows = [
            (each.title, number_text(float(np.mean(each.rows["standard_error"]))))
            for each in self.tables
        ]
        title = f"{len(self.tables)} tables, with their mean standard error"
        card = pairs_card(title, rows)
        if len(rows) == 1:
            card = self.tables[0]._card()
        else:
            card = replace(card, parts=lambda: [each._card() for each in self.tables])
        if self.total is None:
            return card
        return card.with_notes(("rows", f"{number_text(self.total)} in all"))

    def __iter__(self) -> Iterator[RemoteTable]:
        return iter(self.tables)

    def __len__(self) -> int:
        return len(self.tables)


@dataclass(frozen=True, eq=False)
class RemoteSynthetic(InNotebook, Framed):
    """A synthetic table; its rows are downloaded when they are looked at."""

    method: str
    total: int
    names: tuple[str, ...]
    _fetch: Fetch = field(repr=False)
    _labels: Mapping[str, Sequence[Any]] = field(repr=False)
    _answered: bool = field(repr=False)

    @cached_property
    def _rows(self) -> Columns:
        return self._columns("synthetic.csv")

    def to_columns(self) -> Columns:
        """The synthetic rows, with the labels of the schema."""
        return dict(self._rows)

    def answers(self) -> Columns:
        """The answers to the workload, where the release has them."""
        if not self._answered:
            raise ParameterError("this release has rows only; count them")
        return self._columns("answers.csv")

    def _columns(self, name: str) -> Columns:
        heads, *rows = csv.reader(io.StringIO(self._fetch(name)))
        columns = {}
        for place, head in enumerate(heads):
            known = {str(label): label for label in self._labels.get(head, ())}
            columns[head] = plain_column([_label(row[place], known) for row in rows])
        return columns

    def _card(self) -> Card:
        title = f"A synthetic table of {self.total:,} rows by {self.method}"
        return replace(columns_card(title, self._rows, len(self.names)), parts=self._counted)

    def _counted(self) -> list[Card]:
        """How many synthetic rows have each of the most common values of a column."""
        cards = []
        for name, column in self._rows.items():
            order = {label: place for place, label in enumerate(self._labels.get(name, ()))}
            common = Counter(column.tolist()).most_common(_MOST_VALUES)
            common.sort(key=lambda each: order.get(each[0], len(order)))
            labels, counts = [label for label, _ in common], np.array([n for _, n in common])
            columns: Columns = {name: plain_column(labels), "synthetic rows": counts}
            card = columns_card(name, columns, 1)
            cards.append(replace(card, chart=partial(Chart, (labels,), counts)))
        return cards

    def __len__(self) -> int:
        return len(next(iter(self._rows.values()), ()))


def _label(text: str, known: Mapping[str, Any]) -> Any:
    """The label that a cell of a file stands for; a quote before a formula is the server's."""
    if text in known:
        return known[text]
    if text[:1] == "'" and text[1:2] in tuple("=+-@\t\r"):
        return known.get(text[1:], text[1:])
    try:
        return float(text)
    except ValueError:
        return text


@dataclass(frozen=True)
class RemoteAnswer:
    """One answer: a share of the rows, the same as a number of rows, and how far off it may be."""

    question: str
    value: float
    count: float
    kind: str
    """'fresh', 'hypothesis', 'unchecked' or 'independent', as in the library."""
    error: float | None
    confidence: float
    adaptive: bool
    """False: the error holds for questions that do not depend on earlier answers only."""
    guarantee: str = field(repr=False)
    receipt: Receipt = field(repr=False)

    def __str__(self) -> str:
        off = "no error bound" if self.error is None else f"within {self.error:.3g}"
        return f"{self.value:.4g} ({self.kind}, {off}): {self.question}"


@dataclass(frozen=True)
class RemoteAmount:
    """What was spent and what is left, in a unit."""

    unit: str
    spent: float
    left: float
    cap: float
    delta_left: float


@dataclass(frozen=True)
class RemoteBudget(InNotebook):
    """What is left of a dataset's budget, for me and for everyone."""

    dataset: str
    guarantee: str
    """What the cap promises, whatever is released."""
    mine: RemoteAmount | None
    """None for an owner, who spends nothing."""
    everyone: RemoteAmount
    charges: int

    @classmethod
    def parse(cls, document: Mapping[str, Any]) -> RemoteBudget:
        """The budget of a document."""
        mine = document["mine"]
        return cls(
            document["dataset"], document["guarantee"],
            None if mine is None else RemoteAmount(**mine),
            RemoteAmount(**document["everyone"]), document["charges"],
        )  # fmt: skip

    @property
    def left(self) -> float:
        """What may still be spent by whoever asks."""
        return (self.mine or self.everyone).left

    @property
    def spent(self) -> float:
        """What was spent by whoever asks; by everyone for an owner."""
        return (self.mine or self.everyone).spent

    def _card(self) -> Card:
        used = self.mine or self.everyone
        return pairs_card(
            f"Budget of {self.dataset}",
            [
                ("left", f"{used.left:.6g} of {used.cap:.6g} {used.unit}"),
                ("spent", f"{used.spent:.6g}"),
                ("guarantee", self.guarantee),
            ],
        ).with_notes(("used and left", COMPOSING))


@dataclass(frozen=True)
class RemotePlan(InNotebook):
    """What to expect of a release; nothing was read or spent."""

    kind: str
    epsilon: float
    delta: float
    error: float | None
    """None: nothing is known beforehand."""
    error_says: str
    """Which error it is."""
    seconds: float
    """After so long the result appears."""
    fits: bool
    refused: str
    """Why it does not fit, and what would; empty: it does."""
    cost: float | None
    left: float | None
    """What would be left afterwards."""
    curve: tuple[tuple[float, float | None], ...] = ()
    details: Mapping[str, Any] = field(default_factory=dict, repr=False)

    @classmethod
    def parse(cls, document: Mapping[str, Any]) -> RemotePlan:
        """The plan of a document."""
        given = {name: value for name, value in document.items() if name in cls.__match_args__}
        after = document["left_after"]
        given["left"] = None if after is None else after["left"]
        return cls(**given | {"curve": tuple(map(tuple, document["curve"]))})

    def lines(self) -> list[tuple[str, str]]:
        """The plan as rows of a table."""
        error = "unknown" if self.error is None else f"{self.error:.4g}"
        return [
            ("epsilon", f"{self.epsilon:.6g}"),
            ("error", f"{error}: {self.error_says}"),
            ("cost", "unknown" if self.cost is None else f"{self.cost:.6g}"),
            ("left afterwards", self.refused if self.left is None else f"{self.left:.6g}"),
            ("appears after", f"{self.seconds:.3g} s"),
        ]

    def _card(self) -> Card:
        return pairs_card(f"Plan of {self.kind}", self.lines())

    def __str__(self) -> str:
        return "\n".join(f"{name:<16} {text}" for name, text in self.lines())
