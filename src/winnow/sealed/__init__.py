"""Private data, sealed: readers and transforms. Only mechanisms may open what is here."""

from winnow.sealed.scores import SealedScores, seal_scores
from winnow.sealed.seal import Sealed

__all__ = ["Sealed", "SealedScores", "seal_scores"]
