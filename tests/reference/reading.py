"""Options of readers in plain words, as tables of cases hold them, put into their objects."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

import winnow as wn


def as_options(said: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    """What readers take: ``salt="s"`` is ``reading=wn.Reading(salt="s")``, and so on."""
    left = dict(said) | more
    for name, made in (("text", wn.TextFormat), ("reading", wn.Reading)):
        known = {field.name for field in fields(made)}
        own = {key: left.pop(key) for key in list(left) if key in known}
        if own:
            left[name] = made(**own)
    if "basket" in left:
        left["layout"] = wn.Pairs(left.pop("basket"), left.pop("item"))
    if "separator" in left:
        left["layout"] = wn.Lines(left.pop("separator"))
    return left
