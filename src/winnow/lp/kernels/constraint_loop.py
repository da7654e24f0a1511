"""The compiled loop of the scalar-private solver: select a row, move the point, go on.

A round draws row i with probability ~ exp(beta s_i), s_i the rounded A_i x minus b_i in whole
steps, by proposals under certified bounds (``envelope``; which rows are looked at does not change
the law), then multiplies z_j by exp(-step v_ij) and normalises. The loop leaves only when it needs
more words of the tape, or when a comparison is too close for the float filter.

State, an int64 array: 0 phase (0 a round begins, 1 drawing, 2 a row was accepted), 1 largest
bound, 2 total weight, 3 ceiling of the buckets, 4 all evaluations, 5 row, 7 bound, 8 score, 9 place
of the acceptance word, 10 current epoch, 11 whether the loop may leave for ``constraint_watch``, 12
the work before the last scan and 13 its round, 14 the largest exponent found above all buckets, or
0, 16 rounds done, 17 rounds to do, 18 scans in a row that came soon, 19 whether this draw had a
scan, 20 scans, 21 proposals, 22 rows carried to another epoch.

All rows are looked at again when the work since the last time has cost as much as that: where the
cost of a round grows with the distance from the last scan, that is the best interval.
"""

from __future__ import annotations

import numpy as np

from winnow.core.kernels.compiled import compiled, helper
from winnow.core.kernels.envelope import (
    ACCEPT,
    DONE,
    LN2,
    NEED_WORDS,
    REJECT,
    SCAN,
    UNDECIDED,
    VIOLATED,
    below,
    decide,
    raised,
    surely_rejected,
)
from winnow.lp.kernels.constraint_clocks import begin_round, set_clocks
from winnow.lp.kernels.constraint_groups import (
    BUCKETS,
    SLOTS,
    arrange,
    group_for,
    member,
    renew_limit,
    set_key,
)
from winnow.lp.kernels.constraint_point import move
from winnow.lp.kernels.constraint_rows import row_value

_PATIENCE = 0.25  # in units of ln 2: how far a reference may be away to set keys by it
_FALLEN = 12  # in units of ln 2: how far bounds may fall before weights are taken anew
_PROPOSAL, _EVALUATION, _CARRIED = 2, 6, 6
_SOON = 24  # rounds between two scans, below which reading the likely rows in each costs less
_OFTEN = 2
_SCANNED = 1  # for each row: what a scan costs, in the same units of about 40 ns


@helper
def _score(i, dense, starts, columns, values, point, per_step, offsets):  # type: ignore[no-untyped-def]
    """The value of row i in whole steps, minus its offset."""
    value = row_value(i, dense, starts, columns, values, point)
    return np.int64(np.rint(value * per_step)) - offsets[i]


@helper
def _work(state):  # type: ignore[no-untyped-def]
    return _PROPOSAL * state[21] + _EVALUATION * state[4] + _CARRIED * state[22]


@helper
def _bound(limit, clock, cap):  # type: ignore[no-untyped-def]
    """The whole bound of a group."""
    return np.int64(np.ceil(min(raised(np.float64(limit) + clock), cap)))


@helper
def _weigh(clocks, cap, limit, count, members, spans, bounds, weights, reach, state):  # type: ignore[no-untyped-def]
    """The bound of each group, and the weights of slots relative to the largest bound."""
    top = np.int64(-(2**40))
    for slot in range(SLOTS):
        if members[slot] > 0:
            while count[slot * BUCKETS + spans[slot, 1]] == 0:
                spans[slot, 1] -= 1
            while count[slot * BUCKETS + spans[slot, 0]] == 0:
                spans[slot, 0] += 1
            for g in range(slot * BUCKETS + spans[slot, 0], slot * BUCKETS + spans[slot, 1] + 1):
                if count[g] > 0:
                    bounds[g] = _bound(limit[g], clocks[slot], cap)
                    top = max(top, bounds[g])
    total = np.int64(0)
    for slot in range(SLOTS):
        weights[slot] = 0
        if members[slot] > 0:
            for g in range(slot * BUCKETS + spans[slot, 0], slot * BUCKETS + spans[slot, 1] + 1):
                if count[g] > 0:
                    bounds[g] = max(bounds[g], top - reach)
                    weights[slot] += count[g] << (bounds[g] - top + reach)
        total += weights[slot]
    state[1], state[2] = top, total


@helper
def _scan(  # type: ignore[no-untyped-def]
    dense, starts, columns, values, offsets, per_step, per_unit, kinds, z, point, rate2, rate1,
    slack, references, clocks, keys, group, limit, pool, table, where, count, members, spans, free,
    state,
):  # fmt: skip
    """Look at all rows: one new epoch."""
    references[0, :] = z
    set_clocks(z, references[0], 0, rate2, rate1, slack, clocks)
    top = np.int64(-(2**40))
    if dense.shape[0] > 0:  # the sums of row_value, written out: it is what takes the time
        for i in range(offsets.shape[0]):
            value = 0.0
            for j in range(dense.shape[1]):
                value += dense[i, j] * point[j]
            keys[i] = value
    else:
        for i in range(offsets.shape[0]):
            keys[i] = row_value(i, dense, starts, columns, values, point)
    for i in range(offsets.shape[0]):
        score = np.float64(np.int64(np.rint(keys[i] * per_step)) - offsets[i])
        c = np.int64(kinds[i])
        keys[i] = raised(score * per_unit + abs(score) * per_unit * 2.0**-46 + clocks[c])
        group[i] = c * BUCKETS
        top = max(top, np.int64(np.ceil(keys[i])))
    state[3] = arrange(keys, top, group, limit, pool, table, where, count, members, spans, free)
    state[14] = 0
    state[10] = 0
    state[20] += 1


