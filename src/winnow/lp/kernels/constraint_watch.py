"""The rounds of the scalar-private solver while few rows matter, but other ones all the time.

Where a step of the point moves exponents by several nats, bounds that only know how far the point
has moved are soon worth nothing. Here a round reads the blocks of ``constraint_ladder`` from the
top until the rest is unlikely, which gives every row in them a bound of its own within a fraction
of a nat, and proposes from all of them and from the blocks below as wholes (``envelope``; which
blocks are read does not change the law). A run that has settled near a point stays near its
reference, so that one look at all rows serves hundreds of rounds.

State, beside what ``constraint_loop`` has: 6 what bounds are relative to, 12 the round of the last
look at all rows, 13 the work since, in rows that were read, 15 the least of a round, or an eighth
of all, 18 the weight of the rows that were read as a power of 2, 19 what a round took before the
last look. All rows are looked at again when what rounds took beyond the least has cost as much,
or 2^n times as much where the last n looks did not help: 14 is n; and when the proposals of one
draw alone, 23 in number, have cost as much.
"""

from __future__ import annotations

import numpy as np

from winnow.core.kernels.compiled import bare, compiled
from winnow.core.kernels.envelope import (
    ACCEPT,
    DONE,
    NEED_WORDS,
    REJECT,
    UNDECIDED,
    VIOLATED,
    below,
    decide,
    raised,
)
from winnow.lp.kernels.constraint_clocks import set_clocks
from winnow.lp.kernels.constraint_ladder import BLOCK, climb, direction, encode, read
from winnow.lp.kernels.constraint_point import move
from winnow.lp.kernels.constraint_rows import row_value

DEPTHS = 128
_TWICE = 4
_LOOK = 24  # what a row costs when all are looked at, in rows that are read
_PROPOSAL = 128
_CLEAR = 24  # in units of ln 2, more than the number of rows weighs
_UNKNOWN = -(2**40)


@bare
def _log2(weight):  # type: ignore[no-untyped-def]
    """The whole part."""
    found = np.int64(0)
    while weight > 1:
        weight >>= 1
        found += 1
    return found


@bare
def _whole(top, clock, base):  # type: ignore[no-untyped-def]
    """The bound of a block that is not read, less `base`."""
    return np.int64(max(np.ceil(raised(top + clock)) - base, -(2.0**30)))


@bare
def _depth(  # type: ignore[no-untyped-def]
    weight, base, held, tops, first, next_block, clocks, rows
):
    """(depth, cost, cost now): read the blocks with bounds less than `depth` below the largest.

    The cost is of the rows to read, and of proposals from the rest where all rows have 2^weight.
    """
    rows[:] = 0.0
    for c in range(first.shape[0] - 1):
        for b in range(next_block[c], first[c + 1]):
            k = min(-_whole(tops[b], clocks[c], base), rows.shape[0] - 1)
            rows[k] += held[b]
    rest, read_all = 0.0, 0.0
    for k in range(rows.shape[0]):
        read_all += rows[k]
    least, depth = read_all, np.int64(2**40)
    each = _PROPOSAL * 2.0 ** min(np.float64(-weight), 900.0)
    for k in range(rows.shape[0] - 1, -1, -1):
        read_all -= rows[k]
        rest += rows[k] * 2.0**-k
        cost = read_all + each * rest
        if cost < least:
            least, depth = cost, np.int64(k)
    return depth, least, each * rest


@bare
def _read_down(  # type: ignore[no-untyped-def]
    depth, base, speed, error, slack, dense, keys, order, held, tops, ready, first, next_block,
    clocks, codes, ahead, units, near, sums, found, best,
):  # fmt: skip
    """Read the blocks whose bound is less than `depth` below the largest; returns how many."""
    count = np.int64(0)
    for c in range(first.shape[0] - 1):
        b = next_block[c]
        while b < first[c + 1]:
            limit = _whole(tops[b], clocks[c], base)
            if -limit >= depth:
                break
            if ready[b] == 0:
                encode(b, dense, keys, order, held, codes, units, near)
                ready[b] = 1
            best[b] = read(
                b, np.float64(limit), base, speed, error, slack, codes, ahead, units, near, sums,
                found,
            )  # fmt: skip
            b += 1
            count += 1
        next_block[c] = b
    return count


@bare
def _weigh(  # type: ignore[no-untyped-def]
    base, reach, held, tops, first, next_block, clocks, found, best, weights
):
    """(largest bound, total weight, power of 2 that the rows that were read weigh at least)."""
    top, known = np.int64(-(2**31)), np.int64(-(2**31))
    for c in range(first.shape[0] - 1):
        for b in range(first[c], next_block[c]):
            known = max(known, np.int64(best[b]))
    top = known
    for c in range(first.shape[0] - 1):
        if next_block[c] < first[c + 1]:
            top = max(top, _whole(tops[next_block[c]], clocks[c], base))
    lowest = top - reach
    seen, unseen = np.int64(0), np.int64(0)
    for c in range(first.shape[0] - 1):
        for b in range(first[c], next_block[c]):
            weight = np.int64(0)
            for r in range(held[b]):
                weight += np.int64(1) << max(np.int64(found[b, r]) - lowest, np.int64(0))
            weights[b] = weight
            seen += weight
        for b in range(next_block[c], first[c + 1]):
            shift = max(_whole(tops[b], clocks[c], base) - lowest, np.int64(0))
            weights[b] = np.int64(held[b]) << shift
            unseen += weights[b]
    if known - lowest > _CLEAR:  # rows that were raised to the lowest weight do not count
        known = lowest + _log2(seen)
    return top, seen + unseen, known


