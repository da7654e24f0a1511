"""The rounds of the scalar-private solver on small programs: all scores, no compiled code.

The same law as ``scalar_solver``, from another part of the tape: every row is scored in every
round and the exponential mechanism is drawn by its Gumbel maximum.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from winnow.core.laws import Law
from winnow.core.noisy_top.draw import noisy_top
from winnow.core.tape import Tape
from winnow.lp.kernels.scalar_program import ConstraintRows, Floats, Integers

_ENTRIES = 1 << 16
_ROUNDS = 5_000


def is_small(rows: int, simplex: int, rounds: int) -> bool:
    """Whether compiling would take longer than the rounds: a public rule."""
    return rows * simplex <= _ENTRIES and rounds <= _ROUNDS


def plain_rounds(
    rows: ConstraintRows,
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
