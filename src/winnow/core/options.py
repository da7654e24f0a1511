"""Options, each written once: a field of a record with its type, its help and its range.

A request (what is asked of a verb) and a method (how it is done) are frozen dataclasses. A field
whose type is ``Annotated[..., Option(...)]`` is an option; the field that chooses the method is
``Annotated[..., Methods(...)]``; others, such as ``budget``, are for Python alone. The verb, its
plan, the command, the body over HTTP, the form and the client are read off these fields. Nothing
heavy is imported here or by the files of the records: ``winnow --help`` reads them all.
"""

from __future__ import annotations

import builtins
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import MISSING, dataclass
from dataclasses import fields as dataclass_fields
from functools import cache, cached_property, wraps
from inspect import Parameter, Signature, signature
from types import NoneType, UnionType
from typing import (
    Annotated,
    Any,
    ClassVar,
    Concatenate,
    Literal,
    ParamSpec,
    TypeVar,
    Union,
    get_args,
    get_origin,
    overload,
)

from winnow.core.checks import kept
from winnow.core.option_values import check_value
from winnow.errors import ParameterError
from winnow.foreign import guarded, shown

P = ParamSpec("P")
A = TypeVar("A")
B = TypeVar("B")
S = TypeVar("S")
T = TypeVar("T")
R = TypeVar("R")

AUTO = "auto"
"""What a user writes who leaves the choice to Winnow."""


@dataclass(frozen=True)
class Option:
    """What a field means to whoever sets it. Its help names other options as ``delta=``."""

    help: str
    metavar: str = ""
    least: float | None = None
    above: float | None = None
    most: float | None = None
    below: float | None = None
    served: float | None = None
    """The largest value that a server takes; the library takes any."""
    flag: str = ""
    """How a command spells it, where that is not the name with dashes."""
    panel: str = ""
    """Under which heading a command's help shows it."""
    where: tuple[str, ...] = ("command", "body")
    """Where it is offered besides Python."""


EPSILON = Option("The privacy loss of this call in total.", "E", above=0)
"""The option that every request has."""
LEVEL = Option(
    "The probability with which each interval holds; it costs nothing.", "P", above=0, below=1
)
COLUMN = Option("The column: numbers on a public grid, or codes.", "COLUMN")


@dataclass(frozen=True)
class Methods:
    """The option that chooses a method; a word means the method with its defaults."""

    help: str
    of: tuple[type[Method], ...]
    panel: str = "Method"
    auto: bool = True
    """Whether Winnow can choose; False where only the user knows, such as who is private."""
    also: tuple[type[Method], ...] = ()
    """For data that only Python has, such as classes of a universe: not on lines or in JSON."""
    without: tuple[str, ...] = ()
    """Options that these methods have elsewhere and this verb refuses: a command has none."""
    called: str = "method"
    """What the option is called."""
    implied: bool = False
    """Whether an option that only one of them takes chooses it, where nothing else does."""

    @cached_property
    def by_word(self) -> dict[str, type[Method]]:
        """The methods by the words that users write."""
        return {each.word(): each for each in (*self.of, *self.also)}

    @cached_property
    def words(self) -> tuple[str, ...]:
        """What a user may write."""
        words = tuple(each.word() for each in self.of)
        return (AUTO, *words) if self.auto else words

    @cached_property
    def simple(self) -> Any:
        """What it is on a line or in JSON: one of its words."""
        return Literal[self.words]

    def takers(self, name: str) -> list[str]:
        """The words of the methods that take an option."""
        by_word = self.by_word.items()
        return [word for word, each in by_word if name in {f.name for f in options(each)}]

    def build(self, word: Any, said: Mapping[str, Any]) -> Method | str:
        """The method of a word with what was said of it; what it does not take is refused."""
        if word not in self.words and word not in self.by_word:
            raise ParameterError(
                f"{self.called}={shown(word)} is unknown; choose one of: {', '.join(self.words)}"
            )
        if word == AUTO and self.implied and said:
            word = self.takers(next(iter(said)))[0]
        made = self.by_word.get(word)
        taken = set() if made is None else {field.name for field in options(made)}
        for name, value in said.items():
            if name not in taken:
                takers = " and ".join(self.takers(name))
                first = self.takers(name)[0] if self.takers(name) else ""
                mend = (
                    f"choose it with {self.called}={first}" if made is None else f"{word} has none"
                )
                raise ParameterError(f"{name}={shown(value)} is for {takers}; {mend}")
        if made is None:
            return AUTO
        for field in options(made):
            if field.needed and field.name not in said:
                raise ParameterError(
                    f"{field.name} is missing; {word} needs it. {field.option.help}"
                )
        return made(**said)


