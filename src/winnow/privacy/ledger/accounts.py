"""What entries say about amounts: the account of a dataset, and the share of an analyst in it.

Amounts are exact fractions, stored as text. Every entry about a dataset carries its whole
account after that entry, so that the latest one is all that has to be read.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import lru_cache
from typing import Any

from winnow.core.checks import Real
from winnow.core.unit import PERSON, Unit, together
from winnow.errors import BudgetExceeded
from winnow.foreign import instead
from winnow.privacy.cap import Amount, Cap
from winnow.privacy.events import Event
from winnow.privacy.guarantee import Guarantee
from winnow.privacy.ledger.entry import Entry

_UNIT = 10**15
"""The table's own check on sums uses integers of 1/_UNIT, rounded up on both sides."""

_NORMALS = "normals"
"""Sums, and two normals beside them; a declaration without this word is of an earlier version."""
_DECLARED = ("epsilon", "delta", "relation", "accountant", "delta_for_events")


@dataclass(frozen=True)
class Dataset:
    """What a ledger says about one dataset."""

    label: str
    cap: Cap
    used: Amount
    charges: int
    opened: str
    """When it was opened."""
    first: int
    """The number of the entry that opened it."""
    declared: Mapping[str, Any] = field(repr=False)
    """The cap as it was declared."""
    unit: Unit | None = None
    """Whom it is about; None: nothing has said it yet."""
    unstated: int = 0
    """So many charges were written before units were."""

    @classmethod
    def declare(
        cls,
        label: str,
        declared: Mapping[str, Any],
        time: str,
        first: int,
        unit: Unit | None = None,
    ) -> Dataset:
        """A dataset that is opened now."""
        return cls(label, _cap(declared), Amount(), 0, time, first, dict(declared), unit)

    @classmethod
    def after(cls, entry: Entry) -> Dataset:
        """The account that an entry carries."""
        about = entry.body["account"]
        declared, used = about["cap"], amount_of(entry.body["used"])
        return cls(
            entry.dataset, _cap(declared), used, about["charges"], about["opened"],
            about["first"], declared, unit_of(about.get("unit")), unstated_in(about),
        )  # fmt: skip

    @property
    def guarantee(self) -> Guarantee:
        """The cap, about its unit."""
        return self.cap.about(self.unit)

    @property
    def spent(self) -> Amount:
        """What was used, in the unit of the cap."""
        return self.cap.spent(self.used)

    def charged(self, used: Amount, unit: Unit = PERSON) -> Dataset:
        """The account after one more charge, or a refusal of another unit."""
        about = together(self.unit, unit)
        return replace(self, used=used, charges=self.charges + 1, unit=about)

    def to_body(self) -> dict[str, Any]:
        """What an entry carries of it."""
        about = {
            "cap": dict(self.declared),
            "charges": self.charges,
            "opened": self.opened,
            "first": self.first,
            "unit": unit_texts(self.unit),
            "unstated": self.unstated,
        }
        return {"account": about, "used": texts_of(self.used)}


def unit_texts(unit: Unit | None) -> list[str] | None:
    """A unit as it is stored; None: whoever gave the scores says it."""
    return [unit.name, unit.bound] if unit is not None and unit.declared else None


def unit_of(texts: list[str] | None) -> Unit | None:
    """A unit that was stored."""
    return None if texts is None else Unit(texts[0], texts[1])


def unstated_in(about: Mapping[str, Any]) -> int:
    """How many charges of an account say no unit: all of one from before units were written."""
    return int(about["unstated"] if "unit" in about else about["charges"])


def declared_in(body: Mapping[str, Any]) -> dict[str, Any]:
    """The declaration in an opening entry that carries no account."""
    return {name: body[name] for name in _DECLARED}


def counted(cap: Cap) -> dict[str, str]:
    """What a declaration says beside its numbers: by which rule a combined cap is counted."""
    return {"counted": _NORMALS} if cap.accountant == "combined" and not cap.earlier else {}


def _cap(declared: Mapping[str, Any]) -> Cap:
    numbers = [declared[name] for name in _DECLARED]
    return _declared(*numbers, earlier=declared.get("counted") != _NORMALS)


@lru_cache(maxsize=256)
def _declared(*values: Any, earlier: bool) -> Cap:
    epsilon, delta, relation, accountant, delta_for_events = values
    return Cap.declare(
        _number(epsilon), _number(delta), relation, accountant, _number(delta_for_events),
        earlier=earlier,
    )  # fmt: skip


def _number(value: int | float | str) -> Real:
    return Fraction(value) if isinstance(value, str) else value


@dataclass(frozen=True)
class Share:
    """What one analyst has used of a dataset, and may use at most."""

    dataset: str
    analyst: str
    part: Fraction | None
    """The part of the cap that is the most; None: only the cap of all binds."""
    cap: Cap
    """That part of the cap."""
    used: Amount

    @classmethod
    def of(cls, dataset: Dataset, analyst: str, body: Mapping[str, Any] | None) -> Share:
        """The share that an entry carries; None: the analyst has charged nothing so far."""
        stored = {} if body is None else body["share"]
        part = None if stored.get("part") is None else Fraction(stored["part"])
        used = amount_of(stored["used"]) if stored else Amount()
        return cls(dataset.label, analyst, None, dataset.cap, used).set_to(part, dataset.cap)

    def set_to(self, part: Fraction | None, cap: Cap) -> Share:
        """A share with another part of the cap."""
        return replace(self, part=part, cap=cap if part is None else cap.part(part))

    @property
    def spent(self) -> Amount:
        """What was used, in the unit of the cap."""
        return self.cap.spent(self.used)

    def charged(self, event: Event, cost: Amount) -> Share:
        """The share after one more charge, or a refusal that costs nothing."""
        if self.part is None:
            return replace(self, used=self.used + cost)
        with instead(
            lambda refusal: BudgetExceeded(f"in the share of {self.analyst!r}: {refusal}"),
            BudgetExceeded,
        ):
            return replace(self, used=self.cap.after(self.used, event, cost))

    def to_body(self) -> dict[str, Any]:
        """What an entry carries of it."""
        part = None if self.part is None else str(self.part)
        return {"analyst": self.analyst, "share": {"part": part, "used": texts_of(self.used)}}


def amount_of(texts: list[str]) -> Amount:
    """An exact amount as it is stored."""
    return Amount(*map(Fraction, texts))


def texts_of(amount: Amount) -> list[str]:
    """The accounts as texts to be stored."""
    parts = [amount.size, amount.delta]
    if amount.rho or amount.converted:  # only accountants that keep more than one sum
        parts += [amount.rho, amount.converted]
    return [str(part) for part in parts]


def in_units(account: Dataset) -> tuple[int, int]:
    """What is used and the cap, in units of the table's own check of sums."""
    return _units(account.spent.size), _units(account.cap.limit.size)


def _units(size: Fraction) -> int:
    """Beyond the range of the table both sides become the same."""
    return min(-(-size.numerator * _UNIT // size.denominator), 2**63 - 1)
