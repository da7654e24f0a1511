"""The crossing: charge, draw, release. Mechanisms are frozen sets of public parameters."""

from winnow.mechanisms.large_margin import LargeMargin
from winnow.mechanisms.lipschitz import (
    ExponentialMechanism,
    LipschitzMechanism,
    PermuteAndFlip,
    ReportNoisyMax,
)
from winnow.mechanisms.sparse_vector import AboveThreshold, SparseVector

__all__ = [
    "AboveThreshold",
    "ExponentialMechanism",
    "LargeMargin",
    "LipschitzMechanism",
    "PermuteAndFlip",
    "ReportNoisyMax",
    "SparseVector",
]