@dataclass(frozen=True)
class Field:
    """An option of a record."""

    name: str
    kind: Any
    """Its type, without the option."""
    option: Option | Methods
    default: Any
    """``MISSING``: it has to be given."""

    @cached_property
    def words(self) -> tuple[str, ...]:
        """The words that it takes, where it takes words."""
        if isinstance(self.option, Methods):
            return self.option.words
        return next((get_args(kind) for kind in self.kinds if get_origin(kind) is Literal), ())

    @cached_property
    def kinds(self) -> tuple[Any, ...]:
        """The types of its values, None left out."""
        union = get_origin(self.kind) in (Union, UnionType)
        parts = get_args(self.kind) if union else (self.kind,)
        return tuple(part for part in parts if part is not NoneType)

    @cached_property
    def pair(self) -> bool:
        """Whether it takes two numbers, which a line writes as LOW,HIGH."""
        return any(get_origin(kind) is tuple and ... not in get_args(kind) for kind in self.kinds)

    @cached_property
    def numbers(self) -> bool:
        """Whether it takes a list of numbers, which a line writes with commas."""
        lists = (get_args(kind)[0] for kind in self.kinds if get_origin(kind) is Sequence)
        return str not in self.kinds and any(part not in (str, int) for part in lists)

    @property
    def names(self) -> bool:
        """Whether it takes a list of names."""
        return self.kinds == (Sequence[str],)

    @property
    def single(self) -> bool:
        """Whether it takes one number."""
        return float in self.kinds

    @cached_property
    def simple(self) -> Any:
        """What it is on a line or in JSON: words, a plain type, or a list of texts."""
        if isinstance(self.option, Methods):
            return self.option.simple
        if self.words and not self.or_word:
            return Literal[self.words]
        if self.pair:
            return str
        return next((plain for plain in (bool, float, int, str) if plain in self.kinds), list[str])

    @property
    def or_word(self) -> bool:
        """Whether it takes a number or a word, such as a share or "auto"."""
        literal = any(get_origin(kind) is Literal for kind in self.kinds)
        return literal and any(plain in self.kinds for plain in (float, int))

    @property
    def several(self) -> bool:
        """Whether Python may give a list of numbers, too."""
        return any(get_origin(kind) is Sequence for kind in self.kinds)

    @property
    def needed(self) -> bool:
        """Whether it has to be given."""
        return self.default is MISSING


class _Names(dict[str, Any]):
    """The names of a module; one that is imported for mypy alone stands for any type."""

    def __missing__(self, name: str) -> Any:
        return getattr(builtins, name, Any)


_READ: dict[Any, tuple[Field, ...]] = {}


def options(record: type[Any]) -> tuple[Field, ...]:
    """The options of a record, in the order of its fields; read once."""
    if record not in _READ:
        _READ[record] = tuple(_options(record))
    return _READ[record]


def _options(record: type[Any]) -> Iterator[Field]:
    types: dict[str, Any] = {}
    for base in reversed(record.__mro__):
        names = _Names(vars(sys.modules[base.__module__]))
        for name, kind in vars(base).get("__annotations__", {}).items():
            types[name] = eval(kind, names) if isinstance(kind, str) else kind
    for each in dataclass_fields(record):
        if get_origin(types[each.name]) is Annotated:
            plain, *about = get_args(types[each.name])
            option = next((one for one in about if isinstance(one, Option | Methods)), None)
            if option is not None:
                yield Field(each.name, plain, option, each.default)


