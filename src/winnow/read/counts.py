"""``winnow.counts``: how many people have each item, from a table, sealed."""

from __future__ import annotations

import datetime
import hashlib
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any
from uuid import UUID

import numpy as np

from winnow.core.checks import Real
from winnow.core.checks import count as check_count
from winnow.core.relation import Relation
from winnow.core.sealed import Sealed
from winnow.core.unit import PERSON, ROW, Unit, at_most
from winnow.core.utility import Utility, declared
from winnow.errors import DataError, ParameterError
from winnow.foreign import guarded, instead, shown
from winnow.read.bound_choice import BoundChoice, checked_bound
from winnow.read.groups import Groups, group_column, public_pairs
from winnow.read.joins import check_people_of_join
from winnow.read.kept import MOST_COLLECTED, KeptCounts
from winnow.read.large_counts import PackedLabels
from winnow.read.options import Reading, TextFormat, reading_of, text_format_of
from winnow.read.people import BoundedPeople
from winnow.read.records import lines_of_file
from winnow.read.salts import salt_of_run
from winnow.read.scores import (
    Scores,
    SealedScores,
    labels_word,
    read_scores_of,
    refuse_found_labels,
    refuse_sealed,
    repeated,
)
from winnow.read.weights import WeighedItems, WeightsOfSource


@dataclass(frozen=True)
class SealedCounts:
    """One private count for each item; one person adds at most 1, or what its utility says.

    The items are public when the user gave their list; otherwise they came from the data and
    are private too: which of them exist depends on single persons.
    """

    values: Sealed[Scores | KeptCounts]
    labels: Sequence[Any] | Sealed[Sequence[Any]]
    utility: Utility
    max_items: int | None = None
    """The most items that one person was counted for; None: not bounded."""
    unit: Unit = PERSON
    """Whose presence is protected."""
    people: BoundedPeople | None = None
    """Whose items were bounded, for an estimate of what that left out; None: nobody's."""
    weighed: WeighedItems | None = None
    """The people behind private items, whose weight can be spread over them; None: not known."""
    groups: Groups | None = None
    """Where items are those of groups: an item is then a pair of a group and an item. Private ones
    are told by one text each (``winnow.read.groups``)."""
    choice: BoundChoice | None = None
    """Where a release may choose a bound: of these counts nobody was bounded."""

    @property
    def relation(self) -> Relation:
        """Which datasets are neighbours."""
        return self.utility.relation

    @property
    def domain_known(self) -> bool:
        """Whether the list of items is public."""
        return not isinstance(self.labels, Sealed)

    def to_scores(self) -> SealedScores:
        """The counts as scores of a public list of candidates."""
        if isinstance(self.labels, Sealed):
            raise ParameterError(
                "the items came from the data and are private; give their public list with "
                "items=, or use top_k with delta > 0"
            )
        return SealedScores(self.values, len(self.labels), self.labels, self.utility, self.unit)

    def __repr__(self) -> str:
        what = (
            f"{len(self.labels)} public items"
            if not isinstance(self.labels, Sealed)
            else ("items that are private too")
        )
        return f"<sealed counts of {what}, neighbours: {self.relation}>"


def public_list(items: Sequence[Any] | str | Path) -> tuple[list[Any], tuple[str, ...]]:
    """The labels of a list, or of a text file with one per line, and their different texts."""
    public: list[Any] = lines_of_file(items) if isinstance(items, str | Path) else list(items)
    if not public:
        raise ParameterError("the public list of items is empty; give at least one item")
    texts: list[str] = []
    with instead(
        lambda error: ParameterError(f"item {len(texts) + 1} of the public list {error}"),
        ParameterError,
    ):
        for label in public:
            texts.append(label_text(label))
    if len(set(texts)) != len(texts):
        first, again = repeated(texts)
        raise ParameterError(
            f"item {first + 1} of the public list appears again as item {again + 1}; list it once"
        )
    return public, tuple(texts)


def label_text(label: Any) -> str:
    """The text that every engine writes for a value like this label.

    Whole numbers are written in decimal, True and False as 'true' and 'false', dates as
    '2026-11-30', UUIDs with hyphens.
    """
    if isinstance(label, str):
        return _checked(label)
    if isinstance(label, bool | np.bool_):
        return "true" if label else "false"
    if isinstance(label, int | np.integer):
        return str(int(label))
    if isinstance(label, datetime.date) and not isinstance(label, datetime.datetime):
        return label.isoformat()
    if isinstance(label, UUID):
        return str(label)
    raise ParameterError(
        f"is of the type {type(label).__name__}, whose text is not the same in every engine; give "
        "texts, whole numbers, dates, True or False"
    )


def _checked(text: str) -> str:
    try:
        possible = b"\0" not in text.encode()
    except UnicodeEncodeError:
        possible = False
    if not possible:
        raise ParameterError("cannot be a text in a table; leave out NUL and unpaired surrogates")
    return text


