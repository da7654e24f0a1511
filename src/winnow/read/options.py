"""How a source is read, as objects with their options: its text, its baskets, memory and salt.

Every reader takes them as ``text=``, ``layout=`` and ``reading=``. None of them changes what is
promised.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import Annotated, Literal

from winnow.core.options import Checked, Method, Methods, Option
from winnow.errors import ParameterError
from winnow.foreign import shown

ENCODINGS = ("utf-8", "latin-1", "utf-16")
_WORDS = {"tab": "\t", "\\t": "\t"}
_TEXT = "Text files"


@dataclass(frozen=True)
class TextFormat(Checked):
    """How text files are written, if their names and header rows do not say so.

    ``line_breaks=True`` allows line breaks in quoted fields: a row may then take several lines.
    ``delimiter`` separates fields. ``encoding`` is "utf-8", "latin-1" or "utf-16". ``names`` names
    the columns of a file without a header row. All of it is public.
    """

    line_breaks: Annotated[
        bool, Option("Quoted fields of CSV and TSV files may contain line breaks.")
    ] = False
    delimiter: Annotated[
        str | None,
        Option("What separates fields: ',', ';', '|' or tab.", "CHAR", panel=_TEXT),
    ] = None
    encoding: Annotated[
        str, Option("utf-8, latin-1 (also Windows-1252) or utf-16.", "NAME", panel=_TEXT)
    ] = "utf-8"
    names: Annotated[
        Sequence[str] | None,
        Option(
            "The names of the columns, for a file without a header row.", "A,B,...", panel=_TEXT
        ),
    ] = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.delimiter is not None:
            object.__setattr__(self, "delimiter", _checked_delimiter(self.delimiter))
        if self.encoding not in ENCODINGS:
            raise ParameterError(
                f"encoding={shown(self.encoding)} cannot be read; give one of "
                f"{', '.join(ENCODINGS)}, or save the file as UTF-8"
            )
        if self.names is not None:
            object.__setattr__(self, "names", _checked_names(self.names))

    @property
    def said(self) -> bool:
        """Whether anything was said that only text files have."""
        return self != PLAIN


def _checked_delimiter(given: object) -> str:
    delimiter = _WORDS.get(given, given) if isinstance(given, str) else ""
    if len(delimiter) != 1 or not delimiter.isascii() or delimiter.isalnum():
        raise ParameterError(
            "the delimiter is not one character such as ',', ';', '|' or tab; give one"
        )
    if delimiter in '"\r\n\0.-+':
        raise ParameterError(
            "the delimiter is a quote, a line end, a dot or a sign, which cannot separate "
            "fields; give another one"
        )
    return delimiter


def _checked_names(given: object) -> tuple[str, ...]:
    from winnow.core.column import check_name

    if isinstance(given, str) or not isinstance(given, Sequence):
        raise ParameterError(f"names={shown(given)} is not a list of names")
    listed = tuple(check_name(name) for name in given)
    if not listed or len({name.lower() for name in listed}) < len(listed):
        raise ParameterError(
            "names= is empty or gives one name twice (letter case aside); name every column"
        )
    return listed


PLAIN = TextFormat()
"""Nothing was said."""


def text_format_of(text: object) -> TextFormat:
    """How text is written, plain where nothing was said; what is no ``TextFormat`` is refused."""
    if text is None:
        return PLAIN
    if not isinstance(text, TextFormat):
        raise ParameterError(
            f"text={shown(text)} is not a wn.TextFormat; give wn.TextFormat(delimiter=, "
            "encoding=, names=, line_breaks=)"
        )
    return text


@dataclass(frozen=True)
class Reading(Checked):
    """How a source is read, and where its counts stay.

    ``memory`` limits DuckDB for files and data frames, and nothing is spilled to disk. A
    connection of yours keeps its own settings. ``keep`` says where counts and rows stay: "memory"
    collects them, "engine" leaves them where they are and asks there, and "auto" decides by what
    is public and by how many there are. ``parts`` counts people in that many parts (rounded up to
    a power of two; by default as many as memory requires). ``progress`` is called with (parts
    done, parts in all). ``salt`` decides which rows or items are kept of a person who has too
    many. It is fresh and secret by default; the same salt keeps the same ones in every engine.
    """

    memory: Annotated[
        str, Option("How much memory to use, e.g. 2GB. Nothing goes to disk.", "SIZE")
    ] = "2GB"
    keep: Annotated[
        Literal["auto", "memory", "engine"], Option("Where counts and rows stay.", "PLACE")
    ] = "auto"
    parts: Annotated[int | None, Option("In how many parts people are counted.", "N", least=1)] = (
        None
    )
    salt: Annotated[
        str | None, Option("What says which rows of a person are kept; secret by default.", "TEXT")
    ] = None
    progress: Callable[[int, int], None] | None = None

    def for_one_of(self, *taken: str) -> Reading:
        """This, where a reader takes no more than these; what it would ignore is refused."""
        for field in fields(self):
            value = getattr(self, field.name)
            if field.name not in taken and value != field.default:
                raise ParameterError(
                    f"reading=wn.Reading({field.name}=...) does nothing here; this reader takes "
                    f"{', '.join(taken)}; leave it out"
                )
        return self


def reading_of(reading: object, *taken: str) -> Reading:
    """How a source is read, by default where nothing was said; what has no use is refused."""
    if reading is None:
        return Reading()
    if not isinstance(reading, Reading):
        raise ParameterError(
            f"reading={shown(reading)} is not a wn.Reading; give "
            f"wn.Reading({', '.join(f'{name}=' for name in taken)})"
        )
    return reading.for_one_of(*taken)


class BasketLayout(Method):
    """How baskets lie in a source."""


@dataclass(frozen=True)
class Lines(BasketLayout):
    """One basket on each line of a text file, or a list of lists.

    Without a separator the ending of the name says it: a comma for .csv and .basket, a tab for
    .tsv, white space for .dat and .txt. It is never guessed from the content; " " is any white
    space.
    """

    separator: Annotated[
        str | None,
        Option("What separates the items of a line; by default as the file's ending says.", "TEXT"),
    ] = None

    def __post_init__(self) -> None:
        super().__post_init__()
        separator = self.separator
        if separator is not None and (
            not isinstance(separator, str) or not separator or set(separator) & set("\r\n")
        ):
            raise ParameterError(
                "separator= is empty or a line end; give a text of one character or more"
            )


@dataclass(frozen=True)
class Pairs(BasketLayout):
    """A table with a row for each item of a basket."""

    basket: Annotated[str, Option("The column of baskets.", "COLUMN")]
    item: Annotated[str, Option("The column of items.", "COLUMN")]

    def __post_init__(self) -> None:
        super().__post_init__()
        for name, value in (("basket", self.basket), ("item", self.item)):
            if not isinstance(value, str):
                raise ParameterError(
                    f"{name}={shown(value)} is not the name of a column; give a text"
                )
        if self.basket == self.item:
            raise ParameterError(f"the column {self.item!r} cannot be both basket and item")


@dataclass(frozen=True)
class Indicators(BasketLayout):
    """A table with a row for each basket and a column for each item: 1, true or yes."""


LAYOUTS = Methods(
    "How baskets lie in the file.",
    of=(Lines, Pairs, Indicators),
    panel="Baskets and people",
    called="layout",
    implied=True,
)
"""The layouts by the words that users write."""


def layout_of(layout: object) -> BasketLayout | None:
    """The layout in these words; None: by what the source is."""
    if isinstance(layout, BasketLayout):
        return layout
    built = LAYOUTS.build(layout if isinstance(layout, str) else shown(layout), {})
    return built if isinstance(built, BasketLayout) else None


@dataclass(frozen=True)
class Lying(Checked):
    """How baskets lie, as a command asks for it."""

    layout: Annotated[BasketLayout | str, LAYOUTS] = "auto"
