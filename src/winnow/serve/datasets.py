"""The datasets of a server: sealed data, what is public of them, and their accounts.

Beside the sealed data of each stands a *stand-in*: made-up data with the same public facts, and
nothing of the private ones. Plans and prices are computed on the stand-in, by the verb itself up to
its charge; so neither their content nor their time can depend on a person.
"""

from __future__ import annotations

import json
import pickle
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

from winnow.core.column import Column
from winnow.core.sealed import Sealed
from winnow.core.unit import Unit, together
from winnow.errors import DataError, ParameterError, WinnowError
from winnow.foreign import instead, reason
from winnow.privacy.ledger import Ledger, RecordedBudget
from winnow.privacy.rounding import stated_at_least, stated_at_most
from winnow.read.baskets import read_baskets
from winnow.read.counts import counts
from winnow.read.crossing import SealedTable, fingerprint_of_files
from winnow.read.groups import Groups
from winnow.read.options import Reading
from winnow.read.table import read_table
from winnow.serve import replies
from winnow.serve.bodies import Value
from winnow.serve.declarations import Declaration
from winnow.serve.stand_in import Data, made_again, public_part, stand_in
from winnow.serve.texts import writable
from winnow.serve.vault import Vault

RELEASES = {
    "table": (
        "select",
        "top-k",
        "tabulate",
        "moments",
        "quantiles",
        "histogram",
        "describe",
        "regress",
        "release",
    ),
    "events": ("select", "top-k", "labels", "tabulate"),
    "baskets": ("itemsets",),
}


T = TypeVar("T")
_MOST_PLANS = 64
_MOST_LABELS = 1 << 16
"""Numbers of a grid that are listed with a schema: half a megabyte of JSON; the schema says all."""


class KnownPlans:
    """What was worked out of public inputs, the latest so many: a plan is made once for all."""

    def __init__(self) -> None:
        self._held: OrderedDict[Hashable, Any] = OrderedDict()
        self._lock = threading.Lock()

    def known(self, key: Hashable) -> Any:
        """What the key stands for; None: it is not known."""
        with self._lock:
            if key in self._held:
                self._held.move_to_end(key)
            return self._held.get(key)

    def put(self, key: Hashable, made: Any) -> None:
        """Remember it; the one that nobody asked for the longest goes."""
        with self._lock:
            self._held[key] = made
            if len(self._held) > _MOST_PLANS:
                self._held.popitem(last=False)


