"""A paid run of a scalar-private linear program: right-hand sides on a public grid, and noise."""

from __future__ import annotations

from threading import Lock
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from winnow.core.checks import count, exact
from winnow.core.key import Key
from winnow.core.measurement import MEASUREMENTS
from winnow.core.tape import Tape
from winnow.errors import GrantError, SessionExhausted
from winnow.inner_product.problem import InnerProductGrid
from winnow.lp.crossing.rows import SealedOffsets
from winnow.lp.kernels.scalar_program import ConstraintRows, Shapes
from winnow.lp.kernels.scalar_solver import ScalarLoop, is_small, plain_rounds, words_for

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

LARGEST_STEPS = 2.0**46
"""What a right-hand side or a row may reach on the grid."""

if TYPE_CHECKING:
    from winnow.lp.mechanisms.scalar import ScalarPrivateLp


class ScalarRun:
    """A run that was paid for: at most `searches` solves. All of its state is private."""

    def __init__(
        self,
        mechanism: ScalarPrivateLp,
        offsets: SealedOffsets,
        grid: InnerProductGrid,
        key: Key,
    ) -> None:
        self.left = mechanism.searches
        """How many solves are still paid for."""
        self._mechanism, self._grid, self._tape = mechanism, grid, key.tape
        self._private = key.open(offsets.values)
        self._lock = Lock()

    def solve(
        self,
        rows: ConstraintRows,
        scale: Floats,
        step: float,
        public: tuple[float, ...] = (),
        *,
        lazy: bool | None = None,
    ) -> tuple[Floats, Integers, int | None]:
        """The mean point z, the selected rows, and the noisy largest violation in steps.

        ``rows`` are public; the last of them have the public right-hand sides `public`. ``lazy``
        is whether the compiled loop draws; None: by the public size of the program.
        """
        with self._lock:
            if self.left == 0:
                raise SessionExhausted("all solves that were charged are done; charge more")
            self.left -= 1
            tape = self._tape.child(f"solve-{self.left}")
        count(rows=rows.size)
        shapes = Shapes.of(rows, scale)
        b = self._private if not public else np.append(self._private, public)
        rate = self._mechanism.rate(self._grid)
        far = max(4 * shapes.largest, 2.0**self._grid.power * _reach(float(rate)))
        steps = in_steps(b, self._grid.power, far)
        how: dict[str, Any] = {
            "power": self._grid.power, "rate": rate, "step": step,
            "rounds": self._mechanism.rounds,
        }  # fmt: skip
        drawn = tape.child("rows")
        if lazy is None:
            turns = self._mechanism.rounds * self._mechanism.searches
            lazy = not is_small(rows.size, len(scale), turns)
        if lazy:
            loop = ScalarLoop(rows, shapes, scale, steps, **how)
            z = loop.finish(words_for(drawn, self._mechanism.rounds))
            chosen = loop.chosen.astype(np.int64)
        else:
            z, chosen = plain_rounds(rows, scale, steps, tape=drawn, **how)
        return z, chosen, self._violation(rows, scale, z, steps, tape)

    def _violation(
        self, rows: ConstraintRows, scale: Floats, z: Floats, steps: Integers, tape: Tape
    ) -> int | None:
        multiplier = self._mechanism.check_multiplier
        if multiplier is None:
            return None
        values = rows.times((scale * z)[: rows.width]) * 2.0**-self._grid.power
        largest = int((np.rint(values).astype(np.int64) - steps).max())
        width = exact("check_multiplier", multiplier) * self._grid.utility.one_sided
        stream = tape.child("check").stream()
        return largest + MEASUREMENTS[self._mechanism.measurement].draw(stream, width)

    def __repr__(self) -> str:
        return "<run of a scalar-private LP>"

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise GrantError("a run is not copied or pickled: it is one charge")


def _reach(rate: float) -> float:
    """How many steps a right-hand side may have, so that exponents stay in the range of floats."""
    return min(LARGEST_STEPS, 2.0**36 / rate)


def in_steps(b: Floats, power: int, reach: float) -> Integers:
    """floor(b/2^power + 1/2) of b clipped to [-reach, reach], exactly.

    The range is public and far beyond the values that rows take on the simplex: what is clipped
    is met by every point, or by none. Clipping moves no b further than it moved.
    """
    scaled = np.clip(b, -reach, reach) * 2.0**-power
    whole = np.floor(scaled)
    return np.asarray((whole + (scaled - whole >= 0.5)).astype(np.int64))
