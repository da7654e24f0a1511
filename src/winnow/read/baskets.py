"""``winnow.read_baskets``: transactions from a file, a table or a list, sealed."""

from __future__ import annotations

import hashlib
import os
from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from winnow.core.baskets import Baskets, keep_at_most
from winnow.core.checks import count as check_count
from winnow.core.relation import Relation
from winnow.core.sealed import Sealed
from winnow.core.unit import BASKET, Unit, at_most, counted
from winnow.core.utility import Utility
from winnow.errors import DataError, InputError, ParameterError
from winnow.foreign import guarded, reason, shown
from winnow.read.basket_tables import (
    are_here,
    ending_of,
    indicators_of,
    kept_pairs,
    pairs_of,
    readable,
)
from winnow.read.databases import names_database
from winnow.read.engine import refusing
from winnow.read.kept import MOST_PAIRS, KeptBaskets
from winnow.read.options import (
    BasketLayout,
    Indicators,
    Lines,
    Pairs,
    Reading,
    TextFormat,
    layout_of,
    reading_of,
    text_format_of,
)
from winnow.read.records import csv_records, lines_of, lines_of_file, text_of
from winnow.read.salts import salt_of_run
from winnow.read.scores import repeated


@dataclass(frozen=True)
class SealedBaskets:
    """Private baskets over items that are public, or came from the data and are private too.

    The number of baskets, their lengths and which items occur are private. One person moves
    the support of every itemset by what `utility` says: by at most the number of baskets that
    a person may have, never down when a person is added.
    """

    data: Sealed[Baskets | KeptBaskets]
    labels: Sequence[Any] | Sealed[list[str]]
    """Of baskets that stay in their engine, private items are there, too, and not here."""
    utility: Utility
    person: str | None = None
    """The column of people; None: every basket is a person's only one."""
    max_items: int | None = None
    """The most items that a basket was left with; None: not bounded."""
    max_baskets: int = 1
    stay: bool = False
    """Whether the user wants them never to leave their engine."""
    here: bool = True
    """Whether they are in memory however many they are; what an engine has may be left there."""

    @property
    def relation(self) -> Relation:
        """Which datasets are neighbours."""
        return self.utility.relation

    @property
    def unit(self) -> Unit:
        """The privacy unit, in the words of a guarantee."""
        unit = BASKET
        if self.person is not None:
            unit = at_most(self.person, (self.max_baskets, "basket"))
        if self.max_items is None:
            return unit
        items = f"at most {counted(self.max_items, 'item')} of each basket"
        return replace(unit, counted=", ".join(filter(None, (unit.counted, items))))

    @property
    def items_known(self) -> bool:
        """Whether the list of items is public."""
        return not isinstance(self.labels, Sealed)

    def __repr__(self) -> str:
        what = (
            "items that are private too"
            if isinstance(self.labels, Sealed)
            else f"{len(self.labels)} public items"
        )
        unit = self.unit.name
        return f"<sealed baskets of {what}, unit: {unit}, neighbours: {self.relation}>"


SEPARATORS = {".csv": ",", ".tsv": "\t", ".dat": " ", ".txt": " ", ".basket": ","}
"""What separates the items of a line, by the ending of the file's name; ' ': any white space."""


