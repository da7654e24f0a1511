"""Winnow: differentially private selection, exact and fast.

import winnow as wn

pick = wn.select({"a": 41, "b": 40, "c": 3}, epsilon=1.0)
pick.value, pick.guarantee, pick.receipt
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from winnow._version import __version__

if TYPE_CHECKING:
    from winnow import plan
    from winnow.domain.neighbours import Relation
    from winnow.domain.utility import Utility
    from winnow.errors import (
        BudgetError,
        BudgetExceeded,
        ExtraMissing,
        GrantError,
        GuaranteeError,
        InputError,
        RelationMismatch,
        WinnowError,
    )
    from winnow.mechanisms import (
        AboveThreshold,
        ApproximateOneshot,
        Canonical,
        ExponentialMechanism,
        GammaMechanism,
        Joint,
        LargeMargin,
        LimitedDomain,
        LipschitzMechanism,
        NoisyCounts,
        PeelGumbel,
        PeelPermuteAndFlip,
        PermuteAndFlip,
        ReportNoisyMax,
        SparseVector,
        StabilityThreshold,
    )
    from winnow.privacy import Budget, Guarantee, as_substitution, calibrate
    from winnow.released import Receipt, Released
    from winnow.sealed import Sealed, SealedCounts, SealedScores, seal_scores
    from winnow.sealed.counts import counts
    from winnow.session import Session
    from winnow.verbs import above, open_above, select, top_k

__all__ = [
    "AboveThreshold",
    "ApproximateOneshot",
    "Budget",
    "BudgetError",
    "BudgetExceeded",
    "Canonical",
    "ExponentialMechanism",
    "ExtraMissing",
    "GammaMechanism",
    "GrantError",
    "Guarantee",
    "GuaranteeError",
    "InputError",
    "Joint",
    "LargeMargin",
    "LimitedDomain",
    "LipschitzMechanism",
    "NoisyCounts",
    "PeelGumbel",
    "PeelPermuteAndFlip",
    "PermuteAndFlip",
    "Receipt",
    "Relation",
    "RelationMismatch",
    "Released",
    "ReportNoisyMax",
    "Sealed",
    "SealedCounts",
    "SealedScores",
    "Session",
    "SparseVector",
    "StabilityThreshold",
    "Utility",
    "WinnowError",
    "__version__",
    "above",
    "as_substitution",
    "calibrate",
    "counts",
    "open_above",
    "plan",
    "seal_scores",
    "select",
    "top_k",
]

# Loaded on first use, so that `winnow --help` does not wait for NumPy.
_HOMES = {
    "Relation": "domain.neighbours",
    "Utility": "domain.utility",
    "Budget": "privacy",
    "Guarantee": "privacy",
    "as_substitution": "privacy",
    "calibrate": "privacy",
    "counts": "sealed.counts",
    "Receipt": "released",
    "Released": "released",
    "Sealed": "sealed",
    "SealedCounts": "sealed",
    "SealedScores": "sealed",
    "seal_scores": "sealed",
    "Session": "session",
    "above": "verbs",
    "open_above": "verbs",
    "select": "verbs",
    "top_k": "verbs",
    "AboveThreshold": "mechanisms",
    "ExponentialMechanism": "mechanisms",
    "LargeMargin": "mechanisms",
    "LipschitzMechanism": "mechanisms",
    "PermuteAndFlip": "mechanisms",
    "ReportNoisyMax": "mechanisms",
    "ApproximateOneshot": "mechanisms",
    "Canonical": "mechanisms",
    "GammaMechanism": "mechanisms",
    "Joint": "mechanisms",
    "LimitedDomain": "mechanisms",
    "NoisyCounts": "mechanisms",
    "PeelGumbel": "mechanisms",
    "PeelPermuteAndFlip": "mechanisms",
    "StabilityThreshold": "mechanisms",
    "SparseVector": "mechanisms",
    "BudgetError": "errors",
    "BudgetExceeded": "errors",
    "ExtraMissing": "errors",
    "GrantError": "errors",
    "GuaranteeError": "errors",
    "InputError": "errors",
    "RelationMismatch": "errors",
    "WinnowError": "errors",
}


def __getattr__(name: str) -> Any:
    if name == "plan":
        return import_module("winnow.plan")
    if name not in _HOMES:
        raise AttributeError(f"module 'winnow' has no attribute {name!r}")
    value = getattr(import_module(f"winnow.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
