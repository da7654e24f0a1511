"""Private quantiles of columns of many numbers, at which they are cut into bins."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from winnow.core.checks import Real
from winnow.core.key import Key
from winnow.core.relation import Relation
from winnow.core.sealed import PublicFact
from winnow.core.unit import counted
from winnow.core.workloads.part import sum_of
from winnow.errors import DataError
from winnow.learn.crossing.rows import LabelledRows, SealedLabelled
from winnow.numbers.crossing.groups import MOST_ROWS, quantiles_of_codes
from winnow.numbers.mechanism import PARTS, HalvingQuantiles
from winnow.privacy import Compose, Guarantee, Promise, guarantee_of

Cuts = tuple[int, ...]
"""Codes of a grid at which bins begin, the first bin left out."""


class Learnt(Protocol):
    """What is asked of the mechanism that learns on the bins."""

    @property
    def name(self) -> str:
        """What the receipt calls it."""

    def promise(self, relation: Relation) -> Promise:
        """What one release is charged, and why."""


@dataclass(frozen=True)
class BinnedColumns:
    """Quantiles of columns of many numbers, and then what is learned on the bins between them.

    Formal guarantees
        One event for each of these columns, that of ``HalvingQuantiles`` over the whole table, and
        that of what is learned afterwards, composed adaptively: given the released quantiles, the
        bin of a row is a public function of this row alone, so that a person moves what is learned
        from by as much as without bins. All is charged before the first draw.
        [Smith 2011; Kaplan-Schnapp-Stemmer 2022; Dwork et al. 2006 for the sum]
    """

    quantiles: tuple[HalvingQuantiles, ...]
    places: tuple[int, ...]
    """Which columns they are of."""
    then: Learnt
    delta: Real = 0
    """At which the guarantee is stated."""

    @property
    def name(self) -> str:
        """What the receipt calls it."""
        columns = counted(len(self.places), "column")
        return f"{len(self.quantiles[0].tree.parts)} quantiles of {columns}; {self.then.name}"

    def promise(self, relation: Relation) -> Promise:
        """What one release is charged, and why."""
        parts = [each.promise(relation) for each in (*self.quantiles, self.then)]
        return Promise(
            Compose(tuple(part.event for part in parts)),
            "; ".join(dict.fromkeys(part.citation for part in parts)),
            " ".join(dict.fromkeys(part.statement for part in parts)),
        )

    def guarantee(self, promised: Promise) -> Guarantee:
        """Of all together."""
        return guarantee_of(promised.event, self.delta)

    def check(self, labelled: SealedLabelled) -> None:
        """Refuse rows that are too many to be sorted, before anything is charged."""

        def check(rows: LabelledRows) -> None:
            if sum_of(rows.weights) >= MOST_ROWS:
                raise DataError("the table has 2^31 rows or more; learn from a part of it")

        labelled.rows.publish(PublicFact.REFUSED_DATA, check)

    def drawn(self, labelled: SealedLabelled, key: Key) -> tuple[Cuts, ...]:
        """Where each of the columns is cut, in their order."""
        rows, cuts = key.open(labelled.rows), []
        for place, halving in zip(self.places, self.quantiles, strict=True):
            own = key.tape.child(f"column-{place}")
            codes = rows.codes[place].astype(np.int64), rows.weights
            drawn = quantiles_of_codes(halving, labelled.relation, codes, own, PARTS)
            cuts.append(apart(drawn.tolist(), halving.size))
        return tuple(cuts)


def apart(codes: list[int], size: int) -> Cuts:
    """Released codes as cuts that increase, moved as little as that needs: never fewer."""
    edges: list[int] = []
    number = len(codes)
    for place, code in enumerate(sorted(codes)):
        least = edges[-1] + 1 if edges else 1
        edges.append(min(max(code, least), size - 2 - (number - 1 - place)))
    assert all(low < high for low, high in pairwise([0, *edges, size - 1]))
    return tuple(edges)


def binned(
    labelled: SealedLabelled, sizes: dict[int, int], cuts: dict[int, Cuts]
) -> SealedLabelled:
    """The rows with bins in the place of points of a grid; codes after the grid move along."""

    def changed(rows: LabelledRows) -> LabelledRows:
        codes: list[NDArray[Any]] = list(rows.codes)
        for place, own in cuts.items():
            column, size = codes[place], sizes[place]
            bins = np.searchsorted(own, column, "right")
            after = column - size + len(own) + 1
            codes[place] = np.where(column < size, bins, after).astype(np.int32)
        return rows._replace(codes=tuple(codes))

    return replace(labelled, rows=labelled.rows.map(changed, "rows"))
