"""``wn.learn`` with everything said at once: about the rows, about one rule, about the release."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import winnow as wn
from winnow.core.options import AUTO

ABOUT_ROWS = ("classes", "schema", "relation", "rows", "predictions")
ABOUT_A_RULE = ("selection", "thresholds", "with_accuracy", "confidence")


def learned(X: Any, y: Any, *, method: Any = AUTO, **said: Any) -> wn.Released[wn.Predictor]:
    """What is learned, each word put where it belongs."""
    rows = rows_of(X, y, **_taken(said, ABOUT_ROWS))
    return wn.learn(rows, method=method_of(method, **_taken(said, ABOUT_A_RULE)), **said)


def rows_of(X: Any, y: Any, **about: Any) -> wn.Labelled:
    """Labelled rows; a table is read by its schema."""
    if isinstance(y, str) and "schema" in about and not isinstance(X, wn.SealedTable):
        X = wn.read_table(X, schema=about.pop("schema"))
    return wn.labelled(X, y, **about)


def method_of(method: Any, **rule: Any) -> Any:
    """The method with what was said of one rule."""
    if not rule:
        return method
    return replace(method if isinstance(method, wn.OneRule) else wn.OneRule(of=method), **rule)


def _taken(said: dict[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    return {name: said.pop(name) for name in names if name in said}
