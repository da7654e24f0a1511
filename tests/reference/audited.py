"""What many tests need of the audits: mechanisms with their exact models, and p-values.

Tests import it from here, so that one file follows when a module moves.
"""

from __future__ import annotations

from winnow.audit.cases import Case, OnLabels, all_cases, selections
from winnow.audit.enumeration import enumerate_case, every_row_is_enumerated, measure
from winnow.audit.fidelity import FALSE_ALARM, chi_square_p_value
from winnow.audit.neighbours import Declared, asymmetric, counts, declarations, general, moves
from winnow.audit.probabilities import hockey_stick, model_of

__all__ = [
    "FALSE_ALARM",
    "Case",
    "Declared",
    "OnLabels",
    "all_cases",
    "asymmetric",
    "chi_square_p_value",
    "counts",
    "declarations",
    "enumerate_case",
    "every_row_is_enumerated",
    "general",
    "hockey_stick",
    "measure",
    "model_of",
    "moves",
    "selections",
]
