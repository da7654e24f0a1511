"""Forms of the pages: what a person chose by the schema, as the bodies that the API takes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeVar, get_args
from urllib.parse import parse_qsl

import msgspec

from winnow.core.column import Column
from winnow.core.options import Methods
from winnow.errors import ParameterError
from winnow.serve import bodies, replies
from winnow.serve.derived import offered
from winnow.serve.gate import decoded
from winnow.serve.problems import Refusal
from winnow.serve.verbs import kind_of

T = TypeVar("T")

_MOST_FIELDS = 5_000
_FEW = 16
"""Up to so many values are shown as boxes to tick, more as a list."""
_MOST_LISTED = 1_000

_PLAN = msgspec.json.Decoder(bodies.PlanBody)
_RELEASE = msgspec.json.Decoder(bodies.ReleaseBody)
_QUESTIONS = msgspec.json.Decoder(bodies.QuestionsBody)
_SHARE = msgspec.json.Decoder(bodies.ShareBody)
_TOKEN = msgspec.json.Decoder(bodies.TokenBody)


class Form:
    """The fields of a form that was sent, several under one name where there are."""

    def __init__(self, pairs: list[tuple[str, str]] | None = None) -> None:
        self._fields: dict[str, list[str]] = {}
        for name, value in pairs or []:
            self._fields.setdefault(name, []).append(value)

    @classmethod
    def parse(cls, content: bytes) -> Form:
        """The fields of a body, or of the part of an address after its question mark."""
        try:
            pairs = parse_qsl(
                content.decode(), keep_blank_values=True, max_num_fields=_MOST_FIELDS,
                errors="strict",
            )  # fmt: skip
        except ValueError:  # not UTF-8, or too many fields
            pairs = None
        if pairs is None:
            raise Refusal("unreadable", "the form is not UTF-8, or has too many fields")
        return cls(pairs)

    def one(self, name: str, default: str = "") -> str:
        """The field of a name, without spaces around it."""
        return self._fields.get(name, [default])[0].strip()

    def all(self, name: str) -> list[str]:
        """All that was chosen under a name."""
        return self._fields.get(name, [])

    def number(self, name: str, says: str) -> float | None:
        """A number; None: nothing was written."""
        text = self.one(name)
        if not text:
            return None
        try:
            return float(text)
        except ValueError:
            pass
        raise ParameterError(f"{says} is {text[:40]!r}, which is not a number; write one like 0.5")

    def numbers(self, name: str, says: str) -> list[float]:
        """Numbers with commas between them."""
        try:
            return [float(part) for part in self.one(name).split(",")]
        except ValueError:
            pass
        raise ParameterError(f"{says} are not numbers; write them like 0.25, 0.5, 0.75")

    def whole(self, name: str, says: str) -> int | None:
        """A whole number; None: nothing was written."""
        number = self.number(name, says)
        if number is not None and not number.is_integer():
            raise ParameterError(f"{says} is {number:g}, which is not a whole number")
        return None if number is None else int(number)

    def __contains__(self, name: str) -> bool:
        return name in self._fields


# What a form offers


@dataclass(frozen=True)
class ColumnChoice:
    """A column of the schema as a form shows it."""

    name: str
    labels: list[Any]
    """Its values, where they are few enough to be listed."""
    edges: list[Any]
    """Where ranges may begin and end; empty: it has no ranges."""
    codes: int | None
    """Of a column of codes: how many there are."""
    number: bool
    """Whether sums and means can be asked of it."""
    ranked: bool
    """Whether quantiles can be asked of it."""
    size: int
    """How many values it has, listed or not."""

    @property
    def boxes(self) -> bool:
        """Whether the values are boxes to tick."""
        return len(self.labels) <= _FEW


def column_choices(schema: replies.SchemaAnswer) -> list[ColumnChoice]:
    """The columns of a dataset, in their order."""
    choices = []
    for name, declared in schema.columns.items():
        labels = schema.labels[name]
        long = isinstance(declared, Mapping)
        edges = list(declared.get("edges", [])) if long else []
        codes = declared.get("codes") if long else int(declared)
        number = all(isinstance(e, int | float) and not isinstance(e, bool)
                     for e in edges or labels)  # fmt: skip
        ranked = (long and "type" in declared) or (codes or 1) > 1
        size = len(labels) or Column.parse(name, declared).cardinality
        few = size <= _MOST_LISTED
        choices.append(
            ColumnChoice(name, labels if few else [], edges, codes, number, ranked, size)
        )
    return choices


_OWN_FIELDS = {
    "epsilon", "error", "delta", "column", "k", "size", "by", "workload", "values", "statistics",
    "quantiles", "split", "rows", "with_counts", "supports", "target", "features",
}  # fmt: skip
"""Options that the form asks for in its own way."""
_ANSWERS = {"yes": True, "no": False}
_RECORDS = {str(each.__struct_config__.tag): each.record for each in get_args(bodies.AnyOrder)}


@dataclass(frozen=True)
class FormChoice:
    """An option as a form asks for it: a word, a number, or yes."""

    name: str
    hint: str
    words: tuple[str, ...] = ()
    """The words to choose from; empty: it is a number, or yes where ``tick``."""
    tick: bool = False
    whole: bool = False
    """Whether the number is a whole one."""
    least: float | None = None
    most: float | None = None
    default: str = ""

    @property
    def label(self) -> str:
        """What it is called on the page."""
        return self.name.replace("_", " ").capitalize()


def choices_of(kind: str) -> list[FormChoice]:
    """All further options of a verb, read off its record as the commands are."""
    found = []
    for field in offered(_RECORDS[kind]):
        option, hint = field.option, field.option.help.replace("=", "")
        if field.name in _OWN_FIELDS or field.pair or field.numbers or field.simple == list[str]:
            continue
        if isinstance(option, Methods) or (field.words and not field.or_word):
            default = field.default if isinstance(field.default, str) else ""
            words = field.words if default else ("", *field.words)
            found.append(FormChoice(field.name, hint, words, default=default))
        elif field.simple is bool and field.default is None:
            found.append(FormChoice(field.name, hint, ("", *_ANSWERS)))
        elif field.simple is bool:
            found.append(FormChoice(field.name, hint, tick=True))
        elif field.simple in (int, float):
            low = option.least if option.above is None else option.above
            high = option.most if option.below is None else option.below
            most = high if option.served is None else option.served
            default = "" if field.default is None else f"{field.default:g}"
            found.append(
                FormChoice(
                    field.name, hint, default=default, least=low, most=most,
                    whole=field.simple is int,
                )
            )  # fmt: skip
    return found


def takes(kind: str, name: str) -> bool:
    """Whether a verb has an option."""
    return name in {field.name for field in offered(_RECORDS[kind])}


# What a form says


def plan_body(kind: str, schema: replies.SchemaAnswer, form: Form) -> bodies.PlanBody:
    """The plan that a form asks for."""
    order: dict[str, Any] = {"kind": kind}
    by_error = form.one("by") == "error"
    order["error" if by_error else "epsilon"] = (
        form.number("error", "the wanted error") if by_error else form.number("epsilon", "epsilon")
    )
    if form.one("column") and schema.columns:
        order["column"] = form.one("column")
    if kind in ("select", "top-k", "itemsets"):
        order["k"] = form.whole("k", "the number of results")
    if kind == "itemsets":
        order["size"] = form.whole("size", "the size of an itemset")
    if kind == "top-k":
        order["with_counts"] = form.one("with_counts") == "yes"
    if kind == "itemsets" and form.one("with_counts") == "yes":
        order["supports"] = "winners"
    if kind == "tabulate":
        order["by"] = _pieces(schema, form) if schema.columns else None
        order["values"] = form.all("values")
    if kind == "moments":
        order["values"] = [name for name in form.all("values") if name in schema.columns]
        order["statistics"] = form.all("statistics")
        order["by"] = [name for name in form.all("groups") if name in schema.columns]
    if kind == "regress":
        order["target"] = form.one("target")
        order["features"] = [name for name in form.all("features") if name in schema.columns]
    if kind == "quantiles":
        order["quantiles"] = form.numbers("quantiles", "the quantiles")
        order["by"] = [name for name in form.all("groups") if name in schema.columns]
        if form.one("intervals") == "yes":
            order["method"] = {"kind": "halving", "level": 0.95}
    if kind == "histogram":
        order["bins"] = form.whole("bins", "the number of bins")
        order["split"] = form.one("split", "equal")
    if kind == "release":
        order["workload"] = _pieces(schema, form)
        order["rows"] = form.whole("rows", "the public number of rows")
    if takes(kind, "delta"):
        order["delta"] = form.number("delta", "delta") or 0.0
    for choice in choices_of(kind):
        said = form.one(choice.name)
        if said and choice.tick:
            order[choice.name] = True
        elif said and choice.words:
            answers = _ANSWERS if set(choice.words) == {"", *_ANSWERS} else {}
            order.setdefault(choice.name, answers.get(said, said))
        elif said:
            number = form.whole if choice.whole else form.number
            order[choice.name] = number(choice.name, choice.label)
    given = {name: value for name, value in order.items() if value is not None}
    return _body(_PLAN, {"order": given})


def curve_around(order: bodies.AnyOrder, most: float | None) -> list[float]:
    """Epsilons for a plot: a quarter to four times, and never far beyond what is left.

    None where nothing is known of the error beforehand; few where one plan takes its time.
    """
    if kind_of(order) == "itemsets" or order.epsilon is None:
        return []
    slow = kind_of(order) == "release"
    ratios = (0.25, 0.5, 2.0, 4.0) if slow else (0.25, 0.4, 0.63, 1.6, 2.5, 4.0)
    epsilon = order.epsilon
    end = 4 * epsilon if most is None else max(1.2 * most, 2 * epsilon)
    return [min(1e6, float(f"{epsilon * ratio:.3g}")) for ratio in ratios if epsilon * ratio <= end]


def _pieces(schema: replies.SchemaAnswer, form: Form) -> list[dict[str, Any]]:
    """The parts of a workload, all that were chosen."""
    pieces: list[dict[str, Any]] = []
    ways = form.whole("ways", "the number of columns")
    if ways:
        pieces.append({"marginals": ways})
    columns = [name for name in form.all("columns") if name in schema.columns]
    if columns:
        pieces.append({"table": columns})
    for word in ("prefixes", "ranges"):
        if form.one(word):
            pieces.append({word: form.one(word)})
    if not pieces:
        raise ParameterError("choose what is to be counted: all tables of some columns, or one")
    return pieces


def release_body(form: Form) -> bodies.ReleaseBody:
    """The release that a plan showed, as its page carried it."""
    return decoded(_RELEASE, form.one("order").encode())


def question_body(schema: replies.SchemaAnswer, form: Form) -> bodies.QuestionsBody:
    """One question: all conditions that were chosen."""
    conditions: dict[str, Any] = {}
    for column in column_choices(schema):
        picked = [_picked(column, text) for text in form.all(f"is:{column.name}")]
        low, high = (_bound(column, form.one(f"{end}:{column.name}")) for end in ("from", "to"))
        if picked and (low is not None or high is not None):
            raise ParameterError(f"the column {column.name!r} has values and a range; choose one")
        if picked:
            conditions[column.name] = picked[0] if len(picked) == 1 else picked
        elif low is not None or high is not None:
            conditions[column.name] = {"from": low, "to": high}
    if not conditions:
        raise ParameterError("choose a condition on at least one column")
    return _body(_QUESTIONS, {"questions": [conditions]})


def _picked(column: ColumnChoice, text: str) -> Any:
    if text.isdecimal() and len(text) < 10 and int(text) < len(column.labels):
        return column.labels[int(text)]
    raise ParameterError(f"the column {column.name!r} has no such value; load the form again")


def _bound(column: ColumnChoice, text: str) -> Any:
    """An edge by its place, or a code by its number."""
    if not text:
        return None
    if text.isdecimal() and len(text) < 10:
        if column.codes is not None:
            return int(text)
        if int(text) < len(column.edges):
            return column.edges[int(text)]
    raise ParameterError(f"the column {column.name!r} has no such bound; load the form again")


def share_body(form: Form) -> bodies.ShareBody:
    """A share in percent, as owners write it."""
    percent = form.number("percent", "the share")
    if percent is None:
        raise ParameterError("write the share of the cap in percent, from 0 to 100")
    return _body(_SHARE, {"part": percent / 100})


def token_body(form: Form) -> bodies.TokenBody:
    """A new token."""
    days = form.number("days", "the number of days")
    given = {
        "name": form.one("name"),
        "role": form.one("role", "analyst"),
        "scopes": form.all("scopes"),
        "datasets": form.all("datasets"),
        **({} if days is None else {"days": days}),
    }
    return _body(_TOKEN, given)


def _body(decoder: msgspec.json.Decoder[T], given: dict[str, Any]) -> T:
    return decoded(decoder, msgspec.json.encode(given))
