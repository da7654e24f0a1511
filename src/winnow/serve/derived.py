"""Bodies over HTTP, read off the fields of requests and of their methods; and back.

``{"kind": "top-k", "k": 3, "epsilon": 1, "method": {"kind": "canonical", "gamma": 0.6}}``. A word
means the method with its defaults: ``"method": "canonical"``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import reduce
from operator import or_
from typing import Annotated, Any, Literal, get_args

import msgspec
from msgspec import Meta

from winnow.core.options import Field, Method, Methods, Option, options

Wire = dict[str, Any]
"""Types of their own over HTTP, by the names of fields."""


def body(name: str, record: type[Any], base: type[Any], tag: str | None, wire: Wire) -> Any:
    """The body of a request: closed, with the ranges and the help of its options.

    ``wire`` has the types of fields that are something else over HTTP than in Python, and of
    fields that only a server asks for, such as the column of a table.
    """
    listed: list[Any] = []
    known = {field.name: field for field in offered(record)}
    for field_name in (*known, *(name for name in wire if name not in known)):
        if field_name in getattr(base, "__struct_fields__", ()):
            continue
        field = known.get(field_name)
        kind = wire[field_name] if field is None or field_name in wire else _kind(field)
        if field is None or (field.needed and type(None) not in get_args(kind)):
            listed.append((field_name, kind) if field else (field_name, kind, None))
        elif field_name in wire and type(None) not in get_args(kind):
            listed.append((field_name, kind))
        else:
            listed.append((field_name, kind, [] if field.default == () else field.default))
    return msgspec.defstruct(
        name,
        listed,
        bases=(base,),
        tag=tag,
        frozen=True,
        kw_only=True,
        omit_defaults=True,
        forbid_unknown_fields=True,
        module=base.__module__,  # where processes that plan find it
        namespace={"__doc__": record.__doc__, "record": record},
    )


def asked_of(order: Any, decode: Mapping[str, Callable[[Any], Any]], **more: Any) -> Any:
    """The request that a body says, with what the server adds."""
    said: dict[str, Any] = {}
    for field in offered(order.record):
        value = getattr(order, field.name)
        if isinstance(field.option, Methods) and isinstance(value, msgspec.Struct):
            made = field.option.by_word[str(value.__struct_config__.tag)]
            value = made(**msgspec.structs.asdict(value))
        elif field.name in decode:
            value = decode[field.name](value)
        said[field.name] = value
    return order.record(**said, **more)


def offered(record: type[Any]) -> list[Field]:
    """The options that may be sent."""
    return [
        field
        for field in options(record)
        if isinstance(field.option, Methods) or "body" in field.option.where
    ]


def _kind(field: Field) -> Any:
    if isinstance(field.option, Methods):
        bodies = [_method(each) for each in field.option.of if offered(each)]
        return Annotated[reduce(or_, bodies, Literal[field.words]), Meta(description=_help(field))]
    plain: Any = field.simple
    if field.pair:
        plain = tuple[float, float] | float if field.single else tuple[float, float]
    kind: Any = bool if plain is bool else Annotated[plain, _meta(field, field.option)]
    kind = kind | Literal[field.words] if field.or_word else kind
    return kind | None if field.default is None else kind


_BODIES: dict[type[Method], type[Any]] = {}


def _method(made: type[Method]) -> type[Any]:
    """The body of a method, made once."""
    if made not in _BODIES:
        _BODIES[made] = _method_body(made)
    return _BODIES[made]


def _method_body(made: type[Method]) -> type[Any]:
    listed = [
        (field.name, _kind(field), *(() if field.needed else (field.default,)))
        for field in offered(made)
    ]
    return msgspec.defstruct(
        f"{made.__name__}Method",
        listed,
        tag_field="kind",
        tag=made.word(),
        frozen=True,
        kw_only=True,
        forbid_unknown_fields=True,
        omit_defaults=True,
        namespace={"__doc__": made.__doc__, "made": made, "__reduce__": _reduced},
    )


def _reduced(body: Any) -> tuple[Any, ...]:
    """The body of a method as processes that plan are sent it: no module has its class."""
    return _again, (body.made, msgspec.structs.asdict(body))


def _again(made: type[Method], said: dict[str, Any]) -> Any:
    return _method(made)(**said)


def _meta(field: Field, option: Option) -> Meta:
    said: dict[str, Any] = {"description": _help(field)}
    most = option.most if option.served is None else option.served
    if field.simple in (int, float):
        said |= {"ge": option.least, "gt": option.above, "le": most, "lt": option.below}
    elif field.simple == list[str] and most is not None:
        said["max_length"] = int(most)
    return Meta(**{name: value for name, value in said.items() if value is not None})


def _help(field: Field) -> str:
    return field.option.help.replace("=", "")
