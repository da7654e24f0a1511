"""Public workloads: parts (lists of queries over a schema) and the makers that build them."""

from winnow.domain.workloads.arrays import queries
from winnow.domain.workloads.bits import BitsPart
from winnow.domain.workloads.conditions import predicates, where
from winnow.domain.workloads.conjunction import ConjunctionPart
from winnow.domain.workloads.drawn import random_queries
from winnow.domain.workloads.interval import IntervalPart
from winnow.domain.workloads.maker import Maker
from winnow.domain.workloads.marginal import MarginalPart
from winnow.domain.workloads.part import Part
from winnow.domain.workloads.real import GridPart
from winnow.domain.workloads.tables import marginals, prefixes, ranges
from winnow.domain.workloads.workload import Workload

__all__ = [
    "BitsPart",
    "ConjunctionPart",
    "GridPart",
    "IntervalPart",
    "Maker",
    "MarginalPart",
    "Part",
    "Workload",
    "marginals",
    "predicates",
    "prefixes",
    "queries",
    "random_queries",
    "ranges",
    "where",
]
