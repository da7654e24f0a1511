"""Sessions of questions by flat options: what belongs to the hypothesis goes to its method."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import winnow as wn
from reference.choosing import chooser
from winnow.ask.independent_sizing import sized_independent
from winnow.ask.request import Ask
from winnow.ask.sizes import WeightsSizes
from winnow.ask.sizing import sized_weights
from winnow.ask.terms import Terms
from winnow.core.options import Methods

_CHOOSER = chooser(Ask)
assert _CHOOSER is not None and isinstance(_CHOOSER.option, Methods)
_METHODS = _CHOOSER.option
_OWN = {field.name for field in fields(wn.MultiplicativeWeights)}


def asked(**options: Any) -> dict[str, Any]:
    """The options of ``winnow.ask``; any of multiplicative weights asks for that method."""
    own = {name: options.pop(name) for name in _OWN & set(options)}
    if own:
        method = options.get("method", wn.MultiplicativeWeights.word())
        options["method"] = _METHODS.build(method, own)
    return options


def opened(table: wn.SealedTable, **options: Any) -> Any:
    """An open session; ``relation`` and ``rows`` are said of the table."""
    if not isinstance(table, wn.SealedTable):
        return wn.ask(table, **asked(**options))
    if "relation" in options:
        table = table.under(options.pop("relation"))
    return wn.ask(table.stating(options.pop("rows", None)), **asked(**options))


def planned(schema: Any, *, n: int, **options: Any) -> Any:
    """The plan for a table of so many rows."""
    about = {"relation": options.pop("relation", "substitution")}
    about |= {"max_rows": options.pop("rows_per_person", 1)}
    return wn.plan.ask(wn.plan.table(schema, rows=n, **about), **asked(**options))


def weights_sizes(cells: int, epsilon: Any, delta: Any, max_queries: int, **options: Any) -> Any:
    """The constants of a hypothesis, cold and without a fallback unless they are asked for."""
    own = {"warm_start": 0, "fallback": 0}
    own |= {name: options.pop(name) for name in (_OWN - {"universe"}) & set(options)}
    terms = Terms(
        cells=cells, epsilon=epsilon, delta=delta, max_queries=max_queries,
        method=wn.MultiplicativeWeights(**own), **options,
    )  # fmt: skip
    sizes = sized_weights(terms).sizes
    assert isinstance(sizes, WeightsSizes)
    return sizes


def independent_sizes(epsilon: Any, delta: Any, max_queries: int, **options: Any) -> Any:
    """The constants of independent noise over twelve cells."""
    terms = Terms(cells=12, epsilon=epsilon, delta=delta, max_queries=max_queries, **options)
    return sized_independent(terms).sizes
