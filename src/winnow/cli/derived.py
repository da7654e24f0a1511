"""The options of a command, read off the fields of a request and of its methods.

A command has a parameter ``asked: Typed[TopK]``; ``unbundled`` shows Typer one option for each
field of the request and of its methods. The command calls it with what it adds:
``asked(budget=budget)`` is the request.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from inspect import Parameter
from typing import Annotated, Any, Generic, TypeVar, get_args, get_origin

import typer

from winnow.core.options import Field, Methods, Option, options
from winnow.errors import ParameterError
from winnow.foreign import instead, shown

T = TypeVar("T")
_NAMED = re.compile(r"\b([a-z_]+)=(?=[\s,.;:)]|$)")


@dataclass(frozen=True)
class Typed(Generic[T]):
    """What was typed of a request; to call it adds the rest."""

    record: type[T]
    said: dict[str, Any]

    def __call__(self, **more: Any) -> T:
        """The request."""
        return self.record(**{**self.said, **more})

    def __getattr__(self, name: str) -> Any:
        if name not in self.said:
            raise AttributeError(name)
        return self.said[name]


def record_in(annotation: Any) -> type[Any] | None:
    """The request of ``Typed[TopK]``; None of anything else."""
    return get_args(annotation)[0] if get_origin(annotation) is Typed else None


def parameters(record: type[Any]) -> Iterator[Parameter]:
    """One for each option of a request and of its methods."""
    flags = {field.name: flag_of(field) for field in offered(record)}
    by_epsilon = "error" not in flags  # a command has no other way to say how much is spent
    for field in offered(record):
        if not isinstance(field.option, Methods):
            needed = field.name == "epsilon" and by_epsilon
            text = spelled(field.option.help, flags)
            yield _parameter(field, text, field.option, needed=needed)
            continue
        words = f"{', '.join(field.words)}. {field.option.help}"
        about = Option("", "NAME", panel=field.option.panel)
        yield _parameter(field, spelled(words, flags), about)
        for own, takers in of_methods(field.option):
            assert isinstance(own.option, Option)
            text = f"For {' and '.join(takers)}: {own.option.help[:1].lower()}{own.option.help[1:]}"
            text += f" One of: {', '.join(own.words)}." if own.words and not own.or_word else ""
            about = Option("", own.option.metavar, flag=own.option.flag, panel=field.option.panel)
            yield _parameter(own, spelled(text, flags), about, maybe=True)


def typed(record: type[T], given: dict[str, Any]) -> Typed[T]:
    """Take from what a command was given what belongs to the request."""
    said: dict[str, Any] = {}
    for field in offered(record):
        value = given.pop(field.name)
        if isinstance(field.option, Methods):
            own = {
                each.name: _value(each, given.pop(each.name))
                for each, _ in of_methods(field.option)
            }
            value = field.option.build(value, {n: v for n, v in own.items() if v is not None})
        elif field.simple == list[str] and not field.numbers:
            listed = None if value is None else [part.strip() for part in value.split(",")]
            value = field.default if listed is None else listed
        said[field.name] = _value(field, value)
    return Typed(record, said)


def _value(field: Field, text: Any) -> Any:
    """What was typed, as the record takes it: a number where it is not one of its words."""
    if text is None or text in field.words:
        return text
    if field.numbers:
        return _numbers(field, text)
    if field.pair:
        return number_or_pair(flag_of(field), text, single=field.single)
    if not field.or_word:
        return text
    words = " or ".join(field.words)
    with instead(
        ParameterError(f"{flag_of(field)} {shown(text)} is not a number; give one, or {words}"),
        ValueError,
    ):
        return field.simple(text)


def _numbers(field: Field, text: Any) -> Any:
    """Numbers with commas between them, as they are written; or one, where it is a number."""
    if not isinstance(text, str):
        return text
    one = int in field.kinds and "," not in text
    what = "a number, or several" if int in field.kinds else "numbers"
    wrong = f"{flag_of(field)} {shown(text)}: give {what} with commas between them"
    with instead(ParameterError(wrong), ValueError, ZeroDivisionError):
        parts = [Fraction(part.strip()) for part in text.split(",")] if text.strip() else []
    return int(text) if one and parts and parts[0].denominator == 1 else parts


def number_or_pair(flag: str, text: str, *, single: bool = True) -> float | tuple[float, float]:
    """Two numbers with a comma between them; or one, where ``single`` allows it."""
    wanted = "neither a number nor two such as 0.25,1" if single else "not two numbers such as 0,1"
    refusal = ParameterError(f"{flag} {text!r} is {wanted}")
    with instead(refusal, ValueError):
        numbers = [float(part) for part in text.split(",")]
    if len(numbers) == 1 and single:
        return numbers[0]
    if len(numbers) != 2:
        raise refusal
    return numbers[0], numbers[1]


def offered(record: type[Any]) -> list[Field]:
    """The options that a command has."""
    return [
        field
        for field in options(record)
        if isinstance(field.option, Methods) or "command" in field.option.where
    ]


def of_methods(methods: Methods) -> Iterator[tuple[Field, list[str]]]:
    """The options of all methods, each once, with the words of those that take it."""
    listed: dict[str, Field] = {}
    for made in methods.of:
        for field in options(made):
            first = listed.setdefault(field.name, field)
            if first.option != field.option:
                raise TypeError(f"{field.name} means several things to the methods of one verb")
    for name, field in listed.items():
        if name not in methods.without:
            yield field, methods.takers(name)


def flag_of(field: Field) -> str:
    """How a command spells an option."""
    own = field.option.flag if isinstance(field.option, Option) else ""
    return own or f"--{field.name.replace('_', '-')}"


def spelled(help: str, flags: dict[str, str]) -> str:
    """A help text in the words of a command: --delta, not delta=."""

    def flag(named: re.Match[str]) -> str:
        return flags.get(named[1], f"--{named[1].replace('_', '-')}").split("/")[0]

    return _NAMED.sub(flag, help)


def _parameter(
    field: Field, help: str, about: Option, maybe: bool = False, needed: bool = False
) -> Parameter:
    kind = str if field.simple == list[str] or field.or_word or field.numbers else field.simple
    default = None if maybe or field.default == () else field.default
    if field.numbers and isinstance(default, tuple | int):
        default = ",".join(map(str, default if isinstance(default, tuple) else [default]))
    if not maybe and (field.needed or needed):
        default = Parameter.empty
    typed_as = typer.Option(
        flag_of(field),
        metavar=about.metavar or None,
        help=help,
        rich_help_panel=about.panel or None,
        show_default=default not in (None, False, Parameter.empty),
    )
    annotation = Annotated[kind | None if default is None else kind, typed_as]  # type: ignore[valid-type]
    return Parameter(field.name, Parameter.KEYWORD_ONLY, default=default, annotation=annotation)
