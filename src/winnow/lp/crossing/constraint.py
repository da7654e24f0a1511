"""A paid run of a constraint-private linear program: the weights of rows, and three oracles."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from threading import Lock
from typing import TYPE_CHECKING, NoReturn

import numpy as np
from numpy.typing import NDArray

from winnow.core.checks import exact
from winnow.core.key import Key
from winnow.core.laws import Law
from winnow.core.measurement import MEASUREMENTS
from winnow.core.noisy_top.draw import noisy_top
from winnow.core.tape import Tape
from winnow.errors import GrantError, SessionExhausted
from winnow.inner_product.crossing import IndexedExponential
from winnow.inner_product.index.building import build_index
from winnow.inner_product.index.prepared import PreparedVectors
from winnow.inner_product.problem import InnerProductProblem
from winnow.lp.crossing.rows import SealedRows
from winnow.lp.kernels.dense_projection import projected
from winnow.lp.kernels.lazy_columns import LazyColumns
from winnow.lp.kernels.owned_rows import DenseRows, SparseRows, owned_rows

if TYPE_CHECKING:
    from winnow.lp.mechanisms.constraint import ConstraintPrivateLp

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Oracle = Callable[[Floats, Tape], int]


class ConstraintRun:
    """A run that was paid for: at most `searches` solves. Its weights on rows never leave."""

    def __init__(
        self,
        mechanism: ConstraintPrivateLp,
        rows: SealedRows,
        key: Key,
    ) -> None:
        self.left = mechanism.searches
        """How many solves are still paid for."""
        self._mechanism, self._tape = mechanism, key.tape
        matrix, sides = key.open(rows.content)
        least, most = (float(end) for end in mechanism.sides)
        self._b = np.clip(sides, least, most)
        low, high = (float(end) for end in mechanism.entries)
        self._rows = owned_rows(matrix, low, high, sparse=mechanism.selection == "lazy")
        self._lock = Lock()

    def solve(
        self, scale: Floats, step: float, tolerance: float | None = None
    ) -> tuple[Integers, int | None]:
        """How often each vertex was drawn, and the noisy number of rows violated beyond.

        ``scale`` is OPT/c, ``step`` what losses are multiplied with, ``tolerance`` from which
        violation on a row is counted; all of them are public.
        """
        with self._lock:
            if self.left == 0:
                raise SessionExhausted("all solves that were charged are done; charge more")
            self.left -= 1
            tape = self._tape.child(f"solve-{self.left}")
        with np.errstate(all="ignore"):  # a warning about a rounded product would be a leak
            drawn = self._drawn(scale, step, tape)
            if self._mechanism.check_multiplier is None:
                return drawn, None
            return drawn, self._unmet(scale * drawn / drawn.sum(), tolerance or 0.0, tape)

    def _drawn(self, scale: Floats, step: float, tape: Tape) -> Integers:
        size, density = len(self._b), self._mechanism.density
        draw = self._oracle(scale)
        drawn = np.zeros(len(scale), np.int64)
        logs, theta, aside = np.zeros(size + density), None, step * self._b
        for turn in range(self._mechanism.rounds):
            y, theta = projected(logs, density, theta)
            vertex = draw(y[:size], tape.child(f"round-{turn}"))
            drawn[vertex] += 1
            self._rows.add_column(vertex, step * float(scale[vertex]), logs)
            logs[:size] -= aside
        return drawn

    def _oracle(self, scale: Floats) -> Oracle:
        """The exponential mechanism over the vertices, in the way that was chosen."""
        power, steps = self._mechanism.steps(scale)
        rate = exact("epsilon", self._mechanism.epsilon) / (2 * steps)
        selection = self._mechanism.selection
        if selection == "dense" or len(self._b) == 0:  # of no rows there is no index: the same law
            return _dense(self._rows, scale, rate, 2.0**-power)
        if selection == "lazy":
            assert isinstance(self._rows, SparseRows)
            return LazyColumns(self._rows, scale, rate, 2.0**-power).draw
        return _indexed(self._rows, scale, rate, power, selection)

    def _unmet(self, x: Floats, tolerance: float, tape: Tape) -> int:
        """Added up entry by entry, so that a row's value depends on that row alone."""
        values = -self._b
        for j in np.flatnonzero(x):
            self._rows.add_column(int(j), float(x[j]), values)
        unmet = int(np.count_nonzero(values > tolerance))
        multiplier = self._mechanism.check_multiplier
        assert multiplier is not None
        width = exact("check_multiplier", multiplier)
        stream = tape.child("check").stream()
        return unmet + MEASUREMENTS[self._mechanism.measurement].draw(stream, width)

    def __repr__(self) -> str:
        return "<run of a constraint-private LP>"

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise GrantError("a run is not copied or pickled: it is one charge")


def _dense(rows: DenseRows | SparseRows, scale: Floats, rate: Fraction, grid: float) -> Oracle:
    """Every column scored: -(OPT/c_j) sum_i y_i A_ij, rounded to the grid."""

    def draw(y: Floats, tape: Tape) -> int:
        scores = np.rint(-rows.sums(y) * scale * grid).astype(np.int64)
        return noisy_top(scores, tape, Law.GUMBEL, rate)[0]

    return draw


def _indexed(
    rows: DenseRows | SparseRows, scale: Floats, rate: Fraction, power: int, index: str
) -> Oracle:
    """An index over the vectors N_j = -(OPT/c_j) A_:j, and the certified lazy sampler over it."""
    vectors = np.ascontiguousarray(-scale[:, None] * rows.columns())
    prepared = PreparedVectors(vectors, build_index(index, vectors))
    mechanism = IndexedExponential(1)  # it draws by the rate that it is given

    def draw(y: Floats, tape: Tape) -> int:
        return mechanism.draw(InnerProductProblem(prepared, y, power), rate, tape)[0]

    return draw