@guarded
def read_baskets(
    source: Any,
    *,
    unit: str | None = None,
    person: str | None = None,
    max_baskets: int | None = None,
    items: Sequence[Any] | str | Path | None = None,
    max_items: int | None = None,
    layout: BasketLayout | str = "auto",
    relation: str | Relation = Relation.ADD_REMOVE,
    text: TextFormat | None = None,
    reading: Reading | None = None,
) -> SealedBaskets:
    """Read baskets of items; the result is sealed.

    ``source`` has one of three layouts. ``wn.Lines(separator=)``: a text file with one basket on
    each line, or a list of lists. ``wn.Pairs(basket=, item=)``: a table with these two columns.
    ``wn.Indicators()``: a table with one column for each item. "auto" takes lines for lists and
    text files, and indicators otherwise. Text may be
    packed with gzip, bzip2 or zstd. A table is whatever ``winnow.counts`` reads: a CSV, TSV or
    Parquet file (a path, a pattern, or a list of them), a pandas, Polars or Arrow table, a Spark
    data frame, a DuckDB relation, or a pair (connection, table or query) of a DuckDB or psycopg
    connection.

    A line ends at LF, or CR LF, and nowhere else. In comma-separated lines, and in tables that are
    text files, a double quote encloses a whole field and closes on its line; other quotes are
    refused, because one would swallow other people's lines. ``text=wn.TextFormat(...)`` says
    whether such fields may hold line breaks, and the encoding; of tables also what separates
    fields, and the names of columns.

    Say whose presence is protected: ``unit="basket"`` (every basket is a person's only one), or
    ``person=`` names the column of people, of whom at most ``max_baskets`` baskets each
    are kept.

    ``items`` is the public list of items, or a text file with one per line; others are left out.
    Without it the items come from the data and are private too, except that the columns of an
    indicator table are public. ``max_items`` cuts longer baskets down to that many items. What
    is kept of a person or a basket is chosen by a keyed hash of what it has itself.

    People, baskets and items are compared as text, so columns of real numbers and of times are
    refused; an item counts once per basket; rows without one are left out.

    ``reading=wn.Reading(...)`` says how much memory reading a table may take, and what is kept
    where. ``keep="engine"`` leaves pairs where they are: a release then asks there how many
    itemsets have each support, and for the names of those that it draws. ``keep="memory"`` brings
    them, and "auto" does so from files and data frames, and up to five million pairs from an
    engine; with ``max_items`` it leaves those of an engine there, however many they are. The
    guarantee is the same. Which items of a basket ``max_items`` leaves is chosen by its own hash
    there, so that a ``salt`` chooses others than in memory.
    """
    text = text_format_of(text)
    how = reading_of(reading, "memory", "keep", "salt")
    bounds = _unit(unit, person, max_baskets)
    if max_items is not None:
        check_count(max_items=max_items)
    utility = Utility.declare(bounds, monotone=True, relation=relation)
    public = None if items is None else public_items(items)
    texts = None if public is None else [str(label) for label in public]
    lying = layout_of(layout) or _usual_layout(source)
    salt = salt_of_run(how.salt)
    key = os.urandom(32) if salt is None else hashlib.blake2b(str(salt).encode()).digest()[:32]
    labels: list[str]
    data: Baskets | KeptBaskets
    here = how.keep != "engine"
    if not here and not isinstance(lying, Pairs):
        raise ParameterError(
            "keep='engine' is for pairs, with layout=wn.Pairs(basket=, item=); these are "
            f"{lying.word()}, which are read into memory"
        )
    if isinstance(lying, Lines):
        if person is not None:
            raise ParameterError(
                "lines do not say whose basket it is; give a table, or unit='basket'"
            )
        if text.delimiter is not None or text.names is not None:
            raise ParameterError(
                "delimiter= and names= are for tables; the separator of the items of a line is "
                "layout=wn.Lines(separator=)"
            )
        data, labels = _from_lines(_rows(source, lying.separator, text), texts)
    else:
        asked: dict[str, Any] = {
            "person": person,
            "items": texts,
            "max_baskets": None if person is None else bounds,
            "salt": key.hex(),
            "memory": how.memory,
            "text": text,
        }
        with refusing("the baskets cannot be read", memory=how.memory):
            if isinstance(lying, Pairs):
                asked |= {"basket": lying.basket, "item": lying.item}
                here = how.keep == "memory" or (here and are_here(source, asked))
                data, labels = _pairs(source, asked, max_items, how.keep)
            else:
                data, labels = indicators_of(source, **asked)
    if max_items is not None and isinstance(data, Baskets):
        data = keep_at_most(data, labels, int(max_items), key)
    known: Sequence[Any] | Sealed[list[str]] = Sealed(labels, "items")
    if public is not None or isinstance(lying, Indicators):
        known = labels if public is None else public
    return SealedBaskets(
        Sealed(data, "baskets"),
        known,
        utility,
        person,
        None if max_items is None else int(max_items),
        bounds,
        how.keep == "engine",
        here,
    )


def _pairs(
    source: Any, how: dict[str, Any], max_items: int | None, keep: str
) -> tuple[Baskets | KeptBaskets, list[str]]:
    """Pairs, brought here or left where they are; and the labels of what is here.

    An engine cuts baskets by another hash than is used here. If the number of pairs decided which,
    one person more could change how all baskets are cut: it decides only where nothing is cut.
    """
    if keep == "auto" and max_items is not None:
        keep = "memory" if are_here(source, how) else "engine"
    baskets = None
    if keep != "engine":
        baskets = pairs_of(source, **how, most=int(MOST_PAIRS.at) if keep == "auto" else None)
    if baskets is not None:
        return baskets
    bring = None if keep == "engine" else partial(pairs_of, source, **how)
    return kept_pairs(source, **how, max_items=max_items, bring=bring), []


def public_items(items: Sequence[Any] | str | Path) -> list[Any]:
    """The public list of items, each once."""
    if isinstance(items, str | Path):
        public: list[Any] = [line.strip() for line in lines_of_file(items)]
    else:
        public = list(items)
    if not public:
        raise ParameterError("the public list of items is empty; give at least one item")
    texts = [str(label) for label in public]
    if len(set(texts)) < len(texts):
        first, again = repeated(texts)
        raise ParameterError(
            f"item {first + 1} of the public list appears again as item {again + 1}; list it once"
        )
    return public


