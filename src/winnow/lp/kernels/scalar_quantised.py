"""The rounds of the scalar-private solver while few rows matter, but other ones all the time.

Where a step of the point moves exponents by several nats, bounds that only know how far the point
has moved are soon worth nothing. Here a round reads the blocks of ``scalar_blocks`` from the top
until the rest is unlikely, which gives every row in them a bound of its own within a fraction of a
nat, and proposes from all of them and from the blocks below as wholes (``envelope``; which blocks
are read does not change the law). A run that has settled near a point stays near its reference, so
that one scan of all rows serves hundreds of rounds.

All rows are scored again when what rounds took beyond the least has cost as much as that, or 2^n
times as much where the last n scans did not help; and when the proposals of one draw alone have
cost as much.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from winnow.core.kernels.compiled import bare, compiled_bare, inlined
from winnow.core.kernels.draw_state import (
    ACCEPTED,
    BEGIN,
    DONE,
    DRAWING,
    EVALUATIONS,
    PHASE,
    SCAN,
    TOP,
    TOTAL,
)
from winnow.core.kernels.envelope import raised
from winnow.core.kernels.rejection import Sampler
from winnow.lp.kernels.scalar_blocks import (
    BLOCK,
    Codes,
    RowBlocks,
    bound_rows,
    quantise,
    set_direction,
    sort_rows,
)
from winnow.lp.kernels.scalar_clocks import Epochs, set_clocks, start_epoch
from winnow.lp.kernels.scalar_point import finish_round, row_score
from winnow.lp.kernels.scalar_program import (
    PROPOSALS,
    ROUND,
    ROUNDS,
    STAGE,
    Floats,
    Integers,
    ScalarProgram,
)

if TYPE_CHECKING:
    from winnow.lp.kernels.scalar_solver import Drift

BASE, SCAN_ROUND, WORK, LEAST, USUAL, IDLE, LOG_WEIGHT, TRIES = range(STAGE, STAGE + 8)
"""What bounds are relative to; the round of the last scan; the work since, in rows that were read;
the least of a round, or an eighth of all rows; what a round took before the last scan; how many
scans in a row did not help; the weight of the rows that were read as a power of 2; the proposals of
this draw."""

_DEPTHS = 128
_MOST_IDLE = 4
_SCANNED = 24  # what a row costs in a scan, in rows that are read
_PROPOSAL = 128
_CLEAR = 24  # in units of ln 2, more than the number of rows weighs
_UNKNOWN = -(2**40)


class BlockEnvelope(NamedTuple):
    """What rows are proposed by: row by row in blocks that were read, else block by block."""

    unread: Integers
    """Of each class, the first block that was not read in this round."""
    bounds: NDArray[np.int32]
    """Of each row of a block that was read, less the base, a whole number of ln 2."""
    highest: NDArray[np.int32]
    """The largest bound of a block that was read."""
    weights: Integers
    """Of each block."""
    by_depth: Floats
    """Workspace: rows by how far their bound is below the largest."""
    reach: int
    """Bounds are raised to this far below the largest, so that all weights fit."""

    @classmethod
    def room(cls, blocks: int, classes: int, reach: int) -> BlockEnvelope:
        """For so many blocks."""
        return cls(
            np.zeros(classes, np.int64), np.zeros((blocks, BLOCK), np.int32),
            np.zeros(blocks, np.int32), np.zeros(blocks, np.int64), np.zeros(_DEPTHS), reach,
        )  # fmt: skip

    def __repr__(self) -> str:
        return "<weights of proposals>"


@bare
def _log2(weight):  # type: ignore[no-untyped-def]
    """The whole part."""
    power = np.int64(0)
    while weight > 1:
        weight >>= 1
        power += 1
    return power


@bare
def _block_bound(top, clock, base):  # type: ignore[no-untyped-def]
    """The bound of a block that is not read, less `base`."""
    return np.int64(max(np.ceil(raised(top + clock)) - base, -(2.0**30)))


@bare
def _depth(weight, base, blocks, clocks, envelope):  # type: ignore[no-untyped-def]
    """(depth, cost, cost now): read the blocks with bounds less than `depth` below the largest.

    The cost is of the rows to read, and of proposals from the rest where all rows have 2^weight.
    """
    rows, first = envelope.by_depth, blocks.first
    rows[:] = 0.0
    for c in range(first.shape[0] - 1):
        for b in range(envelope.unread[c], first[c + 1]):
            k = min(-_block_bound(blocks.tops[b], clocks[c], base), rows.shape[0] - 1)
            rows[k] += blocks.sizes[b]
    rest, read = 0.0, 0.0
    for k in range(rows.shape[0]):
        read += rows[k]
    least, depth = read, np.int64(2**40)
    each = _PROPOSAL * 2.0 ** min(np.float64(-weight), 900.0)
    for k in range(rows.shape[0] - 1, -1, -1):
        read -= rows[k]
        rest += rows[k] * 2.0**-k
        cost = read + each * rest
        if cost < least:
            least, depth = cost, np.int64(k)
    return depth, least, each * rest


@bare
def _read_blocks(depth, base, step, dense, blocks, codes, clocks, envelope):  # type: ignore[no-untyped-def]
    """Read the blocks whose bound is less than `depth` below the largest; returns how many."""
    count = np.int64(0)
    for c in range(blocks.first.shape[0] - 1):
        b = envelope.unread[c]
        while b < blocks.first[c + 1]:
            limit = _block_bound(blocks.tops[b], clocks[c], base)
            if -limit >= depth:
                break
            if codes.ready[b] == 0:
                quantise(b, dense, blocks, codes)
            envelope.highest[b] = bound_rows(
                b, codes, step, np.float64(limit), base, envelope.bounds
            )
            b += 1
            count += 1
        envelope.unread[c] = b
    return count


@bare
def _weigh(base, blocks, clocks, envelope):  # type: ignore[no-untyped-def]
    """(largest bound, total weight, power of 2 that the rows that were read weigh at least)."""
    first, unread, weights = blocks.first, envelope.unread, envelope.weights
    top, known = np.int64(-(2**31)), np.int64(-(2**31))
    for c in range(first.shape[0] - 1):
        for b in range(first[c], unread[c]):
            known = max(known, np.int64(envelope.highest[b]))
    top = known
    for c in range(first.shape[0] - 1):
        if unread[c] < first[c + 1]:
            top = max(top, _block_bound(blocks.tops[unread[c]], clocks[c], base))
    lowest = top - envelope.reach
    seen, unseen = np.int64(0), np.int64(0)
    for c in range(first.shape[0] - 1):
        for b in range(first[c], unread[c]):
            weight = np.int64(0)
            for r in range(blocks.sizes[b]):
                weight += np.int64(1) << max(np.int64(envelope.bounds[b, r]) - lowest, np.int64(0))
            weights[b] = weight
            seen += weight
        for b in range(unread[c], first[c + 1]):
            shift = max(_block_bound(blocks.tops[b], clocks[c], base) - lowest, np.int64(0))
            weights[b] = np.int64(blocks.sizes[b]) << shift
            unseen += weights[b]
    if known - lowest > _CLEAR:  # rows that were raised to the lowest weight do not count
        known = lowest + _log2(seen)
    return top, seen + unseen, known


@bare
def _scan(program, point, drift, epochs, blocks, codes, state):  # type: ignore[no-untyped-def]
    """Score all rows and sort them; the present point is the reference."""
    usual = state[WORK] // max(state[ROUND] - state[SCAN_ROUND], 1)
    idle = 4 * usual > 3 * state[USUAL]
    state[IDLE] = min(state[IDLE] + 1, _MOST_IDLE) if idle else 0
    state[USUAL] = usual
    sort_rows(program, point.x, drift, blocks)
    codes.ready[:] = 0
    start_epoch(epochs, 0, point.z, drift)
    for j in range(point.x.shape[0]):
        codes.reference[j] = point.x[j]
    size = program.offsets.shape[0]
    state[SCAN_ROUND], state[WORK], state[LEAST] = state[ROUND], 0, size // 8
    state[LOG_WEIGHT] = _UNKNOWN


@bare
def _begin(program, point, drift, epochs, blocks, codes, envelope, state):  # type: ignore[no-untyped-def]
    """Read the blocks that matter in this round, and set the weights of all."""
    clocks, first = epochs.clocks, blocks.first
    set_clocks(epochs, 0, point.z, drift)
    longest, error = set_direction(point.x, codes)
    rounding = drift.slack if longest > 0.0 else 0.0  # the same point: the same scores
    step = (longest * program.per_step * drift.per_unit, error, rounding)
    highest = -np.inf
    for c in range(first.shape[0] - 1):
        envelope.unread[c] = first[c]
        if first[c] < first[c + 1]:
            highest = max(highest, raised(blocks.tops[first[c]] + clocks[c]))
    base = np.ceil(highest)
    weight = state[LOG_WEIGHT] - np.int64(base)
    if state[LOG_WEIGHT] == _UNKNOWN:
        weight = np.int64(0)
    read, top, total = np.int64(0), np.int64(0), np.int64(0)
    while True:
        depth, cost, now = _depth(weight, base, blocks, clocks, envelope)
        if read > 0 and 2.0 * cost >= now:
            break
        read += _read_blocks(
            max(depth, 1), base, step, program.matrix.dense, blocks, codes, clocks, envelope
        )
        top, total, weight = _weigh(base, blocks, clocks, envelope)
    state[TOP], state[TOTAL], state[BASE] = top, total, np.int64(base)
    state[LOG_WEIGHT] = weight + np.int64(base)
    state[WORK] += read * BLOCK
    if state[ROUND] > state[SCAN_ROUND]:  # the round of the scan itself is no measure
        state[LEAST] = min(state[LEAST], read * BLOCK)
    state[PHASE], state[TRIES] = DRAWING, 0


@bare
def _propose(target, base, lowest, blocks, clocks, envelope):  # type: ignore[no-untyped-def]
    """(row, how far its bound is above the lowest) at a place below the total weight."""
    b = np.int64(0)
    while target >= envelope.weights[b]:
        target -= envelope.weights[b]
        b += 1
    c = 0
    while b >= blocks.first[c + 1]:
        c += 1
    if b < envelope.unread[c]:
        r = np.int64(0)
        while True:
            shift = max(np.int64(envelope.bounds[b, r]) - lowest, np.int64(0))
            if target < np.int64(1) << shift:
                break
            target -= np.int64(1) << shift
            r += 1
    else:
        shift = max(_block_bound(blocks.tops[b], clocks[c], base) - lowest, np.int64(0))
        r = target >> shift
    return np.int64(blocks.order[b, r]), shift


class Quantised(NamedTuple):
    """All that a draw looks at."""

    program: ScalarProgram
    drift: Drift
    epochs: Epochs
    blocks: RowBlocks
    codes: Codes
    envelope: BlockEnvelope


@inlined
def _scan_work(records):  # type: ignore[no-untyped-def]
    """What a scan costs, in rows that are read."""
    return _SCANNED * records.program.offsets.shape[0]


@inlined
def _started(records, point, state):  # type: ignore[no-untyped-def]
    """Scan again if that pays, and read the blocks that matter."""
    program, drift, epochs, blocks = records.program, records.drift, records.epochs, records.blocks
    spent = state[WORK] - (state[ROUND] - state[SCAN_ROUND]) * state[LEAST]
    scanned = _scan_work(records)
    if blocks.first[drift.rate2.shape[0]] == 0 or spent > (scanned << state[IDLE]) + 4096:
        _scan(program, point, drift, epochs, blocks, records.codes, state)
    _begin(program, point, drift, epochs, blocks, records.codes, records.envelope, state)


@inlined
def _enough(records, point, state):  # type: ignore[no-untyped-def]
    """Whether the last scan is too far away."""
    return _PROPOSAL * state[TRIES] > _scan_work(records) + 4096


@inlined
def _proposed(records, target, state):  # type: ignore[no-untyped-def]
    state[PROPOSALS] += 1
    lowest = state[TOP] - records.envelope.reach
    i, shift = _propose(
        target,
        np.float64(state[BASE]),
        lowest,
        records.blocks,
        records.epochs.clocks,
        records.envelope,
    )
    return 0, i, lowest + shift + state[BASE]


@inlined
def _scored(records, point, i, state):  # type: ignore[no-untyped-def]
    state[EVALUATIONS] += 1
    return row_score(i, records.program, point.x)


@inlined
def _beyond(records, group, i, score, bound, state):  # type: ignore[no-untyped-def]
    exponent = np.float64(score) * records.drift.per_unit
    return exponent + abs(exponent) * 2.0**-46 > raised(np.float64(bound))


@inlined
def _beta(records, i):  # type: ignore[no-untyped-def]
    return records.program.beta


@inlined
def _looked_at(records, point, group, i, score, verdict, state):  # type: ignore[no-untyped-def]
    state[WORK] += _PROPOSAL
    state[TRIES] += 1


_one = Sampler(
    begin=_started,
    propose=_proposed,
    score_of=_scored,
    looked_at=_looked_at,
    enough=_enough,
    beyond=_beyond,
    beta=_beta,
    signed=False,
).compiled()


def _run(  # type: ignore[no-untyped-def]
    program, point, drift, epochs, blocks, codes, envelope, words, place, state
):
    """Rounds, as far as the words and the filter reach: (status, next unused word)."""
    records = Quantised(program, drift, epochs, blocks, codes, envelope)
    while state[ROUND] < state[ROUNDS]:
        if state[PHASE] == ACCEPTED:
            finish_round(program, point, state)
            continue
        status, place = _one(records, point, words, place, state)
        if status == SCAN:
            state[PHASE], state[TRIES], blocks.first[drift.rate2.shape[0]] = BEGIN, 0, 0
            continue
        if status != DONE:
            return status, place
        state[PHASE] = ACCEPTED
    return DONE, place


run = compiled_bare(_run)
