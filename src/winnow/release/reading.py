"""A release read back from a file: what it answered before, it answers again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from winnow.core.schema import Schema
from winnow.core.workloads.written import read_workload
from winnow.errors import ParameterError
from winnow.fit.tables import FitQuality
from winnow.foreign import instead
from winnow.release.factors import Factor
from winnow.release.graphical.synthetic import TreeFactor, WideSynthetic, measured_marginals
from winnow.release.synthetic import MeasuredQuery, SyntheticDistribution
from winnow.release.tables.written import read_tables
from winnow.release.value import AnsweredSynthetic, AnswerErrors

Floats = NDArray[np.float64]


def read_distribution(document: Mapping[str, Any]) -> SyntheticDistribution:
    """The distribution that ``to_dict`` wrote, with the released tables where it had them."""
    with instead(
        ParameterError(
            "this is not a synthetic distribution as to_dict writes it; a field is missing "
            "or of another type"
        ),
        KeyError,
        IndexError,
        AttributeError,
        TypeError,
        ValueError,
    ):
        schema = Schema.parse(document["schema"])
        common: dict[str, Any] = {
            "schema": schema,
            "factors": tuple(_factor(plain, schema) for plain in document["factors"]),
            "total": document["total"],
            "measurements": tuple(
                MeasuredQuery(
                    m["query"], m["count"], m["answer"], m["number"], m["sign"], m["group"]
                )
                for m in document.get("measurements", ())
            ),
            "rests_on": document.get("rests_on", ""),
            "fit": FitQuality(**document["fit"]) if document.get("fit") else None,
        }
        kept = document.get("released")
        if kept is not None:
            common["workload"] = read_workload(schema, kept["workload"])
            told = kept.get("tables")
            tables = None if told is None else read_tables(schema, told)
            if "reach" in kept:
                return _answered(document, kept, common | {"tables": tables})
            common["tables"] = tables
        if "marginals" in document:
            return WideSynthetic(
                **common, marginals=measured_marginals(schema, document["marginals"])
            )
        return SyntheticDistribution(**common)


def _factor(plain: Mapping[str, Any], schema: Schema) -> Any:
    if "cliques" in plain:
        return TreeFactor.from_dict(plain, schema.names, schema.shape)
    columns = schema.positions(plain["columns"])
    shape = tuple(schema.shape[column] for column in columns)
    points = plain.get("points")
    cells = None if points is None else np.array(points, np.int64)
    return Factor(columns, shape, np.array(plain["weights"]), cells)


def _answered(
    document: Mapping[str, Any], kept: Mapping[str, Any], common: Mapping[str, Any]
) -> AnsweredSynthetic:
    """Answers with their errors, and how far each may be moved from its estimate."""

    def numbers(values: Any) -> Floats:
        floats = np.array([np.inf if each is None else each for each in values], np.float64)
        if floats.shape != (common["workload"].size,):
            raise ParameterError(
                "the answers do not fit the workload; give one number for each query"
            )
        return floats

    errors = numbers(document["standard_errors"])
    return AnsweredSynthetic(
        **common,
        method=document["method"],
        estimates=numbers(document["estimates"]),
        standard_errors=errors,
        reach=numbers(kept["reach"]),
        errors=AnswerErrors(errors, numbers(kept["distances"]), kept["largest"], kept["law"]),
    )
