"""Draws of the real sampler, counted by outcome."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from winnow.audit.cases import Mechanism
from winnow.audit.probabilities import model_of
from winnow.domain.utility import Utility

Integers = NDArray[np.int64]


@lru_cache(maxsize=256)
def tally(
    mechanism: Mechanism, scores: tuple[int, ...], utility: Utility, draws: int, seed: int
) -> tuple[Integers, Integers]:
    """How often each outcome came, in the first and in the second half of the draws.

    The last entry counts outputs that the mechanism cannot give. Kept, so that the
    sampling and the fidelity audit look at the same draws.
    """
    rows = mechanism.simulate(np.array(scores, np.int64), utility, draws, seed)
    outcomes = model_of(mechanism, utility).outcomes(len(scores))
    base = max(len(scores), int(outcomes.max()) + 1) + 2  # entries start at -1 (not asked)
    digits = base ** np.arange(outcomes.shape[1])
    codes, drawn = (outcomes + 1) @ digits, (rows + 1) @ digits
    by_code = np.argsort(codes)
    place = np.minimum(np.searchsorted(codes[by_code], drawn), len(codes) - 1)
    column = np.where(codes[by_code][place] == drawn, by_code[place], len(codes))
    half = draws // 2
    first, second = (
        np.bincount(part, minlength=len(codes) + 1) for part in (column[:half], column[half:])
    )
    return first, second
