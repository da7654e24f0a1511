"""Within what the noise of released counts lies."""

from __future__ import annotations

import math
from statistics import NormalDist

from winnow.core.cut import laplace_margin
from winnow.core.utility import Utility


def counts_margin(mechanism: object, utility: Utility, confidence: float = 0.95) -> int | None:
    """The least m with Pr[|noise of a count| <= m] >= confidence; None: it releases no counts."""
    from winnow.select.mechanisms.gaussian_counts import GaussianCounts
    from winnow.select.mechanisms.noisy_counts import NoisyCounts, WithCounts
    from winnow.select.mechanisms.truncated_laplace import TruncatedLaplace
    from winnow.select.mechanisms.unknown_domain import StabilityThreshold

    if not getattr(mechanism, "with_counts", True):
        return None  # its noisy counts stay inside
    if isinstance(mechanism, GaussianCounts):
        # the discrete law is no wider than the normal one, up to the rounding of m
        return math.ceil(NormalDist().inv_cdf((1 + confidence) / 2) * mechanism.deviation(utility))
    if not isinstance(mechanism, NoisyCounts | WithCounts | StabilityThreshold | TruncatedLaplace):
        return None
    return laplace_margin(mechanism.scale(utility), confidence)
