"""The rounds of the scalar-private solver on small programs: all scores, no compiled code.

The same law as ``constraint_loop``, from another part of the tape: every row is scored in every
round and the exponential mechanism is drawn by its Gumbel maximum.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from winnow.core.laws import Law
from winnow.core.noisy_top.draw import noisy_top
from winnow.core.tape import Tape

if TYPE_CHECKING:
    from winnow.lp.kernels.constraint_program import Rows


Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

_ENTRIES = 1 << 16
_ROUNDS = 5_000


def is_small(rows: int, simplex: int, rounds: int) -> bool:
    """Whether compiling would take longer than the rounds: a public rule."""
    return rows * simplex <= _ENTRIES and rounds <= _ROUNDS


def plain_rounds(
    rows: Rows,
    scale: Floats,
    offsets: Integers,
    *,
    power: int,
    rate: Fraction,
    step: float,
    rounds: int,
    tape: Tape,
) -> tuple[Floats, Integers]:
    """The mean of the simplex points, and the selected rows."""
    logs, total = np.zeros(len(scale)), np.zeros(len(scale))
    chosen = np.empty(rounds, np.int64)
    for t in range(rounds):
        z = np.exp(logs - logs.max())
        z /= z.sum()
        total += z
        values = rows.times((z * scale)[: rows.width])
        scores = np.rint(values * 2.0**-power).astype(np.int64) - offsets
        [row] = noisy_top(scores, tape.child(f"round-{t}"), Law.GUMBEL, rate)
        chosen[t] = row
        entries = rows.row(row)
        logs[: len(entries)] -= step * (entries * scale[: len(entries)])
    return np.asarray(total / total.sum()), chosen
