"""What an owner declares of a dataset: where it lies, what is public of it, and its cap."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeAlias

import msgspec

from winnow.ask.request import Ask
from winnow.errors import ParameterError
from winnow.foreign import instead
from winnow.privacy.ledger.labels import check_label
from winnow.read.joins import Join
from winnow.read.options import Pairs
from winnow.serve.derived import asked_of, body

Kind = Literal["table", "events", "baskets"]

HOUSE = "house"
"""The analyst to whom the questions of a dataset are charged: nobody else may have the name."""


class SharedQuestions(msgspec.Struct, frozen=True, kw_only=True):
    """What a server says of a session that all analysts share."""

    record: ClassVar[type[Ask]]
    epsilon: float
    delta: float
    max_queries: int = 100_000
    rows: int | None = None
    """A public number of rows, where theirs is private."""
    each: int | None = None
    """How many questions one analyst may ask; None: only all together are bounded."""
    fresh_each: int | None = None
    """How many fresh answers one analyst may get."""

    def asked(self, **more: Any) -> Ask:
        """The request of the session, with what the server adds."""
        request: Ask = asked_of(self, {}, **more)
        return request


if TYPE_CHECKING:
    Questions: TypeAlias = SharedQuestions
else:
    Questions = body("Questions", Ask, SharedQuestions, None, {})
    Questions.__doc__ = "The one session of a dataset, charged once when it is first opened."


class Declaration(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """One dataset. A table has a schema, events have an item and a user, baskets have items."""

    path: str
    epsilon: float
    delta: float = 0.0
    kind: Kind = "table"
    relation: Literal["add-remove", "substitution"] | None = None
    """None: substitution for a table, whose number of rows is then public; else add-remove."""
    schema: str | dict[str, Any] | None = None
    """Of a table: the path of a JSON file, or the schema itself."""
    person: str | None = None
    """The column that says whose row it is; None: one row is one person."""
    max_per_person: int = 1
    """The most rows, items or baskets of one person that count."""
    item: str | None = None
    basket: str | None = None
    items: str | list[str] | None = None
    """The public list of items, or a file of it; None: items are private, too."""
    max_items: int | None = None
    """Of baskets: the most items of one."""
    by: str | None = None
    """Of events: the column of groups, for a list of items of each."""
    groups: list[str] | None = None
    """The public list of groups; None: they are private, too."""
    max_groups: int | None = None
    """In so many groups one person counts at most; None: in any number."""
    join: list[str] = []
    """More private files of the same people, joined on the column of the person."""
    join_public: dict[str, str] = {}
    """Public files by the column on which each is joined."""
    about: str = ""
    """A public sentence for analysts."""
    questions: Questions | None = None

    @property
    def neighbours(self) -> str:
        """The neighbour relation of everything that is charged to the dataset."""
        return self.relation or ("substitution" if self.kind == "table" else "add-remove")

    @property
    def layout(self) -> Pairs | str:
        """How the baskets of its file lie."""
        if self.basket is None or self.item is None:
            return "auto"
        return Pairs(self.basket, self.item)

    def files(self, home: Path) -> list[Path]:
        """The files that hold the data; a pattern that finds none stands for itself."""
        paths: list[Path] = []
        for path in (self.path, *self.join, *self.join_public.values()):
            given = home / path
            several = any(sign in path for sign in "*?[")
            paths += (several and sorted(given.parent.glob(given.name))) or [given]
        return paths

    def missing(self, home: Path) -> str | None:
        """A file that is not there, by its name; None: all are."""
        lacking = [file for file in self.files(home) if not file.is_file()]
        return str(lacking[0].relative_to(home)) if lacking else None

    def source(self, home: Path) -> Any:
        """Where the data lie, as a reader takes it: a path or a pattern, or a join of several."""
        if not self.join and not self.join_public:
            return str(home / self.path)
        assert self.person is not None  # checked when it was declared
        public = {name: str(home / path) for name, path in self.join_public.items()}
        return Join(
            *(str(home / path) for path in (self.path, *self.join)), on=self.person, public=public
        )


def check_declaration(name: str, declared: Declaration) -> None:
    """Refuse a declaration that contradicts itself; the data are not looked at."""
    check_label(name)
    if "/" in name or name in (".", ".."):
        raise ParameterError(f"the dataset {name!r} is part of an address; leave out '/'")

    def refuse(what: str) -> None:
        raise ParameterError(f"the dataset {name!r}: {what}")

    if not declared.epsilon > 0:
        refuse(f"epsilon = {declared.epsilon} is not positive; it is the cap of all releases")
    if not 0 <= declared.delta < 1:
        refuse(f"delta = {declared.delta} is not from 0 to below 1")
    if declared.max_per_person < 1:
        refuse("max_per_person is a number of 1 or more")
    if declared.person is None and declared.max_per_person > 1:
        refuse("max_per_person needs person, the column that says whose row it is")
    table = declared.kind == "table"
    if table and declared.schema is None:
        refuse("a table needs its public schema; write one with: winnow schema draft")
    if not table and declared.schema is not None:
        refuse(f"{declared.kind} have no schema; leave it out, or say kind = 'table'")
    if not table and declared.questions is not None:
        refuse("questions are asked of a table; leave them out, or say kind = 'table'")
    if declared.kind == "events" and declared.item is None:
        refuse("events need item, the column that is counted")
    if declared.kind != "baskets" and (declared.basket or declared.max_items is not None):
        refuse("basket and max_items are for kind = 'baskets'")
    if declared.join or declared.join_public:
        if declared.kind == "baskets":
            refuse("join and join_public are for kind = 'table' and 'events'")
        if declared.person is None:
            refuse("tables are joined on the people in them; say person, their column")
    if declared.by is None and (declared.groups is not None or declared.max_groups is not None):
        refuse("groups and max_groups need by, the column of groups")
    if declared.by is not None and declared.kind != "events":
        refuse("by is for kind = 'events'; orders of a table say by themselves")
    if declared.by is not None and declared.items is not None and declared.groups is None:
        refuse("items is a public list, so groups are public, too; list them")
    if declared.kind == "baskets" and (declared.basket is None) != (declared.item is None):
        refuse("baskets of a table need both columns, basket and item")
    if table and (declared.item or declared.items is not None):
        refuse("item and items are for kind = 'events' and 'baskets'")
    questions = declared.questions
    if questions is None:
        return
    with instead(lambda error: ParameterError(f"the dataset {name!r}: {error}"), ParameterError):
        asked = questions.asked()
    if asked.epsilon > declared.epsilon or asked.delta > declared.delta:
        refuse("the questions ask for more than the cap; give them a part of it")
    if any(most is not None and most < 0 for most in (questions.each, questions.fresh_each)):
        refuse("each and fresh_each are numbers of 0 or more")
