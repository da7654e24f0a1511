"""The label of a dataset: chosen by the steward, spelled in one way only."""

from __future__ import annotations

import unicodedata

from winnow.errors import InputError


def check_label(label: str) -> None:
    """Refuse what is not a plain, short label."""
    plain = (
        isinstance(label, str)
        and 0 < len(label) <= 200
        and label == unicodedata.normalize("NFC", label).strip()
        and label.isprintable()
    )
    if not plain:  # two spellings of one label would be two caps
        raise InputError(
            "dataset= is a label of 1 to 200 printable characters that the steward chooses, "
            "without spaces around it and in composed form (Unicode NFC)"
        )
