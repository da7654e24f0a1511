"""Compiled draws over queries that are costly to evaluate: keys, epochs and clocks.

Exponents are counted in units of ln 2 here. When candidate i was evaluated, its |exponent| was
k; its key is k plus the clock of the current epoch then, and at any later time

    |exponent_i| <= key_i + clock(e),      clock(e) = rate * D(present, reference of e),

because D(p, r) = max(sum (p - r)+, sum (r - p)+) bounds how far any sum of p over cells, with
values in [0, 1], lies from that of r, and is a distance. Weights are whole numbers, so this holds
exactly for dense queries; for maintained ones `slack` units cover the rounding of the tables.

Groups of candidates (``groups``) have a whole limit on their keys, so limit + clock, rounded
up, bounds all of them, and proposals cost as much as there are groups. A candidate's own bound
key + clock rejects many proposals without an evaluation. Evaluated candidates get a new key.

Too many evaluations in one draw: all candidates are evaluated (``scan``), which starts a single
new epoch, and the draw goes on. References that are too far away are replaced; when no slot is
free, the slot with the fewest candidates is merged into the nearest other.

State, an int64 array: 0 phase, 1 largest bound, 2 total weight, 3 base of the buckets, 4 all
evaluations, 5 candidate, 6 sign, 7 bound, 8 score, 9 place of the acceptance word, 10 current
slot, 11 evaluations in this draw, 12 evaluations allowed in it, 13 proposals allowed in it,
14 the largest exponent found above all buckets, or 0, 15 the last group with members.
"""

from __future__ import annotations

import numpy as np

from winnow.core.kernels.compiled import bare, compiled
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
from winnow.core.kernels.groups import (
    BUCKETS,
    SLOTS,
    arrange,
    group_for,
    member,
    merge,
    renew_limit,
    set_key,
)
from winnow.release.kernels.dense import masked_sum

STATE = 16


@bare
def _distance(p, r):  # type: ignore[no-untyped-def]
    """max(sum (p - r)+, sum (r - p)+) of whole weights."""
    apart, more = np.int64(0), np.int64(0)
    for x in range(p.shape[0]):
        step = np.int64(p[x]) - np.int64(r[x])
        apart += abs(step)
        more += step
    return (apart + abs(more)) // 2


@bare
def _score(i, answers, scale, counts, bits, values, whole):  # type: ignore[no-untyped-def]
    """Count minus answer in whole units: maintained queries first, then bits, then grids."""
    maintained = counts.shape[0] - bits.shape[0] - values.shape[0]
    if i < maintained:
        return counts[i] - np.int64(np.rint(answers[i] * scale))
    if i < maintained + bits.shape[0]:
        return counts[i] - masked_sum(bits[i - maintained], whole)
    row = values[i - maintained - bits.shape[0]]
    total = np.int64(0)
    for x in range(row.shape[0]):
        total += np.int64(row[x]) * np.int64(whole[x])
    return counts[i] - total


@bare
def _region(i, firsts):  # type: ignore[no-untyped-def]
    """Which of the regions with a grid of their own a candidate is in."""
    k = firsts.shape[0] - 1
    while i < firsts[k]:
        k -= 1
    return k


def _begin(  # type: ignore[no-untyped-def]
    whole, references, clocks, rate, slack, patience, cap, keys, group, limit, pool, table,
    where, count, members, free, state,
):  # fmt: skip
    """Read the clocks, and open a new epoch when the current one is old."""
    current = state[10]
    if state[14] > 0:  # scores have outgrown the buckets
        state[3] = arrange(keys, state[14], group, limit, pool, table, where, count, members, free)
        state[14] = 0
    for e in range(SLOTS):
        if members[e] > 0 or e == current:
            clocks[e] = raised((_distance(whole, references[e]) + slack) * rate)
    if clocks[current] - slack * rate <= patience:
        return
    if members[current] > 0:
        spare = -1
        for e in range(SLOTS):
            if members[e] == 0:
                spare = e
        if spare < 0:
            spare = 0 if current != 0 else 1
            for e in range(SLOTS):
                if e != current and members[e] < members[spare]:
                    spare = e
            nearest, shortest = -1, np.int64(0)
            for e in range(SLOTS):
                if e != spare:
                    apart = _distance(references[spare], references[e])
                    if nearest < 0 or apart < shortest:
                        nearest, shortest = e, apart
            merge(
                spare, nearest, raised((shortest + slack) * rate), cap, state[3], keys,
                group, limit, pool, table, where, count, members, free,
            )  # fmt: skip
        current = spare
    for g in range(current, BUCKETS * SLOTS, SLOTS):
        limit[g] = state[3] + g // SLOTS
    references[current, :] = whole
    clocks[current] = raised(slack * rate)
    state[10] = current


