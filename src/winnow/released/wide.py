"""A synthetic distribution over a wide schema: a graphical model instead of all cells."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from winnow.domain.schema import Schema, cells_text
from winnow.errors import InputError
from winnow.released.synthetic import SyntheticDistribution
from winnow.released.tree_factor import TreeFactor

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class MeasuredMarginal:
    """One released table: its columns, its noisy counts, the noise of each. Public."""

    columns: tuple[str, ...]
    counts: NDArray[np.int64]
    """One axis for each column; noise may carry counts below 0."""
    sigma: float
    """Standard deviation of the noise of each count, in rows."""

    def to_dict(self) -> dict[str, Any]:
        """The measurement as plain data."""
        return {
            "columns": list(self.columns),
            "sigma": self.sigma,
            "counts": self.counts.ravel().tolist(),
        }


@dataclass(frozen=True, eq=False)
class WideSynthetic(SyntheticDistribution):
    """A graphical model over all columns, fitted to released marginal tables only.

    It answers every workload of marginals, ranges and conjunctions over the schema, however
    many cells that has; tables are made on demand. Whatever is computed from it is free.
    """

    marginals: tuple[MeasuredMarginal, ...] = ()
    """Every released table, in order."""

    @property
    def cliques(self) -> tuple[tuple[str, ...], ...]:
        """The sets of columns that the model holds together."""
        names = self.schema.names
        return tuple(tuple(names[c] for c in each) for each in self._tree.tables.tree.cliques)

    @property
    def _tree(self) -> TreeFactor:
        factor: Any = self.factors[0]
        if not isinstance(factor, TreeFactor):
            raise InputError("the factor of a wide distribution is a junction tree")
        return factor

    def _whole(self) -> Floats | None:
        return None  # the weights of all cells are nowhere stored

    def to_dict(self) -> dict[str, Any]:
        """The distribution as plain data, ready for JSON; ``from_dict`` reads it back."""
        return super().to_dict() | {"marginals": [each.to_dict() for each in self.marginals]}

    @classmethod
    def from_dict(cls, document: dict[str, Any]) -> WideSynthetic:
        """The distribution that ``to_dict`` wrote; its workload is not part of the file."""
        try:
            schema = Schema.parse(document["schema"])
            tree: Any = TreeFactor.from_dict(document["factors"][0], schema.names, schema.shape)
            measured = tuple(
                MeasuredMarginal(
                    tuple(each["columns"]),
                    np.array(each["counts"], np.int64).reshape(
                        schema.subset(each["columns"]).shape
                    ),
                    float(each["sigma"]),
                )
                for each in document["marginals"]
            )
            return cls(
                schema,
                (tree,),
                document["total"],
                rests_on=document.get("rests_on", ""),
                marginals=measured,
            )
        except (KeyError, IndexError, TypeError, ValueError) as error:
            if isinstance(error, InputError):
                raise
            raise InputError(
                "this is not a wide distribution as to_dict writes it; a field is missing or of "
                "another type"
            ) from None

    def __repr__(self) -> str:
        return (
            f"<graphical model over {len(self.schema.columns)} columns, "
            f"{cells_text(self.schema.cells)} cells, {len(self.marginals)} measured tables, "
            f"{len(self.cliques)} cliques>"
        )