def _run_watched(  # type: ignore[no-untyped-def]
    dense, starts, columns, values, offsets, scale, step, per_step, beta, per_unit, kinds, logs, z,
    point, total, chosen, rate2, rate1, slack, references, clocks, keys, counts, order, held, tops,
    ready, first, next_block, codes, ahead, units, near, sums, found, best, weights, rows,
    reach, words, place, state,
):  # fmt: skip
    """Rounds, as far as the words and the filter reach: (status, next unused word)."""
    size, classes = offsets.shape[0], rate2.shape[0]
    while state[16] < state[17]:
        if state[0] == 2:
            chosen[state[16]] = state[5]
            move(state[5], dense, starts, columns, values, scale, step, logs, z, point, total)
            state[16] += 1
            state[0] = 0
            continue
        if _PROPOSAL * state[23] > _LOOK * size + 4096:  # too far from the last look: look again
            state[0], state[23], first[classes] = 0, 0, 0
        if state[0] == 0:
            rounds = state[16] - state[12]
            spent = state[13] - rounds * state[15]
            if first[classes] == 0 or spent > (_LOOK << state[14]) * size + 4096:
                usual = state[13] // max(rounds, 1)
                state[14] = min(state[14] + 1, _TWICE) if 4 * usual > 3 * state[19] else 0
                state[19] = usual
                climb(
                    dense, offsets, per_step, per_unit, kinds, point, keys, counts, order, held,
                    tops, ready, first,
                )  # fmt: skip
                references[0, :] = z
                references[1, :] = point
                state[12], state[13], state[15], state[18] = state[16], 0, size // 8, _UNKNOWN
                state[20] += 1
            set_clocks(z, references[0], 0, rate2, rate1, slack, clocks)
            longest, error = direction(point, references[1], ahead)
            rounding = slack if longest > 0.0 else 0.0  # the same point: the same scores
            highest = -np.inf
            for c in range(classes):
                next_block[c] = first[c]
                if first[c] < first[c + 1]:
                    highest = max(highest, raised(tops[first[c]] + clocks[c]))
            base = np.ceil(highest)
            weight = state[18] - np.int64(base)
            if state[18] == _UNKNOWN:
                weight = np.int64(0)
            blocks, top, everything = np.int64(0), np.int64(0), np.int64(0)
            while True:
                depth, cost, now = _depth(weight, base, held, tops, first, next_block, clocks, rows)
                if blocks > 0 and 2.0 * cost >= now:
                    break
                blocks += _read_down(
                    max(depth, 1), base, longest * per_step * per_unit, error, rounding, dense,
                    keys, order, held, tops, ready, first, next_block, clocks, codes, ahead, units,
                    near, sums, found, best,
                )  # fmt: skip
                top, everything, weight = _weigh(
                    base, reach, held, tops, first, next_block, clocks, found, best, weights
                )
            state[1], state[2], state[6] = top, everything, np.int64(base)
            state[18] = weight + np.int64(base)
            state[13] += blocks * BLOCK
            state[22] += blocks * BLOCK
            if state[16] > state[12]:  # the round of the look itself is no measure
                state[15] = min(state[15], blocks * BLOCK)
            state[0], state[23] = 1, 0
        lowest = state[1] - reach
        target, after = below(state[2], words, place)
        if target < 0 or after >= words.shape[0]:
            return NEED_WORDS, place
        state[21] += 1
        b = np.int64(0)
        while target >= weights[b]:
            target -= weights[b]
            b += 1
        c = 0
        while b >= first[c + 1]:
            c += 1
        if b < next_block[c]:
            r = np.int64(0)
            while True:
                shift = max(np.int64(found[b, r]) - lowest, np.int64(0))
                if target < np.int64(1) << shift:
                    break
                target -= np.int64(1) << shift
                r += 1
        else:
            shift = max(_whole(tops[b], clocks[c], np.float64(state[6])) - lowest, np.int64(0))
            r = target >> shift
        i = np.int64(order[b, r])
        bound = lowest + shift + state[6]
        value = row_value(i, dense, starts, columns, values, point)
        score = np.int64(np.rint(value * per_step)) - offsets[i]
        state[4] += 1
        exponent = np.float64(score) * per_unit
        exponent += abs(exponent) * 2.0**-46
        if exponent > raised(np.float64(bound)):
            return VIOLATED, place
        verdict = decide(words[after], score, beta, bound)
        place = after + 1
        state[13] += _PROPOSAL
        state[23] += 1
        if verdict != REJECT:
            state[5], state[7], state[8], state[9] = i, bound, score, after
            if verdict != ACCEPT:
                return UNDECIDED, place
            state[0] = 2
    return DONE, place


run_watched = compiled(_run_watched)
