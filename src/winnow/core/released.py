"""A released value, what is promised about it, and the receipt of how it came about."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Generic, TypeVar

from winnow._version import __version__
from winnow.core.chosen_bound import ChosenBound
from winnow.core.cut import CutAway
from winnow.core.frames import Columns, Framed, list_columns
from winnow.core.notebook import (
    Card,
    InNotebook,
    ReleasedValue,
    columns_card,
    pairs_card,
    pairs_text,
)
from winnow.core.unit import Unit, about_counted
from winnow.errors import ParameterError
from winnow.privacy import Event, Guarantee, describe, from_json, to_json

T = TypeVar("T")
R = TypeVar("R")


@dataclass(frozen=True)
class Receipt(InNotebook):
    """Which mechanism really ran, what it was charged, and where its noise came from."""

    mechanism: str
    event: Event
    citation: str
    randomness: str
    """'os', or 'seeded': a seeded result is for tests and carries no privacy."""
    exact: bool
    """True: the sampled law is the stated one in real arithmetic, not a float's."""
    version: str = __version__
    ledger: str = "unrecorded"
    reason: str = ""
    """Why this mechanism ran, where it was chosen automatically."""
    held: str = field(default="", repr=False)
    """Until when the result was held back, where ``pad_to`` asked for that."""
    schema: str = field(default="", repr=False)
    """What became of values outside the schema, and what of it was chosen by looking."""
    counted: str = field(default="", repr=False)
    """What of each person was counted, such as 'at most 8 pages of each visitor'; empty: all."""

    def about(self, unit: Unit) -> Receipt:
        """This receipt about a privacy unit: what its schema notes, and what was counted."""
        return replace(self, schema=unit.notes, counted=unit.counted)

    def to_dict(self) -> dict[str, Any]:
        """The receipt as plain data, ready for JSON."""
        document = {
            "mechanism": self.mechanism,
            "event": to_json(self.event),
            "citation": self.citation,
            "randomness": self.randomness,
            "exact": self.exact,
            "version": self.version,
            "ledger": self.ledger,
        }
        optional = {
            "reason": self.reason,
            "held": self.held,
            "schema": self.schema,
            "counted": self.counted,
        }
        return document | {name: text for name, text in optional.items() if text}

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> Receipt:
        """The receipt that ``to_dict`` wrote."""
        return cls(**{**document, "event": from_json(document["event"])})

    def lines(self) -> list[tuple[str, str]]:
        """The receipt as rows of a table."""
        seeded = "seeded: for tests only, not private"
        chosen = [("chosen because", self.reason)] if self.reason else []
        return [
            *self.note(),
            ("mechanism", self.mechanism),
            *chosen,
            ("charged", describe(self.event)),
            ("citation", self.citation),
            ("randomness", "operating system" if self.randomness == "os" else seeded),
            ("exact", "yes" if self.exact else "no"),
            ("ledger", self.ledger),
            *([("held back", self.held)] if self.held else []),
            *([("schema", self.schema)] if self.schema else []),
            ("version", f"winnow {self.version}"),
        ]

    def note(self) -> list[tuple[str, str]]:
        """What belongs next to the numbers: what was counted, where that may not be all."""
        return [("counted", about_counted(self.counted))] if self.counted else []

    def _card(self) -> Card:
        return pairs_card("Receipt", self.lines())