def _unit(unit: str | None, person: str | None, most: int | None) -> int:
    """The most baskets of one person."""
    if person is None:
        if most is not None:
            raise ParameterError("max_baskets= needs person=, the column of people")
        if unit != "basket":
            raise ParameterError(
                f"unit={shown(unit)}: say whose presence is protected: unit='basket' if every "
                "basket is a person's only one, or person= and max_baskets="
            )
        return 1
    if unit not in (None, "person"):
        raise ParameterError(
            f"unit={shown(unit)} contradicts person={shown(person)}; leave out one of them"
        )
    if most is None:
        raise ParameterError("person= needs max_baskets=, the most baskets kept of one person")
    check_count(max_baskets=most)
    at_most(person, (int(most), "basket"))  # refuses a name that means another unit
    return int(most)


def _usual_layout(source: Any) -> BasketLayout:
    """How baskets lie where nothing is said: a file by its name, tables with indicators."""
    if isinstance(source, str | Path) and not names_database(source):
        return Indicators() if ending_of(Path(source)) == ".parquet" else Lines()
    lists = isinstance(source, list | tuple) and not _asked(source)
    return Lines() if lists else Indicators()


def _asked(source: Any) -> bool:
    """Whether this is (connection, table or query), and not two baskets."""
    pair = isinstance(source, tuple) and len(source) == 2 and isinstance(source[1], str)
    return pair and not isinstance(source[0], Iterable)


def _from_lines(
    rows: Iterable[Iterable[str]], items: Sequence[str] | None
) -> tuple[Baskets, list[str]]:
    """Baskets coded in one pass, then recoded in the order of the labels."""
    codes: dict[str, int] = {} if items is None else {text: i for i, text in enumerate(items)}
    coded, starts = array("i"), array("q", [0])
    for row in rows:
        texts = {text for text in row if text}
        if items is None:
            basket = [codes.setdefault(text, len(codes)) for text in texts]
        else:
            basket = [codes[text] for text in texts if text in codes]
        coded.extend(basket)
        starts.append(len(coded))
    flat, ends = np.array(coded, np.int32), np.array(starts, np.int64)
    labels = list(codes)
    if items is None:
        order = sorted(range(len(labels)), key=labels.__getitem__)
        new = np.empty(len(labels), np.int32)
        new[order] = np.arange(len(labels), dtype=np.int32)
        flat, labels = new[flat] if len(labels) else flat, [labels[i] for i in order]
    owner = np.repeat(np.arange(len(ends) - 1), np.diff(ends))
    return Baskets(ends, flat[np.lexsort((flat, owner))], len(labels)), labels


def _rows(source: Any, separator: str | None, text: TextFormat) -> Iterable[Iterable[str]]:
    if not isinstance(source, str | Path):
        if separator is not None or text.said:
            raise ParameterError(
                "separator=, line_breaks= and encoding= are for files; this is a list of baskets"
            )
        return _from_list(source)
    path = Path(source)
    readable(path)
    if separator is None:
        separator = SEPARATORS.get(ending_of(path))
        if separator is None:
            raise ParameterError(
                f"the ending of {path.name!r} does not say what separates items; give "
                "layout=wn.Lines(separator=)"
            )
    if text.line_breaks and separator != ",":
        raise ParameterError("line_breaks=True is for comma-separated lines, which may have quotes")
    try:
        return _cut(text_of(path.read_bytes(), text.encoding), separator, text.line_breaks)
    except InputError as error:
        problem = str(error)
    except OSError as error:
        problem = f"it cannot be read ({reason(error)}); check its permissions"
    raise DataError(f"the file {path.name!r}: {problem}")  # outside: nothing private is chained


def _cut(text: str, separator: str, line_breaks: bool) -> Iterable[Iterable[str]]:
    """The items of each line."""
    if separator == ",":
        rows = csv_records(text, separator, line_breaks=line_breaks)
        return [[part.strip() for part in row] for _, row in rows]
    lines = lines_of(text)
    if separator == " ":
        return (line.split() for line in lines)
    return ([part.strip() for part in line.split(separator)] for line in lines)


def _from_list(source: Any) -> Iterable[list[str]]:
    for basket in source:
        if isinstance(basket, str) or not isinstance(basket, Iterable):
            raise DataError("a list of baskets holds lists of items; at least one is not a list")
        yield [str(item) for item in basket if not _missing(item)]


def _missing(item: Any) -> bool:
    """None, NaN and what else says that it is not there: NaN is not itself, NA says neither."""
    if item is None or type(item).__name__ == "NAType":
        return True
    return isinstance(item, float | np.floating) and bool(item != item)
