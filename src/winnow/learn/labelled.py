"""``winnow.labelled``: private rows with a class each, sealed, and what is public of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from winnow.core.checks import count
from winnow.core.relation import Relation
from winnow.core.schema import Schema
from winnow.core.sealed import Sealed
from winnow.core.unit import Unit
from winnow.errors import DataError, InputError, ParameterError
from winnow.foreign import guarded, shown
from winnow.learn.about import AboutRows, feature_names
from winnow.learn.crossing.rows import (
    Classes,
    SealedLabelled,
    labelled_table,
    labels_alone,
    sealed_predictions,
    with_codes,
)
from winnow.learn.features import Feature
from winnow.learn.inputs import named_columns
from winnow.read.crossing import SealedTable


@dataclass(frozen=True, repr=False, eq=False)
class Labelled:
    """Private rows with one of some public classes each, sealed; ``winnow.learn`` takes them."""

    about: AboutRows
    """What is public of them."""
    labels: SealedLabelled
    """The class of each row; of a table with its codes."""
    data: Sealed[Any] | None = None
    """X as it was given, or predictions; None: a table."""

    @property
    def relation(self) -> Relation:
        """Which datasets are neighbours."""
        return self.about.relation

    @property
    def unit(self) -> Unit:
        """Whose presence is protected."""
        return self.labels.unit

    def coded(self, features: Sequence[Feature]) -> SealedLabelled:
        """The rows with a code for each feature."""
        return self.labels if self.data is None else with_codes(self.labels, self.data, features)

    def values(self) -> Sealed[Any]:
        """X or the predictions, for hypotheses that are no rules."""
        assert self.data is not None  # a table has a schema, and takes rules alone
        return self.data

    def __repr__(self) -> str:
        return repr(self.labels)


@guarded
def labelled(
    X: Any = None,
    y: Any = None,
    *,
    predictions: Any = None,
    classes: Sequence[Any] | None = None,
    schema: Any = None,
    relation: str | Relation | None = None,
    rows: int | None = None,
) -> Labelled:
    """Seal rows, each with a class, for ``winnow.learn``.

    Either ``X`` is a sealed table, and ``y`` names its column of classes. Or ``X`` is an array or
    a data frame with one row for each person, and ``y`` holds the labels: each is one of the
    public ``classes`` (negative, positive), 0 and 1 by default. A ``schema`` declares the values
    of its columns; without one the method needs public cut points.

    ``predictions`` take the place of ``X``: an array of 0 and 1 with a row for each hypothesis and
    a column for each label. A prediction must depend on its own row only.

    ``relation`` is that of the table, or substitution for arrays. ``rows`` is a public number of
    rows, if the relation keeps it private; by default that of the table.
    """
    if rows is not None:
        count(rows=rows)
    if isinstance(X, Labelled):
        if y is not None or any(said is not None for said in (predictions, classes, schema, rows)):
            raise ParameterError("the rows are labelled already; give nothing else")
        return X
    if isinstance(y, str):
        return _of_table(X, y, predictions, classes, schema, relation, rows)
    if isinstance(X, SealedTable):
        raise ParameterError(
            "a sealed table holds its classes; name their column, as in y='income'"
        )
    if y is None:
        raise ParameterError("there are no labels; give y=, one label for each row")
    unit = Relation.SUBSTITUTION if relation is None else Relation.parse(relation)
    named = _classes(classes)
    labels = labels_alone(y, named, unit)
    public: dict[str, Any] = {
        "classes": named, "relation": unit, "rows": _public_rows(labels, rows)
    }  # fmt: skip
    if predictions is not None:
        if X is not None or schema is not None:
            raise ParameterError("predictions take the place of X; leave out X and schema")
        matrix = _matrix(predictions)
        sealed = sealed_predictions(matrix, np.asarray(y).shape[0])
        return Labelled(AboutRows(**public, predictions=len(matrix)), labels, sealed)
    if schema is not None:
        public["schema"] = Schema.parse(schema)
    else:
        public |= _columns(X)
    return Labelled(AboutRows(**public), labels, Sealed(X, "values"))


def _of_table(
    X: Any, y: str, predictions: Any, classes: Any, schema: Any, relation: Any, rows: int | None
) -> Labelled:
    if not isinstance(X, SealedTable):
        raise ParameterError(
            f"y={shown(y)} names a column, so X is a table with a public schema; read it with "
            "wn.read_table(..., schema=)"
        )
    if schema is not None:
        raise ParameterError("a sealed table has its schema already; leave out schema")
    if classes is not None:
        raise ParameterError("the schema declares the classes; leave out classes")
    if predictions is not None:
        raise ParameterError("predictions take the place of X; give their labels as y=")
    table = X if relation is None else X.under(relation)
    labels = labelled_table(table, y)
    about = AboutRows(
        classes=labels.classes,
        relation=table.relation,
        rows=_public_rows(labels, table.stated_rows if rows is None else rows),
        rows_per_person=table.rows_per_person,
        schema=table.schema.subset(feature_names(table.schema, y)),
    )
    return Labelled(about, labels)


def _public_rows(labels: SealedLabelled, rows: int | None) -> int | None:
    """The number of rows where it is public, or was declared."""
    if rows is None:
        return labels.n or None  # no rows: nothing to divide by
    if labels.n is not None and int(rows) != labels.n:  # both are public here
        raise ParameterError(f"rows={rows}, and there are {labels.n} rows; leave out rows")
    return int(rows)


def _columns(X: Any) -> dict[str, Any]:
    """The names of the columns, or why there are none: functions take any X."""
    try:
        names, _, named = named_columns(X)
    except InputError as error:
        return {"unread": str(error)}
    return {"names": names, "named": named}


def _classes(classes: Any) -> Classes:
    """Two different classes or more; 0 and 1 if nothing is said."""
    if classes is None:
        return 0, 1
    if isinstance(classes, str) or not isinstance(classes, Sequence | np.ndarray):
        raise ParameterError(f"classes={shown(classes)} is not a pair; give (negative, positive)")
    named = tuple(c.item() if isinstance(c, np.generic) else c for c in classes)
    if len(named) < 2 or any(a == b for a, b in combinations(named, 2)):
        raise ParameterError(
            f"classes={shown(classes)} are not two; give (negative, positive), or all of several"
        )
    return named


def _matrix(predictions: Any) -> NDArray[Any]:
    """Predictions as an array: from an array, a data frame, or a list of lists."""
    if isinstance(predictions, np.ndarray):
        return predictions
    lists = isinstance(predictions, list | tuple) and len(predictions) > 0
    if lists and all(isinstance(row, list | tuple | np.ndarray) for row in predictions):
        if len({len(row) for row in predictions}) > 1:
            raise DataError("the rows of predictions differ in length; give one for each label")
        return np.asarray(predictions)
    if hasattr(predictions, "columns") and hasattr(predictions, "to_numpy"):
        return np.asarray(predictions.to_numpy())
    raise ParameterError(
        f"predictions are a {type(predictions).__name__}; give an array with a row for each "
        "hypothesis"
    )
