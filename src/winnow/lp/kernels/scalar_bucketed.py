"""The rounds of the scalar-private solver when rows have bounds of their own, kept in buckets.

A round draws row i with probability ~ exp(beta s_i), s_i the rounded A_i x minus b_i in whole
steps, by proposals under certified bounds (``envelope``; which rows are evaluated does not change
the law). A row's bound is its key plus a clock (``scalar_clocks``); rows are proposed group by
group (``groups``). The loop leaves only when it needs more words of the tape, or when a comparison
is too close for the float filter, or for ``scalar_quantised``.

All rows are scored again when the work since the last time has cost as much as that: where the
cost of a round grows with the distance from the last scan, that is the best interval.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from winnow.core.kernels.compiled import bare, compiled_bare, inlined
from winnow.core.kernels.draw_state import (
    ACCEPTED,
    BEGIN,
    DONE,
    DRAWING,
    EVALUATIONS,
    NEXT_STAGE,
    PHASE,
    SCAN,
    TOP,
    TOTAL,
)
from winnow.core.kernels.envelope import LN2, raised, surely_rejected
from winnow.core.kernels.groups import (
    WIDE,
    KeyGroups,
    arrange,
    group_for,
    in_highest,
    member,
    renew_limit,
    set_key,
)
from winnow.core.kernels.rejection import Sampler
from winnow.lp.kernels.scalar_clocks import Epochs, renew_clocks, start_epoch
from winnow.lp.kernels.scalar_point import finish_round, row_score, row_values
from winnow.lp.kernels.scalar_program import (
    MAY_LEAVE,
    PROPOSALS,
    ROUND,
    ROUNDS,
    STAGE,
    Integers,
    ScalarProgram,
)

if TYPE_CHECKING:
    from winnow.lp.kernels.scalar_solver import Drift

CEILING, EPOCH, OUTGROWN, SCANS, SCANNED, SCAN_WORK, SCAN_ROUND, SOON, CARRIED = range(
    STAGE, STAGE + 9
)
"""The ceiling of the buckets; the current epoch; the largest exponent found above all buckets, or
0; scans; whether this draw had one; the work before the last one and its round; scans in a row that
came soon; rows carried to another epoch."""

_PATIENCE = 0.25  # in units of ln 2: how far a reference may be away to set keys by it
_FALLEN = 12  # in units of ln 2: how far bounds may fall before weights are taken anew
_PROPOSAL, _EVALUATION, _CARRIED = 2, 6, 6
_SOON = 24  # rounds between two scans, below which reading the likely rows in each costs less
_OFTEN = 2
_SCANNED = 1  # for each row: what a scan costs, in the same units of about 40 ns
_LOWEST = -(2**40)


class Envelope(NamedTuple):
    """What rows are proposed by: private."""

    bounds: Integers
    """Of each group, a whole number of ln 2."""
    weights: Integers
    """Of each slot, relative to the largest bound."""
    reach: int
    """Bounds are raised to this far below the largest, so that all weights fit."""

    def __repr__(self) -> str:
        return "<weights of proposals>"


@bare
def _work(state):  # type: ignore[no-untyped-def]
    done = _PROPOSAL * state[PROPOSALS] + _EVALUATION * state[EVALUATIONS]
    return done + _CARRIED * state[CARRIED]


@bare
def _bound(limit, clock, cap):  # type: ignore[no-untyped-def]
    """The whole bound of a group."""
    return np.int64(np.ceil(min(raised(np.float64(limit) + clock), cap)))


@bare
def _weigh(groups, clocks, cap, envelope, state):  # type: ignore[no-untyped-def]
    """The bound of each group, and the weights of slots relative to the largest bound."""
    count, spans = groups.counts, groups.spans
    bounds, weights, reach = envelope.bounds, envelope.weights, envelope.reach
    slots, bits = weights.shape[0], WIDE.bucket_bits
    top = np.int64(_LOWEST)
    for slot in range(slots):
        if groups.members[slot] > 0:
            first = slot << bits
            while count[first + spans[slot, 1]] == 0:
                spans[slot, 1] -= 1
            while count[first + spans[slot, 0]] == 0:
                spans[slot, 0] += 1
            for g in range(first + spans[slot, 0], first + spans[slot, 1] + 1):
                if count[g] > 0:
                    bounds[g] = _bound(groups.limit[g], clocks[slot], cap)
                    top = max(top, bounds[g])
    total = np.int64(0)
    for slot in range(slots):
        weights[slot] = 0
        if groups.members[slot] > 0:
            first = slot << bits
            for g in range(first + spans[slot, 0], first + spans[slot, 1] + 1):
                if count[g] > 0:
                    bounds[g] = max(bounds[g], top - reach)
                    weights[slot] += count[g] << (bounds[g] - top + reach)
        total += weights[slot]
    state[TOP], state[TOTAL] = top, total


@bare
def _scan(program, point, drift, epochs, groups, state):  # type: ignore[no-untyped-def]
    """Score all rows: one new epoch."""
    keys, per_unit = groups.keys, drift.per_unit
    start_epoch(epochs, 0, point.z, drift)
    row_values(program.matrix, point.x, keys)
    top = np.int64(_LOWEST)
    for i in range(keys.shape[0]):
        score = np.float64(np.int64(np.rint(keys[i] * program.per_step)) - program.offsets[i])
        c = np.int64(drift.norm_class[i])
        keys[i] = raised(score * per_unit + abs(score) * per_unit * 2.0**-46 + epochs.clocks[c])
        groups.group[i] = c << WIDE.bucket_bits
        top = max(top, np.int64(np.ceil(keys[i])))
    state[CEILING] = arrange(groups, WIDE, top)
    state[OUTGROWN] = 0
    state[EPOCH] = 0
    state[SCANS] += 1


@bare
def _begin(point, drift, epochs, groups, state):  # type: ignore[no-untyped-def]
    """Set the clocks of a new round."""
    if state[OUTGROWN] > 0:  # scores have outgrown the buckets
        state[CEILING] = arrange(groups, WIDE, state[OUTGROWN])
        state[OUTGROWN] = 0
    state[EPOCH], carried = renew_clocks(
        epochs, groups, state[EPOCH], point.z, drift, _PATIENCE, state[CEILING]
    )
    state[CARRIED] += carried
    state[SCANNED] = 0
    state[PHASE] = DRAWING


@bare
def _propose(groups, envelope, target, lowest):  # type: ignore[no-untyped-def]
    """(slot, group, row) at a place below the total weight."""
    slot = 0
    while target >= envelope.weights[slot]:
        target -= envelope.weights[slot]
        slot += 1
    g = (slot << WIDE.bucket_bits) + groups.spans[slot, 1]
    while True:
        weight = np.int64(0)
        if groups.counts[g] > 0:
            weight = groups.counts[g] << (envelope.bounds[g] - lowest)
        if target < weight:
            break
        target -= weight
        g -= 1
    return slot, g, member(groups, g, target >> (envelope.bounds[g] - lowest))


@bare
def _set_key(i, g, key, slot, groups, clocks, cap, envelope, state):  # type: ignore[no-untyped-def]
    """Move row i of group g to a key in a slot, if that raises no bound; weights follow."""
    bounds, weights = envelope.bounds, envelope.weights
    lowest, bound = state[TOP] - envelope.reach, bounds[g]
    new = group_for(WIDE, key, slot, state[CEILING])
    fresh = _bound(max(groups.limit[new], np.int64(np.ceil(key))), clocks[slot], cap)
    if fresh > bound:
        return
    set_key(groups, WIDE, i, key, slot, state[CEILING])
    if groups.counts[new] == 1:
        bounds[new] = max(fresh, lowest)
    if fresh > bounds[new]:
        _weigh(groups, clocks, cap, envelope, state)
        return
    more, less = np.int64(1) << (bounds[new] - lowest), np.int64(1) << (bound - lowest)
    weights[slot] += more
    weights[g >> WIDE.bucket_bits] -= less
    state[TOTAL] += more - less
    if state[TOTAL] < np.int64(1) << (envelope.reach - _FALLEN):  # the largest bounds are gone
        _weigh(groups, clocks, cap, envelope, state)


class Bucketed(NamedTuple):
    """All that a draw looks at."""

    program: ScalarProgram
    drift: Drift
    epochs: Epochs
    groups: KeyGroups
    envelope: Envelope


@inlined
def _started(records, point, state):  # type: ignore[no-untyped-def]
    _begin(point, records.drift, records.epochs, records.groups, state)
    _weigh(records.groups, records.epochs.clocks, records.drift.cap, records.envelope, state)


@inlined
def _enough(records, point, state):  # type: ignore[no-untyped-def]
    """Whether the work since the last scan has cost as much as that, once in a draw."""
    scan_work = _SCANNED * records.program.offsets.shape[0] + 4096
    return state[SCANNED] == 0 and _work(state) - state[SCAN_WORK] > scan_work


@inlined
def _proposed(records, target, state):  # type: ignore[no-untyped-def]
    state[PROPOSALS] += 1
    lowest = state[TOP] - records.envelope.reach
    _, g, i = _propose(records.groups, records.envelope, target, lowest)
    return g, i, records.envelope.bounds[g]


@inlined
def _own_bound(records, g, i):  # type: ignore[no-untyped-def]
    """What no exponent of a row exceeds, by its key."""
    clock = records.epochs.clocks[g >> WIDE.bucket_bits]
    return min(raised(records.groups.keys[i] + clock), records.drift.cap)


@inlined
def _refused(records, point, g, i, bound, word, state):  # type: ignore[no-untyped-def]
    """By the bound of a row's own, which is mostly lower than that of its group."""
    own = _own_bound(records, g, i)
    if not surely_rejected(word, (own - np.float64(bound)) * LN2):
        return False
    groups, clocks = records.groups, records.epochs.clocks
    if in_highest(WIDE, g) and own < groups.limit[g] + clocks[g >> WIDE.bucket_bits] - 2.0:
        renew_limit(groups, g, state[CEILING])
        _weigh(groups, clocks, records.drift.cap, records.envelope, state)
    return True


