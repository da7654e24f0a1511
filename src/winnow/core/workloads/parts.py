"""All parts of workloads. mypy refuses here one that lacks a method of `Part`."""

from __future__ import annotations

from winnow.core.workloads.bits import BitsPart
from winnow.core.workloads.conjunction import ConjunctionPart
from winnow.core.workloads.interval import IntervalPart
from winnow.core.workloads.marginal import MarginalPart
from winnow.core.workloads.part import Part
from winnow.core.workloads.range_table import RangeTablePart
from winnow.core.workloads.real import GridPart


def _whole(*parts: type[Part]) -> tuple[type[Part], ...]:
    """Them; to a parameter of this type mypy gives no class that lacks a method."""
    return parts


PARTS = _whole(MarginalPart, IntervalPart, RangeTablePart, ConjunctionPart, BitsPart, GridPart)
