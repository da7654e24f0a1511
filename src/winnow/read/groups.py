"""Groups of an event log, each with items of its own: an item of a group is told by one text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from winnow.core.checks import count
from winnow.errors import ParameterError
from winnow.foreign import shown

if TYPE_CHECKING:  # it needs sqlglot
    from winnow.read.engines.query import GroupColumn

BETWEEN, _ESCAPE = "\x1f", "~"
ESCAPES = ((_ESCAPE, f"{_ESCAPE}0"), (BETWEEN, f"{_ESCAPE}1"))
"""What stands for the separator in the text of a group, so that no two pairs have one text."""
MOST_GROUPS = 10_000
"""A public list of groups travels in the text of the query."""
MOST_PAIRED = 1_000_000
"""Items of public groups in all: their list is in memory, and travels in the query."""


@dataclass(frozen=True)
class Groups:
    """The column of groups, for a list of items in each group.

    ``names`` is the public list of groups, fixed without looking at the data; rows of other groups
    are left out. Without it the groups come from the data, and are as private as their items.
    ``most`` keeps at most that many groups of each person, chosen by a keyed hash of the person's
    own groups. Without it a person may be in any number of groups.
    """

    by: str
    names: Sequence[Any] | None = field(default=None, kw_only=True)
    most: int | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        if not isinstance(self.by, str):
            raise ParameterError(f"by={shown(self.by)} is not the name of a column; give a text")
        if self.most is not None:
            count(most=self.most)
            object.__setattr__(self, "most", int(self.most))
        if self.names is None:
            return
        if isinstance(self.names, str) or not isinstance(self.names, Sequence):
            raise ParameterError(f"names={shown(self.names)} is not a list; give a list of groups")
        if len(self.names) > MOST_GROUPS:
            raise ParameterError(
                f"{len(self.names):,} groups are too many; list {MOST_GROUPS:,} at most"
            )
        object.__setattr__(self, "names", tuple(self.names))

    @classmethod
    def of(cls, given: Groups | str | None) -> Groups | None:
        """What was given as ``by``: groups, or the name of their column."""
        return given if given is None or isinstance(given, Groups) else cls(given)

    def touched(self, max_items: int | None) -> int | None:
        """In so many groups one person counts at most; None: not bounded."""
        bounds = [each for each in (self.most, max_items) if each is not None]
        return min(bounds) if bounds else None


def pair_text(group: str, item: str) -> str:
    """The text of an item of a group."""
    for sign, instead in ESCAPES:
        group = group.replace(sign, instead)
    return f"{group}{BETWEEN}{item}"


def pair_of(text: str) -> tuple[str, str]:
    """The group and the item that a text tells."""
    group, _, item = text.partition(BETWEEN)
    for sign, instead in reversed(ESCAPES):
        group = group.replace(instead, sign)
    return group, item


def group_column(groups: Groups, names: tuple[str, ...] | None, person: str | None) -> GroupColumn:
    """What a query asks of the column of groups; a bound without people is refused."""
    from winnow.read.engines.query import GroupColumn

    if person is None and groups.most not in (None, 1):
        raise ParameterError(
            f"most={groups.most} needs person=: without it every row is a person of its own, in "
            "one group"
        )
    return GroupColumn(groups.by, names, groups.most if person is not None else None)


def public_pairs(
    items: list[Any], texts: tuple[str, ...], groups: Groups, names: tuple[str, ...] | None
) -> tuple[list[Any], tuple[str, ...]]:
    """Every public item of every public group, and the text of each."""
    if groups.names is None or names is None:
        raise ParameterError(
            f"items= is a public list, and the groups of {groups.by!r} would be found in the data; "
            f"list them, too: by=wn.Groups({groups.by!r}, names=[...]). wn.labels finds groups"
        )
    if len(items) * len(names) > MOST_PAIRED:
        raise ParameterError(
            f"{len(items):,} items of {len(names):,} groups are too many to list; leave out "
            "items=, so that those of a group are found in the data"
        )
    pairs = [(group, item) for group in groups.names for item in items]
    return pairs, tuple(pair_text(group, item) for group in names for item in texts)