@inlined
def _scored(records, point, i, state):  # type: ignore[no-untyped-def]
    state[EVALUATIONS] += 1
    return row_score(i, records.program, point.x)


@inlined
def _exponent(records, score):  # type: ignore[no-untyped-def]
    """In units of ln 2, rounded up."""
    exponent = np.float64(score) * records.drift.per_unit
    return exponent + abs(exponent) * 2.0**-46


@inlined
def _beyond(records, g, i, score, bound, state):  # type: ignore[no-untyped-def]
    return _exponent(records, score) > raised(_own_bound(records, g, i))


@inlined
def _beta(records, i):  # type: ignore[no-untyped-def]
    return records.program.beta


@inlined
def _looked_at(records, point, g, i, score, verdict, state):  # type: ignore[no-untyped-def]
    """Give a row that was scored a key of the current epoch."""
    exponent, clocks, cap = _exponent(records, score), records.epochs.clocks, records.drift.cap
    if exponent > np.float64(state[CEILING]):
        state[OUTGROWN] = max(state[OUTGROWN], np.int64(np.ceil(exponent)))
    to = state[EPOCH] * records.drift.rate2.shape[0] + np.int64(records.drift.norm_class[i])
    key = min(raised(exponent + clocks[to]), cap)
    if key + clocks[to] < _own_bound(records, g, i):
        _set_key(i, g, key, to, records.groups, clocks, cap, records.envelope, state)


