"""Quantiles of a column with few numbers, from noisy counts of all rows up to each number."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from winnow.core.key import Key
from winnow.core.relation import Relation
from winnow.numbers.crossing.groups import DrawnQuantiles
from winnow.numbers.histogram.crossing import binned
from winnow.privacy import Guarantee, Promise
from winnow.read.crossing import SealedTable
from winnow.release.rising import monotone
from winnow.release.value import AnsweredSynthetic

if TYPE_CHECKING:
    from winnow.release.plan import ReleasePlan

MOST_POINTS = 20_000
"""Numbers that a column may have: each gets a count."""


@dataclass(frozen=True)
class CumulativeQuantiles:
    """Quantiles read off the noisy numbers of rows up to each number of the grid.

    Those are a release of prefixes: blocks of neighbouring numbers are counted with noise, in the
    best proportions. The quantile q is the first number up to which a share q of the noisy rows
    lies, which is what follows from released numbers alone: it costs nothing more, and any number
    of quantiles costs the same.

    Formal guarantees
        Those of the release of prefixes.
    """

    prefixes: ReleasePlan
    """How prefixes are released."""
    parts: tuple[int, ...]
    """The quantiles in ascending order, of ``whole``."""
    whole: int
    size: int
    """How many points the grid has."""

    @property
    def name(self) -> str:
        """What the receipt calls it."""
        return f"cumulative counts of {self.size:,} numbers; {self.prefixes.name}"

    @property
    def inner(self) -> Any:
        """What draws: the quantiles are made of its noisy numbers."""
        return self.prefixes.mechanism

    def promise(self, relation: Relation) -> Promise:
        """What one release is charged, and why."""
        promised: Promise = self.inner.promise(relation)
        return promised

    def guarantee(self, promised: Promise) -> Guarantee:
        """That of the prefixes."""
        return self.prefixes.guarantee

    def check(self, table: SealedTable) -> None:
        """Refuse what cannot be released, before anything is charged."""
        self.prefixes.check(table)

    def drawn(
        self, table: SealedTable, column: int, by: tuple[int, ...], key: Key
    ) -> DrawnQuantiles:
        """The codes of all quantiles of the whole table."""
        private = binned(table, [(column, None)], self.prefixes.terms.schema)
        value = self.prefixes.draw(private, key)
        assert isinstance(value, AnsweredSynthetic) and not by
        scale = 1 << 40
        shares = np.append(value.estimates, 1.0)  # of all rows, those without a number included
        up_to = np.cumsum(monotone(scale * shares, scale))[: self.size]
        wanted = np.array(self.parts) / self.whole * up_to[-1]
        codes = np.searchsorted(up_to, wanted * (1 - 2.0**-40))
        return DrawnQuantiles(np.minimum(codes, self.size - 1)[None].astype(np.int64))
