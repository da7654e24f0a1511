"""The plan of one method for a release: what it measures, draws and promises."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from winnow.core.plan import Plan
from winnow.read.crossing import SealedTable
from winnow.release.synthetic import SyntheticDistribution

Progress = Callable[[int, int], None] | None
"""What is told of every round: how many are done, and how many there are."""


@dataclass(frozen=True, kw_only=True, eq=False)
class MethodPlan(Plan[SealedTable, SyntheticDistribution]):
    """One method with its options, for a workload and a budget."""

    why: str = field(default="", repr=False)
    """Why this method, by its predicted error; empty: ``reason`` says all."""
    expected: Any = field(default=None, repr=False)
    """Of rounds and of a graphical model: what is measured, and with which noise."""
