"""What an option may be set to: its type, its words and its range."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from winnow.errors import ParameterError
from winnow.foreign import shown

if TYPE_CHECKING:
    from winnow.core.options import Field, Option


def check_value(field: Field, option: Option, value: Any) -> None:
    """Refuse a value that is of another type, not among the words, or out of the range."""
    if field.words and (isinstance(value, str) or not field.or_word):
        if not isinstance(value, str) or value not in field.words:  # data may compare as they like
            number = "give a number, or" if field.or_word else "choose"
            raise ParameterError(
                f"{field.name}={shown(value)} is unknown; {number} one of: {', '.join(field.words)}"
            )
        return
    if field.pair:
        _check_pair(field, value)
        return
    if field.simple is bool:
        if value not in (True, False) or not isinstance(value, bool):
            raise ParameterError(f"{field.name}={shown(value)} is not True or False")
        return
    if option.metavar == "COLUMN" and not isinstance(value, str):
        raise ParameterError(f"{field.name}={shown(value)} is not a name; give a text")
    if field.names:
        _check_names(field, value)
    if field.simple not in (int, float):
        return
    bounds = (option.least, option.above, option.most, option.below)
    if all(bound is None for bound in bounds):
        return
    if isinstance(value, list | tuple) and field.several:
        for each in value:
            check_value(field, option, each)
        return
    number = _number(field, value)
    for wrong, text in (
        (option.least is not None and number < option.least, f"below {option.least}"),
        (option.above is not None and number <= option.above, f"not above {option.above}"),
        (option.most is not None and number > option.most, f"above {option.most}"),
        (option.below is not None and number >= option.below, f"not below {option.below}"),
    ):
        if wrong:
            raise ParameterError(f"{field.name}={value} is {text}; {_range(option)}")


def _check_pair(field: Field, value: Any) -> None:
    """Refuse what is not two finite numbers, or one where that is a choice."""
    from winnow.core.checks import exact

    two = isinstance(value, tuple | list) and len(value) == 2
    if not two and not field.single:
        raise ParameterError(f"{field.name}={shown(value)} is not a pair; give two numbers")
    for number in value if two else (value,):
        exact(field.name, number)


def _check_names(field: Field, value: Any) -> None:
    """Refuse what is not a list of names, each once."""
    if isinstance(value, str):
        raise ParameterError(
            f"{field.name}={shown(value)} is a text and not a list; "
            f"give a list of names: [{shown(value)}]"
        )
    if not isinstance(value, Sequence) or not all(isinstance(each, str) for each in value):
        raise ParameterError(f"{field.name}={shown(value)} is not a list of names; give one")
    if len(set(value)) < len(value):
        raise ParameterError(f"{field.name}={list(value)} names one twice; name each once")


def _number(field: Field, value: Any) -> Any:
    """The value, which has to be a finite number, and a whole one where that is asked for."""
    from winnow.core.checks import count, exact

    if field.simple is int:
        count(**{field.name: value})
        return int(value)
    return exact(field.name, value)


def _range(option: Option) -> str:
    low = f"at least {option.least}" if option.least is not None else ""
    low = f"above {option.above}" if option.above is not None else low
    high = f"at most {option.most}" if option.most is not None else ""
    high = f"below {option.below}" if option.below is not None else high
    return f"give a number {' and '.join(part for part in (low, high) if part)}"