_one = Sampler(
    begin=_started,
    propose=_proposed,
    score_of=_scored,
    looked_at=_looked_at,
    enough=_enough,
    refused=_refused,
    beyond=_beyond,
    beta=_beta,
    signed=False,
).compiled()


def _run(  # type: ignore[no-untyped-def]
    program, point, drift, epochs, groups, envelope, words, place, state
):
    """Rounds, as far as the words and the filter reach: (status, next unused word)."""
    records = Bucketed(program, drift, epochs, groups, envelope)
    while state[ROUND] < state[ROUNDS]:
        if state[PHASE] == ACCEPTED:
            finish_round(program, point, state)
            continue
        status, place = _one(records, point, words, place, state)
        if status == SCAN:
            soon = state[SCANS] > 0 and state[ROUND] - state[SCAN_ROUND] < _SOON
            state[SOON] = state[SOON] + 1 if soon else 0
            if state[MAY_LEAVE] > 0 and state[SOON] > _OFTEN:
                state[PHASE] = BEGIN
                return NEXT_STAGE, place
            _scan(program, point, drift, epochs, groups, state)
            state[SCAN_WORK], state[SCAN_ROUND], state[SCANNED] = _work(state), state[ROUND], 1
            _weigh(groups, epochs.clocks, drift.cap, envelope, state)
            continue
        if status != DONE:
            return status, place
        state[PHASE] = ACCEPTED
    return DONE, place


def _arrange_all(norm_class, groups):  # type: ignore[no-untyped-def]
    """Put all rows in the first epoch by the keys that they have; returns the ceiling."""
    top = np.int64(_LOWEST)
    for i in range(norm_class.shape[0]):
        groups.group[i] = np.int64(norm_class[i]) << WIDE.bucket_bits
        top = max(top, np.int64(np.ceil(groups.keys[i])))
    return arrange(groups, WIDE, top)


run = compiled_bare(_run)
arrange_all = compiled_bare(_arrange_all)