class Checked:
    """A record whose options are checked when it is made: types, words and ranges."""

    def __post_init__(self) -> None:
        for field in options(type(self)):
            value = getattr(self, field.name)
            if isinstance(field.option, Methods):
                if isinstance(value, str):
                    object.__setattr__(self, field.name, field.option.build(value, {}))
                elif not isinstance(value, Method):
                    raise ParameterError(
                        f"{field.name}={shown(value)} is not a method; give one of "
                        f"{', '.join(field.words)}, or an object such as "
                        f"wn.{field.option.of[0].__name__}()"
                    )
            elif value is not field.default:  # a test holds the defaults against their ranges
                check_value(field, field.option, value)


class Method(Checked):
    """How a verb does its work, with its options; a word means the defaults.

    A method of your own is a frozen dataclass that derives from the methods of its verb.
    """

    named: ClassVar[str] = ""
    """The word, where it is not the name of the class with dashes."""

    @classmethod
    def word(cls) -> str:
        """What a user writes: PeelGumbel is peel-gumbel."""
        made: Any = cls
        return _word(made)


@cache
def _word(made: Any) -> str:
    return made.named or re.sub(r"(?<=[a-z])(?=[A-Z])", "-", made.__name__).lower()


@overload
def takes(
    record: Callable[P, T],
) -> Callable[[Callable[[A, T], R]], Callable[Concatenate[A, P], R]]: ...


@overload
def takes(
    record: Callable[P, T], of: type[object], *, hidden: tuple[str, ...] = ()
) -> Callable[[Callable[[S, A, T], R]], Callable[Concatenate[S, A, P], R]]: ...


@overload
def takes(
    record: Callable[P, T], of: type[object], beside: type[object]
) -> Callable[[Callable[[S, A, B, T], R]], Callable[Concatenate[S, A, B, P], R]]: ...


def takes(record: Any, of: Any = None, beside: Any = None, *, hidden: tuple[str, ...] = ()) -> Any:
    """Let a function whose last parameter is a record be called with the record's fields.

    So one dataclass is the signature of a verb, of its plan, of a session's method and of the
    client's. ``of`` says that the function is a method of a class and has ``self`` first,
    ``beside`` that it takes data in two parts. ``hidden`` fields are not in the signature: the
    function refuses them in its own words.
    """

    def decorated(function: Any) -> Any:
        own = list(signature(function).parameters.values())[:-1]
        parameters, first = _parameters(record), len(own)
        seen = [*own, *(each for each in parameters if each.name not in hidden)]
        whole = signature(function).replace(parameters=seen)
        made = kept()(record)  # a loop has its plain options checked once
        names = frozenset(each.name for each in parameters)
        needed = frozenset(each.name for each in parameters if each.default is Parameter.empty)

        @guarded
        def run(given: tuple[Any, ...], said: dict[str, Any]) -> Any:
            return function(*given[:first], made(*given[first:], **said))

        @wraps(function)
        def called(*given: Any, **said: Any) -> Any:
            wrong: TypeError | None = None
            try:
                if len(given) != first or not needed <= said.keys() <= names:
                    given, said, wrong = _bound(whole, given, said)
                if wrong is not None:
                    raise wrong
                return run(given, said)
            finally:  # a frame that an error passes through keeps no data
                del given, said, wrong

        called.__guarded__ = True  # type: ignore[attr-defined]
        called.__signature__ = whole  # type: ignore[attr-defined]
        called.__annotations__ = {p.name: p.annotation for p in seen}
        return called

    return decorated


def _bound(whole: Signature, given: tuple[Any, ...], said: dict[str, Any]) -> Any:
    """The arguments of a call in order, or the TypeError that names a parameter."""
    try:
        bound = whole.bind(*given, **said)
    except TypeError as wrong:
        return (), {}, TypeError(str(wrong))  # without a past
    return bound.args, bound.kwargs, None


def _parameters(record: type[Any]) -> list[Parameter]:
    plain = {field.name: field.kind for field in options(record)}
    return [
        parameter.replace(annotation=plain.get(parameter.name, parameter.annotation))
        for parameter in signature(record).parameters.values()
    ]
