"""Workloads and questions as a server takes them, made those of the library."""

from __future__ import annotations

from functools import reduce
from operator import mul
from typing import Any

from winnow.core.workloads.conditions import predicates, where
from winnow.core.workloads.tables import marginals, prefixes, ranges
from winnow.core.workloads.workload import Maker
from winnow.errors import ParameterError
from winnow.serve import bodies


def workload_of(pieces: list[bodies.WorkloadPiece]) -> Maker:
    """The workload that pieces describe, all together."""
    return reduce(lambda one, other: one + other, map(_maker, pieces))


def _maker(piece: bodies.WorkloadPiece) -> Maker:
    given = [name for name in piece.__struct_fields__ if getattr(piece, name) is not None]
    if len(given) != 1:
        raise ParameterError(
            "a piece of a workload is one of marginals, table, prefixes, ranges, product and "
            f"where; {len(given)} were given"
        )
    if piece.marginals is not None:
        return marginals(piece.marginals)
    if piece.product is not None:
        return reduce(mul, map(_factor, piece.product))
    if piece.where is None:
        return _ranges_or_table(piece)
    return predicates(question_of(each) for each in piece.where)


def _factor(factor: bodies.WorkloadFactor) -> Maker:
    given = sum(getattr(factor, name) is not None for name in factor.__struct_fields__)
    if given != 1:
        raise ParameterError(
            f"a factor of a product is one of table, prefixes and ranges; {given} were given"
        )
    return _ranges_or_table(factor)


def _ranges_or_table(piece: bodies.WorkloadPiece | bodies.WorkloadFactor) -> Maker:
    if piece.table is not None:
        return marginals(len(piece.table), piece.table)
    if piece.prefixes is not None:
        return prefixes(piece.prefixes)
    assert piece.ranges is not None
    return ranges(piece.ranges)


def question_of(conditions: bodies.Where) -> Any:
    """The predicate that conditions describe."""
    return where(conditions_of(conditions))


def conditions_of(conditions: bodies.Where) -> dict[str, Any]:
    """Conditions as ``where`` takes them."""
    return {column: _condition(given) for column, given in conditions.items()}


def _condition(given: Any) -> Any:
    return (given.low, given.high) if isinstance(given, bodies.Range) else given
