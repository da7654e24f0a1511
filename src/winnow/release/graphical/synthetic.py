"""A synthetic distribution over a wide schema: a graphical model instead of all cells."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from winnow.core.frames import Columns as FrameColumns
from winnow.core.schema import Schema, cells_text
from winnow.core.tape import Tape
from winnow.core.workloads.part import Part, table_columns
from winnow.core.workloads.written import written_workload
from winnow.errors import ParameterError
from winnow.fit.junction_tree import JunctionTree
from winnow.fit.kernels.tree_tables import TreeTables
from winnow.fit.tables import NoisyTable
from winnow.release.long_form import free_name
from winnow.release.model_distance import with_distance
from winnow.release.synthetic import SyntheticDistribution
from winnow.release.tables.result import ReleasedTables
from winnow.release.tables.white import estimated
from winnow.release.tables.written import written_tables

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

RESTS_ON = (
    "a graphical model fitted to the measured tables: columns that no measured table joins are "
    "independent given the others"
)


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
    def from_dict(
        cls, document: Mapping[str, Any], names: Sequence[str], shape: Sequence[int]
    ) -> Any:
        """The model that ``to_dict`` wrote."""
        cliques = [tuple(names.index(c) for c in each["columns"]) for each in document["cliques"]]
        parents = tuple(int(each["parent"]) for each in document["cliques"])
        tree = JunctionTree(tuple(shape), tuple(cliques), parents)
        if (
            not cliques
            or parents[0] != -1
            or any(not 0 <= parent < place for place, parent in enumerate(parents) if place)
        ):
            raise ParameterError("the cliques are not a tree, each after its parent")
        if set(tree.tops) != set(range(len(tree.shape))):
            raise ParameterError("the cliques do not cover every column of the schema")
        beliefs = []
        for clique, each in zip(cliques, document["cliques"], strict=True):
            table = np.array(each["weights"], np.float64).reshape(tree.sizes(clique))
            if not (np.isfinite(table).all() and table.min() >= 0 and table.sum() > 0):
                raise ParameterError("weights are finite, not negative, and not all 0")
            beliefs.append(table / table.sum())
        return cls(TreeTables(tree, tuple(beliefs)))


@dataclass(frozen=True, eq=False)
class MeasuredMarginal:
    """One released table: its columns, its noisy counts, the noise of each. Public."""

    columns: tuple[str, ...]
    counts: NDArray[np.int64] | Floats
    """One axis for each column; noise may carry counts below 0. Whole numbers; estimates, which are
    not, where all tables were measured together."""
    sigma: float
    """Standard deviation of the noise of each count, in rows: what the fit weighs it by."""

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
    tables: ReleasedTables | None = None
    """The workload's tables themselves, unbiased and with standard errors, where all were measured
    at once: ``answers()`` about these, and about some of the columns of one, are these tables,
    drawn towards the model as far as noise explains that they differ."""

    @property
    def cliques(self) -> tuple[tuple[str, ...], ...]:
        """The sets of columns that the model holds together."""
        names = self.schema.names
        return tuple(tuple(names[c] for c in each) for each in self._tree.tables.tree.cliques)

    @property
    def _tree(self) -> TreeFactor:
        factor: Any = self.factors[0]
        if not isinstance(factor, TreeFactor):
            raise ParameterError("the factor of a wide distribution is a junction tree")
        return factor

    def _whole(self) -> Floats | None:
        return None  # the weights of all cells are nowhere stored

    def _fractions(self, bound: Any) -> Floats:
        return np.concatenate([self._best(part) for part in bound.parts])

    def _best(self, part: Part) -> Floats:
        """A released table, drawn towards the model; the model where there is none."""
        columns, model = table_columns(part), self._answers(part)
        if self.tables is None or columns is None or not self._measured(set(columns)):
            return model
        return _towards(model, estimated(columns, self.tables.layers[0], self.schema), self.total)

    def _standard_errors(self, part: Part) -> Floats:
        """Of the released tables, as fractions; not a number where only the model speaks."""
        columns = table_columns(part)
        if self.tables is None or columns is None or not self._measured(set(columns)):
            return np.full(part.size, np.nan)
        sigma = estimated(columns, self.tables.layers[0], self.schema).sigma
        return np.full(part.size, sigma / self.total)

    def with_distance(self) -> WideSynthetic:
        """A model whose fit says how far it is from the answers."""
        parts = self.workload.parts
        errors = np.concatenate([self._standard_errors(part) for part in parts])
        return with_distance(self, np.nan_to_num(errors))

    def to_columns(self, workload: Any = None) -> FrameColumns:
        """The answers in long form: one column for each attribute, and the estimate in rows.

        Where all tables were measured at once there is the ``standard_error`` of the released
        estimate beside it; it is not a number where only the model speaks of a query.
        """
        bound = self._bound(workload)
        columns = super().to_columns(bound)
        if self.tables is not None:
            errors = np.concatenate([self._standard_errors(part) for part in bound.parts])
            if not np.isnan(errors).all():
                columns[free_name("standard_error", columns)] = self.total * errors
        return columns

    def _measured(self, columns: set[int]) -> bool:
        """Whether some released table has all of these columns."""
        return any(columns <= set(part.columns) for part in self.tables.parts)  # type: ignore[union-attr]

    def to_dict(self) -> dict[str, Any]:
        """The distribution as plain data, ready for JSON; ``from_dict`` reads it back."""
        document = super().to_dict() | {"marginals": [each.to_dict() for each in self.marginals]}
        if self.tables is None or self.workload is None:
            return document
        errors = [self._standard_errors(part) for part in self.workload.parts]
        parts = written_workload(self.workload)
        if parts is not None:
            document["released"] = {"workload": parts, "tables": written_tables(self.tables)}
        return document | {
            "answers": self.answers().tolist(),
            "standard_errors": np.concatenate(errors).tolist(),
        }

    def __repr__(self) -> str:
        return (
            f"<graphical model over {len(self.schema.columns)} columns, "
            f"{cells_text(self.schema.cells)} cells, {len(self.marginals)} measured tables, "
            f"{len(self.cliques)} cliques>"
        )


def _towards(model: Floats, table: NoisyTable, total: int) -> Floats:
    """A released table, drawn towards the model as far as noise explains that they differ.

    The estimator of James and Stein (1961) with its positive part, around the model, moving no cell
    by more than two standard errors [limited translation: Efron-Morris 1972]; then without
    negative cells. Only released numbers come in.
    """
    said, sigma = table.counts.ravel() / total, table.sigma / total
    apart = model - said
    size = float(apart @ apart)
    drawn = min(1.0, apart.size * sigma**2 / size) if size > 0.0 else 0.0
    answers = np.maximum(said + np.clip(drawn * apart, -2 * sigma, 2 * sigma), 0.0)
    return np.asarray(answers / max(float(answers.sum()), 1e-300))


def measured_marginal(schema: Schema, table: NoisyTable) -> MeasuredMarginal:
    """A released table by the names of its columns."""
    names = tuple(schema.names[c] for c in table.columns)
    return MeasuredMarginal(names, table.counts.reshape(schema.subset(names).shape), table.sigma)


def measured_marginals(
    schema: Schema, plain: Sequence[Mapping[str, Any]]
) -> tuple[MeasuredMarginal, ...]:
    """The released tables that ``to_dict`` wrote."""
    return tuple(
        MeasuredMarginal(
            tuple(each["columns"]),
            _counts(each["counts"]).reshape(schema.subset(each["columns"]).shape),
            float(each["sigma"]),
        )
        for each in plain
    )


def _counts(numbers: list[float]) -> Integers | Floats:
    if all(isinstance(each, int) for each in numbers):
        return np.array(numbers, np.int64)
    return np.array(numbers, np.float64)
