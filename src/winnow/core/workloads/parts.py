"""All parts of workloads. mypy names here what one of them lacks of the protocol."""

from __future__ import annotations

from winnow.core.workloads.bits import BitsPart
from winnow.core.workloads.conjunction import ConjunctionPart
from winnow.core.workloads.interval import IntervalPart
from winnow.core.workloads.marginal import MarginalPart
from winnow.core.workloads.part import Part
from winnow.core.workloads.real import GridPart

PARTS: tuple[type[Part], ...] = (MarginalPart, IntervalPart, ConjunctionPart, BitsPart, GridPart)
