"""How a vector is searched for: by a look at all candidates, or over an index."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal, get_args

from winnow.core.checks import Real
from winnow.core.options import Method, Methods, Option

IndexName = Literal["flat", "lsh", "p-stable", "ivf", "hnsw"]
INDEX_NAMES: tuple[str, ...] = get_args(IndexName)


@dataclass(frozen=True)
class SearchMethod(Method):
    """A way to draw from the exponential mechanism over inner products."""


@dataclass(frozen=True)
class Scan(SearchMethod):
    """Every candidate is scored; the fastest in nearly all cases."""


@dataclass(frozen=True)
class Indexed(SearchMethod):
    """An index is asked first; for many candidates with nearly the same probability."""

    index: Annotated[
        IndexName | None,
        Option("The index; by default the one that the vectors were sealed with.", "NAME"),
    ] = None
    head: Annotated[
        int | None,
        Option("How many candidates the index is asked for; by default sqrt(m).", "N", least=1),
    ] = None
    slack: Annotated[
        Real,
        Option(
            "How far to trust the index, in nats; each draw pays 2 C of its epsilon.", "C", least=0
        ),
    ] = 0


METHODS = Methods(
    "auto takes the index that the vectors were sealed with, or none. The distribution of the "
    "result is the same.",
    (Scan, Indexed),
)