@guarded
def counts(
    source: Any,
    *,
    item: str,
    person: str | None = None,
    unit: str | None = None,
    max_items: int | str | None = None,
    items: Sequence[Any] | str | Path | None = None,
    relation: str | Relation = Relation.ADD_REMOVE,
    by: Groups | str | None = None,
    text: TextFormat | None = None,
    reading: Reading | None = None,
) -> SealedCounts:
    """Count, for every item, how many people have it; the result is sealed.

    ``source`` is a CSV, TSV or Parquet file (a path, a pattern, or a list of them), a pandas,
    Polars or Arrow table, a Spark data frame, a DuckDB relation, a pair (connection, table or
    query) of a DuckDB or psycopg connection, or a ``wn.Join`` of several of these. ``item`` and
    ``person`` name columns. A person counts at most once per item. Without ``person`` (or with
    ``unit="row"``) the privacy unit is one row, which is one person only if nobody has two rows.

    ``max_items`` keeps at most that many items of one person: a uniform sample, chosen by a keyed
    hash of the person's own items. With ``max_items="auto"`` the release chooses the bound:
    ``winnow.top_k``, ``labels`` and ``tabulate`` spend a part of epsilon on how many items people
    have, where a bound helps, and take the best one.

    ``items`` is the public list of items, or a text file with one per line. Other items are left
    out, and items that nobody has count 0. Without it, the items come from the data and are
    private.

    ``by="country"`` counts the items of each group, and ``winnow.top_k`` then releases a list for
    each. ``wn.Groups("country", names=[...], most=1)`` lists public groups and bounds the groups
    of one person. ``max_items`` then bounds the items of a person over all groups.

    People and items are compared as texts, byte by byte, whatever the collation of a column. Rows
    without a person or an item are left out. Text files are read as text, so '7' and '007' differ.
    Whole numbers, booleans and dates are '7', 'true' and '2026-11-30', in tables and in ``items``.
    Columns of real numbers and of times are refused, because their text differs between engines.
    If people are numbered, other items may be chosen than if the same numbers were texts, whatever
    type of integer they have.

    One line of a CSV or TSV file is one row. A file is refused if a double quote stands inside a
    field that does not begin with one, or does not close on its line: such a quote would swallow
    other people's rows. ``text=wn.TextFormat(...)`` describes text files: line breaks in quotes,
    the separator, the encoding, the names of columns.

    ``reading=wn.Reading(...)`` limits the memory for counting, and says where the counts stay.
    With ``keep="engine"`` they stay where they are; a release then asks how many items have each
    count, and for the names of those that it draws. ``keep="memory"`` collects them. "auto"
    collects up to a million items, and public lists. The guarantee is the same, and so are the
    distributions of what is released. (Only large margin, for public lists, prefers the first of
    equal counts in memory and none in an engine.) If a source changes during a release, the
    release fails after the charge.
    """
    from winnow.read.engines.query import CountQuery
    from winnow.read.engines.registry import engine_for

    text = text_format_of(text)
    how = reading_of(reading, "memory", "keep", "parts", "salt", "progress")
    for name, value in (("item", item), ("person", person)):
        if value is not None and not isinstance(value, str):
            raise ParameterError(f"{name}={shown(value)} is not the name of a column; give a text")
    auto = checked_bound("max_items", max_items)
    if not auto and max_items is not None:
        check_count(max_items=max_items)
    most = None if auto or max_items is None else int(max_items)
    if person is None and max_items not in (None, 1):
        raise ParameterError(
            f"max_items={max_items} needs person=: without it every row is a "
            "person of its own, with one item"
        )
    check_unit(unit, person)
    check_people_of_join(source, person)
    groups = Groups.of(by)
    few = () if groups is None else ((groups.most, groups.by),)
    who = ROW if person is None else at_most(person, (most, item), *few)
    utility = Utility.declare(1, monotone=True, relation=relation)
    public, listed = (None, None) if items is None else public_list(items)
    group = None
    if groups is not None:
        names = None if groups.names is None else public_list(groups.names)[1]
        group = group_column(groups, names, person)
        if public is not None:
            public, listed = public_pairs(public, listed or (), groups, names)
    by_column = None if groups is None else groups.by
    used = [name for name in (item, person, by_column) if name is not None]
    engine = engine_for(source, how.memory, used, text, joins=True)
    salt = salt_of_run(how.salt)
    key = os.urandom(16).hex() if salt is None else hashlib.blake2b(str(salt).encode()).hexdigest()
    query = CountQuery(item, person, most, key, listed, group=group)
    bound = 1 if person is None else most
    people = None
    if person is not None and most is not None:
        people = BoundedPeople.of_items(engine, query)
    weighed = None
    if person is not None and listed is None:
        weights = WeightsOfSource(engine, query, how.keep, how.parts)
        travel = engine.takes_names and how.keep != "engine"
        weighed = WeighedItems(Sealed(weights, "weights"), names_travel=travel)
    choice = None
    if auto:

        def under(bound: int) -> SealedCounts:
            return counts(
                source, item=item, person=person, max_items=bound, items=items, relation=relation,
                by=by, text=text, reading=replace(how, salt=key if salt is None else salt),
            )  # fmt: skip

        choice = BoundChoice.of_items(engine, query, under)
    made = partial(
        SealedCounts, utility=utility, max_items=bound, unit=who, people=people, groups=groups,
        choice=choice,
    )  # fmt: skip
    totals = None
    if how.keep != "engine":
        # the labels of a public list are in memory anyway
        collected = int(MOST_COLLECTED.at) if how.keep == "auto" and public is None else None
        totals = engine.count(query, how.parts, how.progress, collected)
    if totals is None:
        kept: Sealed[Scores | KeptCounts] = Sealed(
            engine.keep(query, how.parts, how.progress), "counts"
        )
        nowhere: Sealed[Sequence[Any]] = Sealed([], "items")  # the engine has them
        labels = nowhere if public is None else public
        return made(kept, labels, weighed=weighed)
    if public is not None and listed is not None:
        values = np.array([totals.get(text, 0) for text in listed], np.int64)
        what = f"counts of {len(public)} items"
        return made(Sealed(values, what), public)
    labels_found: Sequence[Any] = sorted(totals)
    values = np.array([totals[label] for label in labels_found], np.int64)
    private: Sealed[Sequence[Any]] = Sealed(labels_found, "items")
    return made(Sealed(values, "counts"), private, weighed=weighed)


