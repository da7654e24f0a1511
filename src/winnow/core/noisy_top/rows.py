"""Many independent draws over the same scores at once: for audits and simulations.

Draw r gives item i the tape address r * d + i and is otherwise the same exact mechanism
as ``noisy_top``: stage 1 on every item, stage 2 for the rows that it leaves open.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from winnow.core.bounded import noise
from winnow.core.laws import Law
from winnow.core.noisy_top.draw import NoisyTop
from winnow.core.noisy_top.filter import Scores, gaps_to
from winnow.core.noisy_top.log_counts import LogCounts
from winnow.core.tape import Tape

_ITEMS_AT_ONCE = 1 << 18


def noisy_top_rows(
    scores: Scores,
    tape: Tape,
    law: Law,
    scale: Fraction,
    draws: int,
    k: int = 1,
    log_counts: LogCounts | None = None,
) -> NDArray[np.int64]:
    """An array of `draws` rows with the positions of the k largest, largest first."""
    d = len(scores)
    behind = float(scale) * gaps_to(scores.max(), scores)
    uncertain = 2.0**-49 * behind
    result = np.empty((draws, k), np.int64)
    step = max(1, _ITEMS_AT_ONCE // d)
    for start in range(0, draws, step):
        rows = min(step, draws - start)
        ids = np.arange(start * d, (start + rows) * d)
        words = tape.words(start * d, rows * d)
        logs = None if log_counts is None else np.tile(log_counts.approx, rows)
        errors = None if log_counts is None else np.tile(log_counts.error, rows)
        z, error = noise(law, words, tape.extension(ids, 0)[:, 0], logs, errors)
        centre = z.reshape(rows, d) - behind
        error = error.reshape(rows, d) + uncertain
        order = np.argsort(-(centre - error), axis=1, kind="stable")
        low = np.take_along_axis(centre - error, order, 1)
        high = np.take_along_axis(centre + error, order, 1)
        highest_after = np.maximum.accumulate(high[:, ::-1], axis=1)[:, ::-1]
        last = min(k, d - 1)
        settled = np.all(low[:, :last] > highest_after[:, 1 : last + 1], axis=1)
        result[start : start + rows] = order[:, :k]
        for row in np.flatnonzero(~settled):
            part = slice(int(row) * d, (int(row) + 1) * d)
            top = NoisyTop(tape, law, scale, k, ids[part], words[part], scores, log_counts)
            result[start + row] = np.array(top.winners()) - (start + int(row)) * d
    return result