def _scan(  # type: ignore[no-untyped-def]
    answers, scale, counts, bits, values, whole, firsts, per_units, references, clocks, rate,
    slack, keys, group, limit, pool, table, where, count, members, free, state,
):  # fmt: skip
    """Evaluate all candidates: one new epoch."""
    references[0, :] = whole
    clocks[0] = raised(slack * rate)
    top = np.int64(-(2**40))
    binary = counts.shape[0] - bits.shape[0] - values.shape[0]
    for j in range(bits.shape[0]):  # apart from the others: it is what takes the time
        keys[binary + j] = np.float64(counts[binary + j] - masked_sum(bits[j], whole))
    for i in range(counts.shape[0]):
        if binary <= i < binary + bits.shape[0]:
            score = keys[i]
        else:
            score = np.float64(_score(i, answers, scale, counts, bits, values, whole))
        exponent = score * per_units[_region(i, firsts)]
        keys[i] = raised(abs(exponent) + clocks[0])
        group[i] = 0
        top = max(top, np.int64(np.ceil(keys[i])))
    state[3] = arrange(keys, top, group, limit, pool, table, where, count, members, free)
    state[14] = 0
    state[4] += counts.shape[0]
    state[10] = 0


def _arrange_all(  # type: ignore[no-untyped-def]
    keys, group, limit, pool, table, where, count, members, free
):
    """Put all candidates in the first slot by the keys that they have."""
    group[:] = 0
    top = np.int64(np.ceil(keys.max()))
    return arrange(keys, top, group, limit, pool, table, where, count, members, free)


@bare
def _bound(limit, clock, cap):  # type: ignore[no-untyped-def]
    """The whole bound of a group."""
    return np.int64(np.ceil(min(raised(np.float64(limit) + clock), cap)))


@bare
def _weigh(clocks, cap, limit, count, bounds, reach, state):  # type: ignore[no-untyped-def]
    """The bound of each group, and the total weight relative to the largest."""
    top = np.int64(-(2**40))
    for g in range(limit.shape[0]):
        if count[g] > 0:
            bounds[g] = _bound(limit[g], clocks[g % SLOTS], cap)
            top = max(top, bounds[g])
            state[15] = g
    total = np.int64(0)
    for g in range(limit.shape[0]):
        if count[g] > 0:
            bounds[g] = max(bounds[g], top - reach)
            total += count[g] << (bounds[g] - top + reach)
    state[1], state[2] = top, total


def _draw(  # type: ignore[no-untyped-def]
    answers, scale, counts, bits, values, whole, firsts, betas, per_units, clocks, cap, keys,
    group, limit, pool, table, where, count, members, free, bounds, reach, words, place, state,
):  # fmt: skip
    """One draw, or as far as the words and the filter reach: (status, next unused word)."""
    current = state[10]
    if state[0] == 0:
        _weigh(clocks, cap, limit, count, bounds, reach, state)
        state[0] = 1
    while True:
        if (
            state[11] >= state[12] or state[13] <= 0
        ):  # before the proposal is drawn: its bits stay unused
            return SCAN, place
        lowest = state[1] - reach
        value, after = below(2 * state[2], words, place)
        if value < 0 or after >= words.shape[0]:
            return NEED_WORDS, place
        state[13] -= 1
        target = value >> 1
        sign = 1 - 2 * (value & 1)
        g = state[15]
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
        own = min(raised(keys[i] + clocks[g % SLOTS]), cap)
        word = words[after]
        if surely_rejected(word, (own - np.float64(bound)) * LN2):
            place = after + 1
            if g >= limit.shape[0] - SLOTS and own < limit[g] + clocks[g % SLOTS] - 2.0:
                renew_limit(g, state[3], keys, limit, pool, table, count)
                _weigh(clocks, cap, limit, count, bounds, reach, state)
            continue
        k = _region(i, firsts)
        score = _score(i, answers, scale, counts, bits, values, whole)
        state[4] += 1
        state[11] += 1
        exponent = abs(np.float64(score) * per_units[k])
        if exponent > own:
            return VIOLATED, place
        verdict = decide(word, sign * score, betas[k], bound)
        place = after + 1
        if exponent > np.float64(state[3] + BUCKETS - 1):
            state[14] = max(state[14], np.int64(np.ceil(exponent)))
        key = min(raised(exponent + clocks[current]), cap)
        new = group_for(key, current, state[3])
        after_move = _bound(max(limit[new], np.int64(np.ceil(key))), clocks[current], cap)
        if key + clocks[current] < own and after_move <= bound:
            set_key(
                i, key, current, state[3], keys, group, limit, pool, table, where, count, members,
                free,
            )  # fmt: skip
            state[15] = max(state[15], new)
            emptied = count[g] == 0
            if count[new] == 1:
                bounds[new] = max(after_move, lowest)
            if after_move > bounds[new] or (emptied and bound >= state[1]):
                _weigh(clocks, cap, limit, count, bounds, reach, state)
            else:
                state[2] += np.int64(1) << (bounds[new] - lowest)
                state[2] -= np.int64(1) << (bound - lowest)
        if verdict != REJECT:
            state[5], state[6], state[7], state[8], state[9] = i, sign, bound, score, after
            return DONE if verdict == ACCEPT else UNDECIDED, place


arrange_all = compiled(_arrange_all)
begin = compiled(_begin)
scan = compiled(_scan)
draw = compiled(_draw)
