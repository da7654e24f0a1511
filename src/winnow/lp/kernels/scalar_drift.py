"""How fast the exponents of a scalar-private program can move, for norm classes of rows."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from winnow.lp.kernels.scalar_program import Floats, ScalarProgram, Shapes

LN2 = 0.6931471805599453
_QUANTILES = (0.5, 0.9, 0.995)


class Drift(NamedTuple):
    """Of exponents in units of ln 2, while the point moves: see ``scalar_clocks``."""

    per_unit: float
    """The exponent of one step, rounded up."""
    norm_class: NDArray[np.uint8]
    """Of each row."""
    rate2: Floats
    """Of each class, for a Euclidean distance of 1."""
    rate1: Floats
    """Of each class, for a distance of 1 in sum."""
    slack: float
    """What rounding adds."""
    cap: float
    """What no exponent exceeds."""

    def __repr__(self) -> str:
        return "<drift of private exponents>"

    @classmethod
    def of(cls, program: ScalarProgram, shapes: Shapes, classes: int) -> Drift:
        """Measured of all rows."""
        per_step = program.per_step
        per_unit = program.beta / LN2 * (1.0 + 2.0**-48)  # up by more than its use rounds
        in_steps = shapes.largest * per_step
        slack = per_unit * (1.5 + 8.0 * (len(program.scale) + 8) * 2.0**-52 * in_steps)
        highest = float((shapes.tops * per_step - program.offsets).max())
        highest += 1.0 + in_steps * 2.0**-40
        cap = highest * per_unit + abs(highest) * per_unit * 2.0**-40 + 1e-6
        edges = _edges(shapes.lengths, classes)
        norm_class = np.searchsorted(edges[:-1], shapes.lengths, side="left").astype(np.uint8)
        halves = [shapes.halves[norm_class == c].max(initial=0.0) for c in range(len(edges))]
        return cls(
            per_unit, norm_class, edges * per_step * per_unit,
            np.array(halves) * per_step * per_unit, slack, cap,
        )  # fmt: skip


def _edges(lengths: Floats, classes: int) -> Floats:
    """Upper ends of the norm classes; the last is the longest row."""
    if classes == 1 or len(lengths) < 2:
        return np.array([lengths.max()])
    ends = np.quantile(lengths, _QUANTILES[: classes - 1], method="higher")
    kept = [e for e in ends if e < lengths.max()] + [lengths.max()]
    if len(kept) == 3:  # slots are shared evenly by 1, 2 or 4 classes
        kept = kept[1:]
    return np.array(kept)
