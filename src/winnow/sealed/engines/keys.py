"""Which column types may name people and items: those that every engine writes as one text."""

from __future__ import annotations

from collections.abc import Mapping

from winnow.errors import InputError

_FINE = ("char", "text", "string", "int", "bool", "date", "uuid", "enum", "serial", "hugeint")
_NOT = ("datetime", "timestamp", "interval", "point")


def check_columns(types: Mapping[str, str], item: str, user: str | None) -> None:
    """Refuse columns that are not there, and types whose text differs between engines."""
    for role, name in (("item", item), ("user", user)):
        if name is None:
            continue
        if name not in types:
            raise InputError(
                f"there is no column {name!r} for {role}= among the {len(types)} columns of the "
                "source; check its name"
            )
        kind = types[name].lower()
        if any(word in kind for word in _NOT) or not any(word in kind for word in _FINE):
            raise InputError(
                f"the column {name!r} has the type {types[name]}, whose text is not the same in "
                "every engine; cast it to text or to whole numbers first"
            )
    if item == user:
        raise InputError(f"the column {item!r} cannot be both item and user")
