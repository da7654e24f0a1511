"""The label of a dataset and the name of an analyst: chosen, and spelled in one way only."""

from __future__ import annotations

import unicodedata

from winnow.errors import DataError


def check_label(label: str, what: str = "dataset= is a label that the steward chooses") -> None:
    """Refuse what is not a plain, short label."""
    plain = (
        isinstance(label, str)
        and 0 < len(label) <= 200
        and label == unicodedata.normalize("NFC", label).strip()
        and label.isprintable()
    )
    if not plain:  # two spellings of one label would be two caps
        raise DataError(
            f"{what}, of 1 to 200 printable characters, without spaces around it and in composed "
            "form (Unicode NFC)"
        )


def check_analyst(name: str) -> None:
    """Refuse a name of which there could be two spellings, and so two shares."""
    check_label(name, "analyst= is the name of a person or a program")


def check_request(key: str) -> None:
    """Refuse a key of a request that could be mistaken for another."""
    check_label(key, "request= is a key that the caller chooses for each request")
