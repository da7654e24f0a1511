"""Multiplicative weights against exactly drawn rows: the state around the compiled loops.

A run has three stages. All draw the same law; they differ in what bounds cost and how narrow they
are. It begins with uniform proposals, which need no preparation, goes on to buckets when it
evaluates too many rows, and to quantised blocks when buckets need too many scans of all rows.
Small programs are done before a loop is compiled: they take plain rounds.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from winnow.core.kernels.draw_state import (
    BEGIN,
    NEXT_STAGE,
    PHASE,
    SIGN,
    run_on,
)
from winnow.core.laws import Law
from winnow.core.noisy_top.draw import noisy_top
from winnow.core.noisy_top.proposals import TapeWords
from winnow.core.tape import Tape, Words
from winnow.lp.kernels.scalar_program import (
    MAY_LEAVE,
    ROUND,
    ROUNDS,
    STAGE,
    STATE,
    ConstraintRows,
    Floats,
    Integers,
    Point,
    ScalarProgram,
    Shapes,
)

LN2 = 0.6931471805599453
_QUANTILES = (0.5, 0.9, 0.995)
_PLAIN_ENTRIES, _PLAIN_ROUNDS = 1 << 16, 5_000
"""Up to so many, compiling takes longer than plain rounds."""


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


STAGES: Final = ("uniform", "bucketed", "quantised")
_WORDS = 1 << 15


class ScalarLoop:
    """Private state of a run: offsets in steps, keys, epochs.

    ``offsets`` are the private b_i in whole steps of 2^power, ``rate`` is the exponent of one
    step, ``step`` what the loss v_ij is multiplied with in the update. ``stages`` are those that
    the run may have, one after the other; the law is the same.
    """

    def __init__(
        self,
        rows: ConstraintRows,
        shapes: Shapes,
        scale: Floats,
        offsets: Integers,
        *,
        power: int,
        rate: Fraction,
        step: float,
        rounds: int,
        classes: int = 4,
        stages: tuple[str, ...] = STAGES,
    ) -> None:
        self._program = ScalarProgram(rows.matrix, offsets, scale, step, 2.0**-power, float(rate))
        self._point = Point.start(scale, rounds)
        self._state = np.zeros(STATE, np.int64)
        self._state[ROUNDS], self._state[SIGN] = rounds, 1
        self._shapes, self._rate, self._classes = shapes, rate, classes
        self._drift: Drift | None = None
        self._run: Callable[..., tuple[int, int]]
        self._records: tuple[Any, ...]
        self._left = [stage for stage in stages if stage != "quantised" or rows.is_dense]
        self._next_stage()

    @property
    def chosen(self) -> Any:
        """The selected rows, as far as the run went."""
        return self._point.chosen

    def _next_stage(self) -> None:
        self._stage = self._left.pop(0)
        self._state[PHASE] = BEGIN  # a phase belongs to the stage that left it
        self._state[STAGE:] = 0
        self._state[MAY_LEAVE] = bool(self._left)
        if self._stage == "uniform":
            self._uniform()
            return
        if self._drift is None:
            self._drift = Drift.of(self._program, self._shapes, self._classes)
        if self._stage == "bucketed":
            self._bucketed(self._drift)
        else:
            self._quantised(self._drift)

    @property
    def _reach(self) -> int:
        """Such that the weights of all rows sum to less than 2^61."""
        return 60 - len(self._program.offsets).bit_length()

    def _uniform(self) -> None:
        """Uniform proposals under one bound."""
        from winnow.lp.kernels.scalar_uniform import Fetched, run

        largest = self._shapes.largest * self._program.per_step
        highest = largest * (1.0 + 2.0**-40) - float(self._program.offsets.min()) + 2.0
        ceiling = int(np.ceil(highest + abs(highest) * 2.0**-40))
        self._run, self._records = run, (ceiling, Fetched.room(self._shapes.rows.width))

    def _bucketed(self, drift: Drift) -> None:
        """Keys in buckets, clocks for norm classes."""
        from winnow.core.kernels.groups import WIDE, new_groups
        from winnow.lp.kernels.scalar_bucketed import CEILING, SCAN_WORK, Envelope, arrange_all, run
        from winnow.lp.kernels.scalar_clocks import SLOTS, Epochs

        epochs = Epochs.room(SLOTS, SLOTS, len(self._point.z))
        epochs.references[0, :] = self._point.z
        groups = new_groups(len(self._program.offsets), drift.cap, SLOTS, WIDE)
        self._state[CEILING] = arrange_all(drift.norm_class, groups)
        self._state[SCAN_WORK] = -(2**40)  # the first draw scans: one bound for all is too wide
        bounds, weights = np.zeros(len(groups.counts), np.int64), np.zeros(SLOTS, np.int64)
        envelope = Envelope(bounds, weights, self._reach)
        self._run, self._records = run, (drift, epochs, groups, envelope)

    def _quantised(self, drift: Drift) -> None:
        """Blocks of quantised rows. Dense rows only."""
        from winnow.lp.kernels.scalar_blocks import Codes, RowBlocks
        from winnow.lp.kernels.scalar_clocks import Epochs
        from winnow.lp.kernels.scalar_quantised import BlockEnvelope, run

        classes, simplex = len(drift.rate2), len(self._point.z)
        blocks = RowBlocks.room(len(self._program.offsets), classes)
        codes = Codes.room(len(blocks.order), self._shapes.rows.width, simplex)
        envelope = BlockEnvelope.room(len(blocks.order), classes, self._reach)
        self._run = run
        self._records = (drift, Epochs.room(1, classes, simplex), blocks, codes, envelope)

    def finish(self, words: TapeWords) -> Floats:
        """All rounds; the mean of the simplex points that rows were selected against."""
        state, point = self._state, self._point

        def loop(buffer: Words, place: int) -> tuple[int, int]:
            return self._run(self._program, point, *self._records, buffer, place, state)

        while state[ROUND] < state[ROUNDS]:
            if run_on(loop, words, state, lambda _: self._rate) == NEXT_STAGE:
                self._next_stage()
        return np.asarray(point.total / point.total.sum())


def words_for(tape: Tape, rounds: int) -> TapeWords:
    """A cursor with a buffer for as many rounds."""
    return TapeWords(tape, min(_WORDS, 64 + 8 * rounds))


def is_small(rows: int, simplex: int, rounds: int) -> bool:
    """Whether compiling would take longer than the rounds: a public rule."""
    return rows * simplex <= _PLAIN_ENTRIES and rounds <= _PLAIN_ROUNDS


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
    """Rounds without compiled code: the mean of the simplex points, and the selected rows.

    Their law is that of the compiled ones.

    It comes from another part of the tape: every row is scored in every round and the exponential
    mechanism is drawn by its Gumbel maximum.
    """
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
