"""A distribution over many columns, held as tables over the cliques of a junction tree."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from winnow.domain.junction_tree import JunctionTree
from winnow.errors import InputError
from winnow.kernels.tree_tables import TreeTables
from winnow.random.tape import Tape

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class TreeFactor:
    """A graphical model as a factor of a synthetic distribution: over all columns."""

    tables: TreeTables

    @property
    def columns(self) -> tuple[int, ...]:
        """Every column of the schema."""
        return tuple(range(len(self.tables.tree.shape)))

    def marginal(self, columns: Sequence[int]) -> Floats:
        """The table of some columns, in the order in which they are named."""
        return self.tables.marginal(columns)

    def product_set(self, masks: Mapping[int, NDArray[np.bool_]]) -> float:
        """The probability that every masked column holds."""
        return self.tables.probability(masks)

    def draw(self, rows: int, tape: Tape) -> Integers:
        """Codes of rows drawn clique by clique: a line for each column."""
        uniform = []
        for place in range(len(self.tables.tree.cliques)):
            words = tape.child(f"clique-{place}").words(0, 2 * rows).astype(np.uint64)
            high, low = words[::2] << np.uint64(21), words[1::2] >> np.uint64(11)
            uniform.append((high | low) * 2.0**-53)
        return self.tables.draw(uniform)

    def to_dict(self, names: Sequence[str]) -> dict[str, Any]:
        """The model as plain data."""
        tree = self.tables.tree
        return {
            "cliques": [
                {
                    "columns": [names[column] for column in clique],
                    "parent": parent,
                    "weights": belief.ravel().tolist(),
                }
                for clique, parent, belief in zip(
                    tree.cliques, tree.parents, self.tables.beliefs, strict=True
                )
            ]
        }

    @classmethod
    def from_dict(cls, document: dict[str, Any], names: Sequence[str], shape: Sequence[int]) -> Any:
        """The model that ``to_dict`` wrote."""
        cliques = [tuple(names.index(c) for c in each["columns"]) for each in document["cliques"]]
        parents = tuple(int(each["parent"]) for each in document["cliques"])
        tree = JunctionTree(tuple(shape), tuple(cliques), parents)
        if (
            not cliques
            or parents[0] != -1
            or any(not 0 <= parent < place for place, parent in enumerate(parents) if place)
        ):
            raise InputError("the cliques are not a tree, each after its parent")
        if set(tree.tops) != set(range(len(tree.shape))):
            raise InputError("the cliques do not cover every column of the schema")
        beliefs = []
        for clique, each in zip(cliques, document["cliques"], strict=True):
            table = np.array(each["weights"], np.float64).reshape(tree.sizes(clique))
            if not (np.isfinite(table).all() and table.min() >= 0 and table.sum() > 0):
                raise InputError("weights are finite, not negative, and not all 0")
            beliefs.append(table / table.sum())
        return cls(TreeTables(tree, tuple(beliefs)))
