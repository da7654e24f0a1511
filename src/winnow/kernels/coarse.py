"""Stage 0 in plain NumPy: bounds on score + noise from the first 32 bits, without a log call.

The bit pattern of a double k = 2^e (1 + f), read as an integer, is (1023 + e + f) 2^52, and
e + f <= log2 k <= e + f + 0.0861 (Mitchell 1962). With V in [k, k+1) 2^-32 and W = 1 - V
this bounds -ln V from both sides and ln W from below, and every law satisfies

    -ln V + K + ln W  <=  noise  <=  -ln V + K,          K = TOP_SHIFT[law],

with 2 ln W instead of ln W for the maximum of N >= 1 draws, whose noise is shifted by
log N. Proof: with p the survival probability, -ln p + K + ln(1-p) <= inv_sf(p) <= -ln p + K
holds for each law; for groups V/N <= p <= V/(W N) and p <= V (Bernoulli's inequality).
Gumbel: V <= E = -ln W <= V/W.

Rounding: `scale_low` and `scale_high` are the scale moved by 2^-49 of itself, which covers
the rounding of the product and of the sum with it; SLACK covers the rest.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

LN2 = 0.6931471805599453
SLACK = 1e-7
MITCHELL = 0.0861
TWO_M52 = 2.0**-52


def coarse_bounds(
    gaps: Floats,
    words: NDArray[np.uint32],
    scale_low: float,
    scale_high: float,
    shift: float,
    log_count: Floats | None,
    log_count_error: Floats | None,
) -> tuple[Floats, Floats]:
    """Lower and upper bounds on noise - scale * gap for every item."""
    log2_k = words.astype(np.float64).view(np.int64) * TWO_M52 - 1023.0
    upper = (32.0 - log2_k) * LN2 + (shift + SLACK) - scale_low * gaps
    log2_k1 = (words + 1.0).view(np.int64) * TWO_M52 - 1023.0 + MITCHELL
    log2_w = (4294967295.0 - words).view(np.int64) * TWO_M52 - 1055.0
    if log_count is None or log_count_error is None:
        lower = (32.0 - log2_k1 + log2_w) * LN2 + (shift - SLACK) - scale_high * gaps
    else:
        margin = log_count_error + 2.0**-48 * np.abs(log_count)
        upper += log_count + margin
        lower = (32.0 - log2_k1 + 2.0 * log2_w) * LN2 + (shift - SLACK) - scale_high * gaps
        lower += log_count - margin
    upper[words == 0] = np.inf
    lower[words == 0xFFFFFFFF] = -np.inf
    return lower, upper