@guarded
def seal_counts(
    counts: Any,
    *,
    labels: Any = None,
    max_items: int | None = None,
    sensitivity: Real | tuple[Real, Real] = 1,
    relation: str | Relation = Relation.ADD_REMOVE,
    label_column: str | None = None,
    count_column: str | None = None,
) -> SealedCounts:
    """Seal ready counts of people: a dict, a list, NumPy, pandas, Polars or Arrow.

    ``labels`` names the items of a list or array, or says where those of the counts come from:
    "public", a list fixed without looking at the data, or "private", found in them; a release of
    private labels needs a delta. A data frame, a Series with an index and a Counter need that
    word. ``label_column`` and ``count_column`` name the columns of a frame with more than two.

    ``max_items`` is the most items that one person was counted for; None: not bounded. One person
    raises each count by at most ``sensitivity`` and lowers none; a pair (down, up) says what adding
    a person does to scores that may go down, too. ``relation`` says which datasets are neighbours.
    """
    if max_items is not None:
        check_count(max_items=max_items)
        max_items = int(max_items)
    refuse_sealed(counts)
    utility = declared(sensitivity, not isinstance(sensitivity, tuple), relation)
    word = labels_word(labels)
    if labels is None:
        refuse_found_labels(counts, tables=True)
    values, names = read_scores_of(
        counts,
        labels=None if word else labels,
        label_column=label_column,
        score_column=count_column,
    )
    if word == "private":
        if names is None:
            raise ParameterError("labels='private' needs counts with labels; give a dict")
        return private_counts(names, values, utility, max_items)
    if isinstance(counts, np.ndarray) and np.may_share_memory(values, counts):
        values = values.copy()  # later changes to the caller's array do not reach them
    public = range(len(values)) if names is None else names
    return SealedCounts(
        Sealed(values, f"counts of {len(values)} items"), public, utility, max_items
    )


def check_unit(unit: str | None, person: str | None, option: str = "person") -> None:
    """Refuse a unit that is unknown, or two of them."""
    if unit is None:
        return
    if unit != "row":
        raise ParameterError(
            f"unit={shown(unit)} is unknown; unit='row' protects one row, and {option}= names the "
            "column of those who are protected with all their rows"
        )
    if person is not None:
        raise ParameterError(
            f"unit='row' and {option}={shown(person)} contradict each other; give one of them"
        )


def private_counts(
    labels: Sequence[Any], values: Scores, utility: Utility, most: int | None
) -> SealedCounts:
    """Ready counts whose labels were found in the data: sealed together with them.

    Labels that nobody has are left out, and the others sorted by their text: nothing of the order
    in which they came remains.
    """
    if values.dtype.kind != "i" or (values < 0).any():
        raise DataError(
            "at least one count is negative or not a whole number; give counts of people"
        )
    if utility != Utility.declare(1, monotone=True, relation=utility.relation):
        raise ParameterError(
            "labels='private' is for counts of people, to which one person adds at most 1; leave "
            "out sensitivity= and monotone="
        )
    if isinstance(labels, PackedLabels):
        some = values > 0
        order = labels.order if some.all() else labels.order[some[labels.order]]
        sorted_labels: Sealed[Sequence[Any]] = Sealed(labels.taken(order), "items")
        return SealedCounts(Sealed(values[order], "counts"), sorted_labels, utility, most)
    with instead(lambda error: DataError(f"at least one label {error}"), ParameterError):
        texts = [label_text(label) for label in labels]
    present_places = sorted((text, i) for i, text in enumerate(texts) if values[i] > 0)
    kept = np.array([values[i] for _, i in present_places], np.int64)
    present: Sequence[Any] = [labels[i] for _, i in present_places]
    return SealedCounts(Sealed(kept, "counts"), Sealed(present, "items"), utility, most)
