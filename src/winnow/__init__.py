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
    from winnow.domain.hypotheses import conjunctions, intervals, stumps, thresholds
    from winnow.domain.neighbours import Relation
    from winnow.domain.schema import Column, Schema
    from winnow.domain.utility import Utility
    from winnow.domain.workloads import (
        Workload,
        marginals,
        predicates,
        prefixes,
        queries,
        random_queries,
        ranges,
        where,
    )
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
        IndexedExponential,
        Joint,
        LargeMargin,
        LimitedDomain,
        LipschitzMechanism,
        NoisyCounts,
        PeelGumbel,
        PeelPermuteAndFlip,
        PermuteAndFlip,
        ReportNoisyMax,
        SlackExponential,
        SparseVector,
        StabilityThreshold,
    )
    from winnow.privacy import Budget, Guarantee, as_substitution, calibrate
    from winnow.released import Receipt, Released
    from winnow.released.linear_programs import LpSolution
    from winnow.released.predictor import Predictor, load_predictor
    from winnow.released.synthetic import SyntheticDistribution
    from winnow.released.wide import WideSynthetic
    from winnow.sealed import Sealed, SealedCounts, SealedScores, seal_scores
    from winnow.sealed.baskets import read_baskets
    from winnow.sealed.counts import counts
    from winnow.sealed.lp_files import LpModel, read_lp
    from winnow.sealed.reading import read_table
    from winnow.sealed.sealed_baskets import SealedBaskets
    from winnow.sealed.tables import SealedTable
    from winnow.sealed.vectors import SealedVectors, seal_vectors
    from winnow.session import Session
    from winnow.verbs import (
        PrivateClassifier,
        above,
        boost,
        frequent_itemsets,
        learn,
        max_inner_product,
        open_above,
        open_interactive,
        release,
        release_wide,
        resume_interactive,
        select,
        solve_lp,
        top_k,
    )

__all__ = [
    "AboveThreshold",
    "ApproximateOneshot",
    "Budget",
    "BudgetError",
    "BudgetExceeded",
    "Canonical",
    "Column",
    "ExponentialMechanism",
    "ExtraMissing",
    "GammaMechanism",
    "GrantError",
    "Guarantee",
    "GuaranteeError",
    "IndexedExponential",
    "InputError",
    "Joint",
    "LargeMargin",
    "LimitedDomain",
    "LipschitzMechanism",
    "LpModel",
    "LpSolution",
    "NoisyCounts",
    "PeelGumbel",
    "PeelPermuteAndFlip",
    "PermuteAndFlip",
    "Predictor",
    "PrivateClassifier",
    "Receipt",
    "Relation",
    "RelationMismatch",
    "Released",
    "ReportNoisyMax",
    "Schema",
    "Sealed",
    "SealedBaskets",
    "SealedCounts",
    "SealedScores",
    "SealedTable",
    "SealedVectors",
    "Session",
    "SlackExponential",
    "SparseVector",
    "StabilityThreshold",
    "SyntheticDistribution",
    "Utility",
    "WideSynthetic",
    "WinnowError",
    "Workload",
    "__version__",
    "above",
    "as_substitution",
    "boost",
    "calibrate",
    "conjunctions",
    "counts",
    "frequent_itemsets",
    "intervals",
    "learn",
    "load_predictor",
    "marginals",
    "max_inner_product",
    "open_above",
    "open_interactive",
    "plan",
    "predicates",
    "prefixes",
    "queries",
    "random_queries",
    "ranges",
    "read_baskets",
    "read_lp",
    "read_table",
    "release",
    "release_wide",
    "resume_interactive",
    "seal_scores",
    "seal_vectors",
    "select",
    "solve_lp",
    "stumps",
    "thresholds",
    "top_k",
    "where",
]

# Loaded on first use, so that `winnow --help` does not wait for NumPy.
_HOMES = {
    "Relation": "domain.neighbours",
    "Utility": "domain.utility",
    "conjunctions": "domain.hypotheses",
    "intervals": "domain.hypotheses",
    "stumps": "domain.hypotheses",
    "thresholds": "domain.hypotheses",
    "Predictor": "released.predictor",
    "load_predictor": "released.predictor",
    "PrivateClassifier": "verbs",
    "learn": "verbs",
    "Column": "domain.schema",
    "Schema": "domain.schema",
    "Workload": "domain.workloads",
    "marginals": "domain.workloads",
    "predicates": "domain.workloads",
    "prefixes": "domain.workloads",
    "queries": "domain.workloads",
    "random_queries": "domain.workloads",
    "ranges": "domain.workloads",
    "where": "domain.workloads",
    "read_baskets": "sealed.baskets",
    "SealedBaskets": "sealed.sealed_baskets",
    "read_table": "sealed.reading",
    "SealedTable": "sealed.tables",
    "Budget": "privacy",
    "Guarantee": "privacy",
    "as_substitution": "privacy",
    "calibrate": "privacy",
    "counts": "sealed.counts",
    "Receipt": "released",
    "Released": "released",
    "SyntheticDistribution": "released.synthetic",
    "WideSynthetic": "released.wide",
    "Sealed": "sealed",
    "SealedCounts": "sealed",
    "SealedScores": "sealed",
    "seal_scores": "sealed",
    "SealedVectors": "sealed.vectors",
    "seal_vectors": "sealed.vectors",
    "Session": "session",
    "above": "verbs",
    "boost": "verbs",
    "frequent_itemsets": "verbs",
    "max_inner_product": "verbs",
    "open_above": "verbs",
    "open_interactive": "verbs",
    "release": "verbs",
    "release_wide": "verbs",
    "resume_interactive": "verbs",
    "select": "verbs",
    "solve_lp": "verbs",
    "LpSolution": "released.linear_programs",
    "LpModel": "sealed.lp_files",
    "read_lp": "sealed.lp_files",
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
    "IndexedExponential": "mechanisms",
    "SlackExponential": "mechanisms",
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
