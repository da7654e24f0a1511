"""Releases asked for in one flat list of options, as parameters of tests write them."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import winnow as wn

_BY_WORD: dict[str, Any] = {
    each.word(): each
    for each in (wn.Tables, wn.Toeplitz, wn.Explicit, wn.Adaptive, wn.MWEM, wn.Graphical)
}
_RUN = ("memory", "pad_to", "progress")


def method_of(options: dict[str, Any]) -> Any:
    """The method that options say; they are taken away. Without a word they are those of MWEM."""
    said: Any = options.pop("method", None)
    named = type(said) if isinstance(said, wn.MWEM | wn.Adaptive | wn.Graphical) else None
    made = named or _BY_WORD.get(said or "mwem")
    own = {
        each.name: options.pop(each.name)
        for each in (fields(made) if made is not None else ())
        if each.name in options
    }
    if named is not None:
        return replace(said, **own)
    if made is None or (said is None and not own):
        return said or "auto"
    return made(**own)


def flat_release(table: Any, workload: Any, **options: Any) -> Any:
    """``wn.release`` with the options of its method, of its table and of its run beside others."""
    method = method_of(options)
    if "relation" in options:
        table = table.under(options.pop("relation"))
    if "rows" in options:
        table = table.stating(options.pop("rows"))
    how = {name: options.pop(name) for name in _RUN if name in options}
    if how:
        options["run"] = wn.Run(**how)
    return wn.release(table, workload, method=method, **options)
