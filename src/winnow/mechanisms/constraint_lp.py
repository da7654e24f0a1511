"""Constraint-private linear programs: every row belongs to a person. [FastMWEM, Appendix B.1]"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from threading import Lock
from typing import Any, ClassVar, NoReturn

import numpy as np
from numpy.typing import NDArray

from winnow.domain.checks import Real, exact, positive, set_counts
from winnow.domain.neighbours import Relation
from winnow.errors import GrantError, InputError
from winnow.kernels.dense_projection import BLOCK, L1_ERROR, project
from winnow.kernels.noisy_top import noisy_top
from winnow.privacy import Event, Grant, Promise, Repeat, promise
from winnow.random.laws import Law
from winnow.random.tape import Tape
from winnow.released import Receipt
from winnow.sealed.opening import open_sealed
from winnow.sealed.right_hand_sides import SealedRows

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

_FINENESS = 10
_SUM_ERROR = (BLOCK + 16) * 2.0**-53
_LARGEST_DENSITY = 1 << 24


@dataclass(frozen=True)
class ConstraintPrivateLp:
    """`rounds` times: dense weights y on the rows, then a vertex that is good against them.

    The simplex {c'x = OPT, x >= 0} has the vertices (OPT/c_j) e_j. A round draws vertex j with
    probability ~ exp(epsilon q_j/(2 Delta)), q_j = -(OPT/c_j) sum_i y_i A_ij, and every row's
    weight grows by exp(step (A_i x - b_i)). y is the projection of the weights to 1/s-dense
    distributions, s = `density`. Entries are clipped to the public `entries` = (low, high), and
    s rows 0'x <= 0, which all x meet, are added, so that y exists whatever the number of rows.

    Formal guarantees
        Neighbours: one row more or less (add/remove). The weight of a row depends on that row and
        on released vertices only. Let q <= 1/s be what y gives to the added row: y gives q less
        to the others together, no other row gets more (the corrected Lemma B.3: l1 distance
        2q <= 2/s). So sum_i y_i A_ij moves by at most q (high - low), and every score by at
        most Delta = (OPT/c_min) (high - low)/s: the constant of the errata, 1 times A_max for
        A >= 0 and 2 times for signed A. A replaced row (substitution) is one less and one
        more: 2 Delta. Floats: y is within 2^-30 in l1 of the exact projection
        (``kernels.dense_projection``), sums over rows are within (4096 + 16) 2^-53, both times
        OPT A_max/c_min; twice that and one step of the grid are added to Delta. Bounded range
        epsilon for each round, `rounds` of them composed adaptively and charged once.
        [FastMWEM, Appendix B.1, H and Lemma B.3, with the errata; Hsu-Roth-Roughgarden-Ullman
        2014; McSherry-Talwar 2007; Durfee-Rogers 2019]
    """

    epsilon: Real
    """Of one selection."""
    rounds: int
    density: int
    entries: tuple[Real, Real]
    title: ClassVar[str] = "constraint-private LP"

    def __post_init__(self) -> None:
        positive(epsilon=self.epsilon)
        set_counts(self, rounds="rounds", density="density")
        low, high = (exact("entries", end) for end in self.entries)
        if not low < high or low > 0 or high < 0:
            raise InputError(
                f"entries=({self.entries[0]}, {self.entries[1]}) is no public range of the entries "
                "of A with 0 in it; give (low, high) with low <= 0 <= high"
            )
        if self.density > _LARGEST_DENSITY:
            raise InputError(f"density={self.density} is above {_LARGEST_DENSITY}; lower it")

    @property
    def name(self) -> str:
        """What the receipt calls it."""
        return (
            f"{self.title}, {self.rounds} rounds of dense multiplicative weights (s = "
            f"{self.density}) and the exponential mechanism over vertices"
        )

    def promise(self, relation: Relation) -> Promise:
        """What the whole run is charged, and why."""
        selection = promise(Law.GUMBEL, "argmax", relation, epsilon=self.epsilon)
        event: Event = selection.event
        if self.rounds > 1:
            event = Repeat(event, self.rounds)
        citation = f"FastMWEM, Appendix B.1 and Lemma B.3; {selection.citation}"
        return Promise(event, citation, f"{self.rounds} times: {selection.statement}")

    def sensitivity(self, scale: Floats, relation: Relation) -> Fraction:
        """Delta of the scores in exact arithmetic; ``scale`` is OPT/c."""
        low, high = (exact("entries", end) for end in self.entries)
        times = 2 if relation is Relation.SUBSTITUTION else 1
        return times * Fraction(float(scale.max())) * (high - low) / self.density

    def steps(self, scale: Floats, relation: Relation) -> tuple[int, int]:
        """The power of two of the public grid, and Delta in its steps with all rounding."""
        delta = self.sensitivity(scale, relation)
        power = math.frexp(float(delta))[1] - _FINENESS
        largest = max(abs(exact("entries", end)) for end in self.entries)
        error = Fraction(float(scale.max())) * largest * Fraction(L1_ERROR + 2 * _SUM_ERROR)
        moved = delta + 2 * error
        return power, math.ceil(moved / Fraction(2) ** power) + 1

    def open(
        self, rows: SealedRows, scale: Floats, grant: Grant, tape: Tape, *, relation: Relation
    ) -> ConstraintRun:
        """Spend the grant on the whole run."""
        promised = self.promise(relation)
        receipt = Receipt(
            self.name, promised.event, promised.citation, tape.kind, exact=True, ledger=grant.record
        )
        tape.claim()
        grant.redeem(promised.event)
        return ConstraintRun(self, rows, scale, relation, tape, receipt)


class ConstraintRun:
    """A run that was paid for. Its weights on rows are private and never leave."""

    def __init__(
        self,
        mechanism: ConstraintPrivateLp,
        rows: SealedRows,
        scale: Floats,
        relation: Relation,
        tape: Tape,
        receipt: Receipt,
    ) -> None:
        self.receipt = receipt
        self._left = mechanism.rounds
        self._mechanism, self._tape, self._scale = mechanism, tape, scale
        matrix, self._b = open_sealed(rows.content)
        low, high = (float(end) for end in mechanism.entries)
        self._blocks = _clipped_blocks(matrix, low, high)
        self._logs = np.zeros(len(self._b) + mechanism.density)
        power, steps = mechanism.steps(scale, relation)
        self._grid = 2.0**-power
        self._rate = exact("epsilon", mechanism.epsilon) / (2 * steps)
        self._lock = Lock()

    def solve(self, step: float) -> Integers:
        """All rounds: how often each vertex was drawn. ``step`` is public."""
        drawn = np.zeros(len(self._scale), np.int64)
        with self._lock, np.errstate(all="ignore"):
            if self._left == 0:
                raise GrantError("all rounds that were charged are drawn; charge more")
            while self._left:
                self._left -= 1
                scores = self._scores()
                tape = self._tape.child(f"round-{self._left}")
                [vertex] = noisy_top(scores, tape, Law.GUMBEL, self._rate)
                drawn[vertex] += 1
                self._logs[: len(self._b)] += step * (
                    self._scale[vertex] * self._column(vertex) - self._b
                )
        return drawn

    def _scores(self) -> Integers:
        """-(OPT/c_j) sum_i y_i A_ij, rounded to the grid."""
        y = project(self._logs, self._mechanism.density)
        parts, first = [], 0
        for block in self._blocks:
            parts.append(np.asarray(y[first : first + block.shape[0]] @ block))
            first += block.shape[0]
        sums = np.array([math.fsum(column) for column in np.array(parts).T.tolist()])
        return np.asarray(np.rint(-sums * self._scale * self._grid).astype(np.int64))

    def _column(self, j: int) -> Floats:
        return np.concatenate([_dense_column(block, j) for block in self._blocks])

    def __repr__(self) -> str:
        return "<run of a constraint-private LP>"

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise GrantError("a run is not copied or pickled: it is one charge")


def _clipped_blocks(matrix: Any, low: float, high: float) -> list[Any]:
    """Blocks of rows with entries clipped to the public range."""
    blocks = []
    for first in range(0, matrix.shape[0], BLOCK):
        block = matrix[first : first + BLOCK]
        if isinstance(block, np.ndarray):
            blocks.append(np.clip(block, low, high))
        else:
            block = block.tocsr(copy=True)
            block.sum_duplicates()
            block.data = np.clip(block.data, low, high)
            blocks.append(block)
    return blocks


def _dense_column(block: Any, j: int) -> Floats:
    if isinstance(block, np.ndarray):
        return block[:, j]
    return np.asarray(block[:, [j]].toarray()).ravel()