@dataclass(frozen=True)
class Released(InNotebook, Framed, Generic[T]):
    """A value that may be published, with its guarantee and receipt."""

    value: T
    guarantee: Guarantee
    receipt: Receipt
    cut: CutAway | None = field(default=None, repr=False)
    """How much a bound left out, where ``with_cut`` asked for an estimate."""
    bound: ChosenBound | None = field(default=None, repr=False)
    """The bound on a person that was chosen, and what it went by, where it was left to the release:
    ``max_items="auto"`` or ``max_rows="auto"``."""

    def __post_init__(self) -> None:
        value: Any = self.value
        if isinstance(value, ReleasedValue) and value.counted != self.receipt.counted:
            object.__setattr__(self, "value", value.about_counted(self.receipt.counted))

    def map(self, change: Callable[[T], R]) -> Released[R]:
        """Another view of what was released, under the same guarantee and receipt."""
        itself: Any = self
        viewed: Released[R] = replace(itself, value=change(self.value))
        return viewed

    def about(self, unit: Unit) -> Released[T]:
        """A result whose guarantee names the privacy unit, and what its schema notes."""
        return replace(self, guarantee=self.guarantee.about(unit), receipt=self.receipt.about(unit))

    def because(self, bound: str) -> Released[T]:
        """A result whose receipt also says how its bound was chosen."""
        reason = "; ".join(each for each in (self.receipt.reason, bound) if each)
        return replace(self, receipt=replace(self.receipt, reason=reason))

    def held(self, note: str) -> Released[T]:
        """A result whose receipt says until when it was held back."""
        return replace(self, receipt=replace(self.receipt, held=note))

    def to_dict(self) -> dict[str, Any]:
        """Value, guarantee and receipt as plain data, ready for JSON."""
        value: Any = self.value
        return {
            "value": value.to_dict() if hasattr(value, "to_dict") else value,
            **self.to_about(),
        }

    def to_about(self) -> dict[str, Any]:
        """What is written beside the value: guarantee and receipt, and what a bound left out."""
        about = {"guarantee": self.guarantee.to_dict(), "receipt": self.receipt.to_dict()}
        also = {"cut": self.cut, "bound": self.bound}
        return about | {name: each.to_dict() for name, each in also.items() if each is not None}

    def note(self) -> list[tuple[str, str]]:
        """What belongs next to the numbers: what was counted, and how much was left out."""
        cut = [] if self.cut is None else [("left out", str(self.cut))]
        return [*self.receipt.note(), *cut]

    def to_columns(self, **options: Any) -> Columns:
        """The value as one array for each column, where it is a list or a table.

        The options are those of the value's own ``to_columns``: ``level`` of intervals, say.
        """
        value: Any = self.value
        if isinstance(value, Framed):
            return value.to_columns(**options)
        if isinstance(value, list) and options:
            raise ParameterError(f"a list has no {', '.join(options)}; leave it out")
        if isinstance(value, list):
            return list_columns(value)
        raise ParameterError(
            f"this result is one {type(value).__name__}, not a list or a table; take .value"
        )

    def plot(self, path: str | Path | None = None) -> Path | None:
        """Draw the released numbers, into a file where a ``path`` is given (.png, .svg or .pdf)."""
        drawn: Any = getattr(self.value, "plot", None)
        if drawn is None:
            lists = "; for a list ask for counts: with_counts=True"
            raise ParameterError(
                f"this result is {'labels' if isinstance(self.value, list) else 'a value'} without "
                f"numbers to draw; take .value{lists if isinstance(self.value, list) else ''}"
            )
        target: Path | None = drawn(path)
        return target

    def _card(self) -> Card:
        value: Any = self.value
        if isinstance(value, InNotebook):
            card = value._card()
        elif isinstance(value, list):
            columns = list_columns(value)
            card = columns_card(f"{len(value):,} released", columns, 1)
        else:
            card = pairs_card("Released", [("value", str(value))])
        seeded = [("seeded:", "for tests only, not private")]
        return card.with_notes(
            *self.note(),
            ("guarantee", str(self.guarantee)),
            *(seeded if self.receipt.randomness != "os" else []),
            folded=self.receipt.lines(),
        )

    def to_json(self, indent: int | None = 2) -> str:
        """Value, guarantee and receipt as JSON text."""
        return json.dumps(self.to_dict(), indent=indent, default=str)

    def __str__(self) -> str:
        rows = [("value", str(self.value)), ("guarantee", str(self.guarantee))]
        rows += [] if self.cut is None else [("left out", str(self.cut))]
        rows += self.receipt.lines()
        return pairs_text(rows)