def _run(  # type: ignore[no-untyped-def]
    dense, starts, columns, values, offsets, scale, step, per_step, beta, per_unit, kinds, logs, z,
    point, total, chosen, rate2, rate1, slack, references, clocks, cap, keys, group, limit, pool,
    table, where, count, members, spans, free, bounds, weights, reach,
    words, place, state,
):  # fmt: skip
    """Rounds, as far as the words and the filter reach: (status, next unused word)."""
    size = offsets.shape[0]
    classes = rate2.shape[0]
    while state[16] < state[17]:
        if state[0] == 2:
            chosen[state[16]] = state[5]
            move(state[5], dense, starts, columns, values, scale, step, logs, z, point, total)
            state[16] += 1
            state[0] = 0
            continue
        if state[0] == 0:
            if state[14] > 0:  # scores have outgrown the buckets
                state[3] = arrange(
                    keys, state[14], group, limit, pool, table, where, count, members, spans, free
                )
                state[14] = 0
            begin_round(
                z, references, clocks, rate2, rate1, slack, _PATIENCE, cap, keys, group, limit,
                pool, table, where, count, members, spans, free, state,
            )  # fmt: skip
            state[19] = 0
            _weigh(clocks, cap, limit, count, members, spans, bounds, weights, reach, state)
            state[0] = 1
        if state[19] == 0 and _work(state) - state[12] > _SCANNED * size + 4096:
            state[18] = state[18] + 1 if state[20] > 0 and state[16] - state[13] < _SOON else 0
            if state[11] > 0 and state[18] > _OFTEN:
                state[0] = 0
                return SCAN, place
            _scan(
                dense, starts, columns, values, offsets, per_step, per_unit, kinds, z, point,
                rate2, rate1, slack, references, clocks, keys, group, limit, pool, table, where,
                count, members, spans, free, state,
            )  # fmt: skip
            state[12], state[13] = _work(state), state[16]
            state[19] = 1
            _weigh(clocks, cap, limit, count, members, spans, bounds, weights, reach, state)
        lowest = state[1] - reach
        target, after = below(state[2], words, place)
        if target < 0 or after >= words.shape[0]:
            return NEED_WORDS, place
        state[21] += 1
        slot = 0
        while target >= weights[slot]:
            target -= weights[slot]
            slot += 1
        g = slot * BUCKETS + spans[slot, 1]
        while True:
            weight = np.int64(0)
            if count[g] > 0:
                weight = count[g] << (bounds[g] - lowest)
            if target < weight:
                break
            target -= weight
            g -= 1
        bound = bounds[g]
        i = member(g, target >> (bound - lowest), pool, table)
        own = min(raised(keys[i] + clocks[slot]), cap)
        word = words[after]
        if surely_rejected(word, (own - np.float64(bound)) * LN2):
            place = after + 1
            if g % BUCKETS == BUCKETS - 1 and own < limit[g] + clocks[slot] - 2.0:
                renew_limit(g, state[3], keys, limit, pool, table, count)
                _weigh(clocks, cap, limit, count, members, spans, bounds, weights, reach, state)
            continue
        score = _score(i, dense, starts, columns, values, point, per_step, offsets)
        state[4] += 1
        exponent = np.float64(score) * per_unit
        exponent += abs(exponent) * 2.0**-46
        if exponent > raised(own):
            return VIOLATED, place
        verdict = decide(word, score, beta, bound)
        place = after + 1
        if exponent > np.float64(state[3]):
            state[14] = max(state[14], np.int64(np.ceil(exponent)))
        to = state[10] * classes + np.int64(kinds[i])
        key = min(raised(exponent + clocks[to]), cap)
        new = group_for(key, to, state[3])
        after_move = _bound(max(limit[new], np.int64(np.ceil(key))), clocks[to], cap)
        if key + clocks[to] < own and after_move <= bound:
            set_key(
                i, key, to, state[3], keys, group, limit, pool, table, where, count, members,
                spans, free,
            )  # fmt: skip
            if count[new] == 1:
                bounds[new] = max(after_move, lowest)
            if after_move > bounds[new]:
                _weigh(clocks, cap, limit, count, members, spans, bounds, weights, reach, state)
            else:
                weights[to] += np.int64(1) << (bounds[new] - lowest)
                weights[slot] -= np.int64(1) << (bound - lowest)
                state[2] += np.int64(1) << (bounds[new] - lowest)
                state[2] -= np.int64(1) << (bound - lowest)
                if state[2] < np.int64(1) << (reach - _FALLEN):  # the largest bounds are gone
                    _weigh(clocks, cap, limit, count, members, spans, bounds, weights, reach, state)
        if verdict != REJECT:
            state[5], state[7], state[8], state[9] = i, bound, score, after
            if verdict != ACCEPT:
                return UNDECIDED, place
            state[0] = 2
    return DONE, place


def _arrange_all(keys, kinds, group, limit, pool, table, where, count, members, spans, free):  # type: ignore[no-untyped-def]
    """Put all rows in the first epoch by the keys that they have."""
    top = np.int64(np.ceil(keys.max()))
    for i in range(kinds.shape[0]):
        group[i] = np.int64(kinds[i]) * BUCKETS
    return arrange(keys, top, group, limit, pool, table, where, count, members, spans, free)


run = compiled(_run)
arrange_all = compiled(_arrange_all)
