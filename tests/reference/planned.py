"""Plans of a selection and of a top k, asked in one line: what the tests of their numbers need."""

from __future__ import annotations

from typing import Any

import winnow as wn
from reference.choosing import chooser
from winnow.core.options import Methods
from winnow.plan import SelectExpected, TopKSimulation
from winnow.select.methods import Sizes
from winnow.select.plan.top_k.simulation import simulated
from winnow.select.request import PlannedSelect, PlannedTopK

OWN = ("noise", "gamma", "rounded", "thresholds")
ABOUT = ("sensitivity", "monotone", "relation")


def method_of(record: type[Any], asked: dict[str, Any]) -> dict[str, Any]:
    """What is asked, with the method made of its word and of what is said of it."""
    field = chooser(record)
    assert field is not None and isinstance(field.option, Methods)
    said = {name: asked.pop(name) for name in OWN if name in asked}
    word = asked.pop("method", field.default)
    return {**asked, "method": field.option.build(word, said)}


def select(gaps: Any = None, *, candidates: Any = None, **asked: Any) -> SelectExpected:
    """What to expect of a selection."""
    about = {name: asked.pop(name) for name in ABOUT if name in asked}
    public = wn.plan.scores(candidates, gaps=gaps, **about)
    planned = wn.plan.select(public, **method_of(PlannedSelect, asked))
    assert planned.expected is not None
    return planned.expected


def top_k(scores: Any, *, k: Any, epsilon: Any = None, **asked: Any) -> TopKSimulation:
    """What to expect of a top k on public scores; without an epsilon, each at that of a chance."""
    how = ("chance", "confidence", "draws", "seed")
    more = {name: asked.pop(name) for name in how if name in asked}
    about = {name: asked.pop(name) for name in ("max_items", "relation") if name in asked}
    public = wn.plan.counts(**about)
    request = PlannedTopK(k=k, epsilon=epsilon, **method_of(PlannedTopK, asked))
    if epsilon is not None:
        return request.plan(public).simulate(scores, **more)
    sizes = Sizes(epsilon=1, delta=request.delta, k=k, with_counts=request.with_counts)
    return simulated(
        scores, public, sizes, request.method, epsilon=None, ordered=request.ordered, **more
    )
