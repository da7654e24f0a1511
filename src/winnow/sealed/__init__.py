"""Private data, sealed: readers and transforms. Only mechanisms may open what is here."""

from winnow.sealed.scores import SealedScores, seal_scores
from winnow.sealed.seal import Sealed
from winnow.sealed.sealed_counts import SealedCounts

__all__ = ["Sealed", "SealedCounts", "SealedScores", "seal_scores"]