@dataclass(frozen=True)
class OpenDataset:
    """One dataset that is ready to be asked."""

    name: str
    declared: Declaration
    data: Data
    stand_in: Data
    mark: str
    """A keyed fingerprint of the files."""
    plans: KnownPlans = field(default_factory=KnownPlans, repr=False, compare=False)
    """By order and accountant: neither says who asks, or what is left."""

    @property
    def table(self) -> SealedTable | None:
        """The sealed table; None: it is of another kind."""
        return self.data if isinstance(self.data, SealedTable) else None

    @property
    def rows(self) -> int | None:
        """The number of rows, where it is public."""
        return None if self.table is None else self.table.n

    @property
    def protected(self) -> Unit:
        """Whose presence is protected."""
        data = self.data
        return data.unit

    @property
    def unit(self) -> str:
        """The privacy unit in words."""
        data = self.data
        relation = data.relation if isinstance(data, SealedTable) else data.utility.relation
        return self.protected.sentence(relation)

    def schema(self) -> dict[str, Any]:
        """The schema of a table as plain data."""
        return {} if self.table is None else dict(writable(self.table.schema.to_dict()))

    def labels(self) -> dict[str, list[Any]]:
        """The public values of each column, or the public items."""
        data = self.data
        if isinstance(data, SealedTable):
            return {writable(each.name): _listed(each) for each in data.schema.columns}
        if isinstance(data.labels, Sealed):
            return {}
        item, groups = self.declared.item or "item", self.declared.groups
        if groups is not None:
            pairs = data.labels[: len(data.labels) // len(groups)]
            return {self.declared.by or "group": groups, item: _plain([i for _, i in pairs])}
        return {item: _plain(data.labels)}

    @cached_property
    def label_widths(self) -> dict[str, int]:
        """How many bytes the longest public label of each column has, as JSON writes it."""
        table = self.table
        by_column: dict[str, Any] = dict(self.labels())
        if table is not None:
            by_column = {column.name: _widest(column) for column in table.schema.columns}
        return {
            name: max((len(json.dumps(label, default=str)) for label in labels), default=0)
            for name, labels in by_column.items()
        }

    @cached_property
    def outline(self) -> bytes:
        """All that is public, for a process that plans and never sees the data.

        What is sealed refuses to be written down, so that nothing private can be in it.
        """
        return pickle.dumps((self.name, self.declared, public_part(self.stand_in)))

    @classmethod
    def of_outline(cls, outline: bytes) -> OpenDataset:
        """The dataset with the stand-in where the data would be."""
        name, declared, public = pickle.loads(outline)
        made_up = made_again(*public)
        return cls(name, declared, made_up, made_up, "")


def open_dataset(
    name: str, declared: Declaration, home: Path, vault: Vault, ledger: Ledger
) -> OpenDataset:
    """Fix the cap, read the data, and remember which they are."""
    ledger.open_dataset(
        name, epsilon=declared.epsilon, delta=declared.delta, relation=declared.neighbours
    )
    missing = declared.missing(home)
    if missing is not None:
        raise DataError(f"the dataset {name!r}: there is no file {missing!r}")
    with instead(
        lambda error: DataError(f"the dataset {name!r} cannot be read: {reason(error)}"), OSError
    ):
        digest = fingerprint_of_files(declared.files(home))
    ledger.note_data(name, digest)
    data = read_data(declared, home, vault.mark("salt", name.encode()))
    mark = vault.mark("data", digest + repr(declared).encode())
    opened = OpenDataset(name, declared, data, stand_in(data), mark)
    together(ledger.dataset(name).unit, opened.protected)  # refuses what it was not charged for
    return opened


def read_data(declared: Declaration, home: Path, salt: str) -> Data:
    """The sealed data of a declaration; the salt says which rows of a person count."""
    source, relation = declared.source(home), declared.neighbours
    items = declared.items
    public: Any = str(home / items) if isinstance(items, str) else items
    match declared.kind:
        case "table":
            schema = declared.schema
            assert schema is not None  # checked when it was declared
            return read_table(
                source,
                schema=home / schema if isinstance(schema, str) else schema,
                person=declared.person,
                max_rows=declared.max_per_person,
                relation=relation,
                reading=Reading(salt=salt),
            )
        case "events":
            assert declared.item is not None
            by = None
            if declared.by is not None:
                by = Groups(declared.by, names=declared.groups, most=declared.max_groups)
            return counts(
                source,
                item=declared.item,
                person=declared.person,
                max_items=None if declared.person is None else declared.max_per_person,
                items=public,
                by=by,
                relation=relation,
                reading=Reading(salt=salt),
            )
        case "baskets":
            return read_baskets(
                source,
                unit="basket" if declared.person is None else None,
                person=declared.person,
                max_baskets=None if declared.person is None else declared.max_per_person,
                layout=declared.layout,
                items=public,
                max_items=declared.max_items,
                relation=relation,
                reading=Reading(salt=salt),
            )


class Catalogue:
    """All datasets, opened when the server starts or when they are added beside it."""

    def __init__(
        self, home: Path, vault: Vault, ledger: Ledger, log: Callable[[str, BaseException], str]
    ) -> None:
        self._home, self._vault, self.ledger, self._log = home, vault, ledger, log
        self._open: dict[str, OpenDataset] = {}
        self.problems: dict[str, str] = {}
        """For the owner: what could not be opened, and why."""
        self._lock = threading.Lock()

    def open_all(self, declared: dict[str, Declaration]) -> list[OpenDataset]:
        """Open those that are not open yet; the new ones."""
        with self._lock:
            datasets = []
            for name, declaration in declared.items():
                if name in self._open or name in self.problems:
                    continue
                try:
                    opened = open_dataset(name, declaration, self._home, self._vault, self.ledger)
                except WinnowError as error:
                    self.problems[name] = str(error)
                    self._log(f"the dataset {name!r} could not be opened", error)
                    continue
                self._open[name] = opened
                datasets.append(opened)
            return datasets

    def get(self, name: str) -> OpenDataset | None:
        """A dataset that is open; None: it is not."""
        return self._open.get(name)

    def counted(self, name: str) -> str:
        """What is counted of a dataset, where a bound may leave something out; else empty."""
        opened = self.get(name)
        return "" if opened is None else opened.protected.counted

    def budget(self, name: str, analyst: str = "") -> RecordedBudget:
        """What an analyst may still charge to a dataset."""
        return RecordedBudget(self.ledger, name, analyst=analyst)

    def used(self, name: str, analyst: str = "") -> replies.Used:
        """What was used and what is left, of all or of an analyst's share."""
        budget = self.budget(name, analyst)
        left = budget.left
        spent = budget.spent.amount
        cap = left.cap
        if analyst:
            share = self.ledger.share(name, analyst)
            spent = stated_at_least(share.spent.size)
            cap = stated_at_most(share.cap.limit.size)
        return replies.Used(left.unit, spent, left.amount, cap, left.delta)

    def shares(self, name: str) -> list[replies.ShareItem]:
        """What each analyst has used, and may still use."""
        items = []
        for share in self.ledger.shares(name):
            left = self.budget(name, share.analyst).left.amount
            part = None if share.part is None else float(share.part)
            spent = stated_at_least(share.spent.size)
            items.append(replies.ShareItem(share.analyst, part, spent, left))
        return items


def fitting(opened: OpenDataset, kind: str) -> None:
    """Refuse a kind of release that the dataset has no data for."""
    possible = RELEASES[opened.declared.kind]
    if kind not in possible:
        raise ParameterError(
            f"the dataset {opened.name!r} holds {opened.declared.kind}, which do not "
            f"take {kind!r}; they take: {', '.join(possible)}"
        )


def _listed(column: Column) -> list[Any]:
    """The public values of a column; none of more numbers than a list is for."""
    if column.grid is not None and column.cardinality > _MOST_LABELS:
        return []
    return _plain(column.labels)


def _widest(column: Column) -> Sequence[Any]:
    """Labels among which the longest is: those of a grid have the digits of its ends and step."""
    if column.grid is None:
        return column.labels
    return (*column.labels[:11], *column.labels[-11:])


def _plain(labels: Any) -> list[Any]:
    return [writable(each if isinstance(each, Value) else str(each)) for each in labels]
