"""The crossing: charge, draw, release. Mechanisms are frozen sets of public parameters."""

from winnow.mechanisms.approximate_oneshot import ApproximateOneshot
from winnow.mechanisms.canonical import Canonical
from winnow.mechanisms.gamma import GammaMechanism
from winnow.mechanisms.indexed_selection import IndexedExponential, SlackExponential
from winnow.mechanisms.joint import Joint
from winnow.mechanisms.large_margin import LargeMargin
from winnow.mechanisms.lipschitz import (
    ExponentialMechanism,
    LipschitzMechanism,
    PermuteAndFlip,
    ReportNoisyMax,
)
from winnow.mechanisms.noisy_counts import NoisyCounts, WithCounts
from winnow.mechanisms.peeling import PeelGumbel, PeelPermuteAndFlip
from winnow.mechanisms.rounds import SelectAndMeasure
from winnow.mechanisms.sparse_vector import AboveThreshold, SparseVector
from winnow.mechanisms.unknown_domain import LimitedDomain, StabilityThreshold

__all__ = [
    "AboveThreshold",
    "ApproximateOneshot",
    "Canonical",
    "ExponentialMechanism",
    "GammaMechanism",
    "IndexedExponential",
    "Joint",
    "LargeMargin",
    "LimitedDomain",
    "LipschitzMechanism",
    "NoisyCounts",
    "PeelGumbel",
    "PeelPermuteAndFlip",
    "PermuteAndFlip",
    "ReportNoisyMax",
    "SelectAndMeasure",
    "SlackExponential",
    "SparseVector",
    "StabilityThreshold",
    "WithCounts",
]
