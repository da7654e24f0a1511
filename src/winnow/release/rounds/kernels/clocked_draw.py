"""Compiled draws over queries that are costly to evaluate: keys, epochs and clocks.

Exponents are counted in units of ln 2 here. When candidate i was evaluated, its |exponent| was
k; its key is k plus the clock of the current epoch then, and at any later time

    |exponent_i| <= key_i + clock(e),      clock(e) = rate * D(present, reference of e),

because D(p, r) = max(sum (p - r)+, sum (r - p)+) bounds how far any sum of p over cells, with
values in [0, 1], lies from that of r, and is a distance. Weights are whole numbers, so this holds
exactly for dense queries; for maintained ones `slack` units cover the rounding of the tables.

KeyGroups of candidates (``groups``) have a whole limit on their keys, so limit + clock, rounded
up, bounds all of them, and proposals cost as much as there are groups. A candidate's own bound
key + clock rejects many proposals without an evaluation. Evaluated candidates get a new key.

Too many evaluations in one draw: all candidates are evaluated (``scan``), which starts a single
new epoch, and the draw goes on. References that are too far away are replaced; when no slot is
free, the slot with the fewest candidates is merged into the nearest other.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from winnow.core.kernels.compiled import bare, compiled_bare, inlined
from winnow.core.kernels.draw_state import (
    ACCEPTED,
    BEGIN,
    EVALUATIONS,
    OWN,
    PHASE,
    TOP,
    TOTAL,
)
from winnow.core.kernels.envelope import LN2, raised, surely_rejected
from winnow.core.kernels.groups import (
    UNIFORM,
    KeyGroups,
    arrange,
    clear_slot,
    group_for,
    in_highest,
    member,
    merge,
    renew_limit,
    set_key,
)
from winnow.core.kernels.rejection import Sampler
from winnow.release.rounds.kernels.clocked_queries import Answers, Queries, region_of, score_of
from winnow.release.rounds.kernels.dense import masked_sum

CEILING, EPOCH, OUTGROWN, LAST, EVALUATED, MOST_EVALUATED, PROPOSALS_LEFT, STATE = range(
    OWN, OWN + 8
)
"""The ceiling of the buckets; the current slot; the largest exponent found above all buckets, or 0;
the rank of the last group with members; evaluations in this draw, how many are allowed in it, and
how many proposals are left to it; the number of entries of the state."""

RENEW = ACCEPTED + 1
"""A phase: the distribution has changed since the last draw."""

SLOTS = 8
_NEW_EPOCH = 0.25  # in units of ln 2: how far a reference may be away to set keys by it
_BUCKETS = 1 << UNIFORM.bucket_bits


class Clocked(NamedTuple):
    """All that draws keep between them."""

    queries: Queries
    groups: KeyGroups
    references: NDArray[Any]
    """The weights at which each slot's keys were set."""
    clocks: NDArray[np.float64]
    """Of each slot."""
    rate: float
    slack: int
    cap: float
    """What no exponent exceeds."""
    bounds: NDArray[np.int64]
    """Of each group, a whole number of ln 2."""
    reach: int
    """Bounds are raised to this far below the largest, so that all weights fit."""

    def __repr__(self) -> str:
        return "<private state of draws>"

    @property
    def plain(self) -> tuple[Any, ...]:
        """What kernels take: numba is slow to tell the type of a record, but not of a tuple."""
        return tuple(self.queries), tuple(self.groups), tuple(self[2:])


@bare
def _record(plain):  # type: ignore[no-untyped-def]
    queries, groups, own = plain
    return Clocked(Queries(*queries), KeyGroups(*groups), *own)


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
def _start_epoch(clocked, slot, whole):  # type: ignore[no-untyped-def]
    """Take the present weights as the reference of a slot."""
    for x in range(whole.shape[0]):
        clocked.references[slot, x] = whole[x]
    clocked.clocks[slot] = raised(clocked.slack * clocked.rate)


@bare
def _empty_slot(clocked, current, ceiling):  # type: ignore[no-untyped-def]
    """A slot without members, if need be by merging one into the nearest other."""
    members, references = clocked.groups.members, clocked.references
    spare = -1
    for e in range(SLOTS):
        if members[e] == 0:
            spare = e
    if spare >= 0:
        return spare
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
    apart = raised((shortest + clocked.slack) * clocked.rate)
    merge(clocked.groups, UNIFORM, spare, nearest, apart, clocked.cap, ceiling)
    return spare


@bare
def _renew(clocked, answers, state):  # type: ignore[no-untyped-def]
    """Round the weights, read the clocks, and open a new epoch when the current one is old."""
    whole, weights = answers.whole, answers.weights
    for x in range(weights.shape[0]):
        whole[x] = np.rint(weights[x] * answers.scale)
    current, members = state[EPOCH], clocked.groups.members
    slack, rate = clocked.slack, clocked.rate
    if state[OUTGROWN] > 0:  # scores have outgrown the buckets
        state[CEILING] = arrange(clocked.groups, UNIFORM, state[OUTGROWN])
        state[OUTGROWN] = 0
    for e in range(SLOTS):
        if members[e] > 0 or e == current:
            apart = _distance(whole, clocked.references[e])
            clocked.clocks[e] = raised((apart + slack) * rate)
    if clocked.clocks[current] - slack * rate <= _NEW_EPOCH:
        return
    if members[current] > 0:
        current = np.int64(_empty_slot(clocked, current, state[CEILING]))
    clear_slot(clocked.groups, UNIFORM, current, state[CEILING])
    _start_epoch(clocked, current, whole)
    state[EPOCH] = current


def _scan(plain, plain_answers, state):  # type: ignore[no-untyped-def]
    """Evaluate all candidates: one new epoch."""
    clocked, answers = _record(plain), Answers(*plain_answers)
    queries, groups = clocked.queries, clocked.groups
    counts, bits, keys = queries.counts, queries.bits, groups.keys
    _start_epoch(clocked, 0, answers.whole)
    top = np.int64(-(2**40))
    binary = counts.shape[0] - bits.shape[0] - queries.values.shape[0]
    for j in range(bits.shape[0]):  # apart from the others: it is what takes the time
        keys[binary + j] = np.float64(counts[binary + j] - masked_sum(bits[j], answers.whole))
    for i in range(counts.shape[0]):
        if binary <= i < binary + bits.shape[0]:
            score = keys[i]
        else:
            score = np.float64(score_of(i, queries, answers))
        exponent = score * queries.per_units[region_of(i, queries.firsts)]
        keys[i] = raised(abs(exponent) + clocked.clocks[0])
        groups.group[i] = 0
        top = max(top, np.int64(np.ceil(keys[i])))
    state[CEILING] = arrange(groups, UNIFORM, top)
    state[OUTGROWN] = 0
    state[EVALUATIONS] += counts.shape[0]
    state[EPOCH] = 0


def _arrange_all(plain):  # type: ignore[no-untyped-def]
    """Put all candidates in the first slot by the keys that they have; returns the ceiling."""
    groups = _record(plain).groups
    groups.group[:] = 0
    top = np.int64(-(2**40))
    for i in range(groups.keys.shape[0]):
        top = max(top, np.int64(np.ceil(groups.keys[i])))
    return arrange(groups, UNIFORM, top)


@bare
def _group_at(rank):  # type: ignore[no-untyped-def]
    """KeyGroups are proposed from bucket by bucket, and in a bucket slot by slot."""
    return (rank % SLOTS) * _BUCKETS + rank // SLOTS


@bare
def _bound(limit, clock, cap):  # type: ignore[no-untyped-def]
    """The whole bound of a group."""
    return np.int64(np.ceil(min(raised(np.float64(limit) + clock), cap)))


@bare
def _weigh(clocked, state):  # type: ignore[no-untyped-def]
    """The bound of each group, and the total weight relative to the largest."""
    count, bounds, reach = clocked.groups.counts, clocked.bounds, clocked.reach
    top = np.int64(-(2**40))
    for rank in range(count.shape[0]):
        g = _group_at(rank)
        if count[g] > 0:
            bounds[g] = _bound(clocked.groups.limit[g], clocked.clocks[g // _BUCKETS], clocked.cap)
            top = max(top, bounds[g])
            state[LAST] = rank
    total = np.int64(0)
    for g in range(count.shape[0]):
        if count[g] > 0:
            bounds[g] = max(bounds[g], top - reach)
            total += count[g] << (bounds[g] - top + reach)
    state[TOP], state[TOTAL] = top, total


@bare
def _propose(clocked, target, last, lowest):  # type: ignore[no-untyped-def]
    """(group, candidate) at a place below the total weight."""
    count, rank = clocked.groups.counts, last
    while True:
        g = _group_at(rank)
        weight = np.int64(0)
        if count[g] > 0:
            weight = count[g] << (clocked.bounds[g] - lowest)
        if target < weight:
            return g, member(clocked.groups, g, target >> (clocked.bounds[g] - lowest))
        target -= weight
        rank -= 1


@bare
def _set_key(clocked, i, g, key, state):  # type: ignore[no-untyped-def]
    """Move candidate i of group g to a key of the current epoch, if that raises no bound."""
    groups, bounds, slot = clocked.groups, clocked.bounds, state[EPOCH]
    lowest, bound = state[TOP] - clocked.reach, bounds[g]
    new = group_for(UNIFORM, key, slot, state[CEILING])
    limit = max(groups.limit[new], np.int64(np.ceil(key)))
    fresh = _bound(limit, clocked.clocks[slot], clocked.cap)
    if fresh > bound:
        return
    set_key(groups, UNIFORM, i, key, slot, state[CEILING])
    state[LAST] = max(state[LAST], new % _BUCKETS * SLOTS + slot)
    emptied = groups.counts[g] == 0
    if groups.counts[new] == 1:
        bounds[new] = max(fresh, lowest)
    if fresh > bounds[new] or (emptied and bound >= state[TOP]):
        _weigh(clocked, state)
    else:
        state[TOTAL] += np.int64(1) << (bounds[new] - lowest)
        state[TOTAL] -= np.int64(1) << (bound - lowest)


@bare
def _begin(clocked, answers, state):  # type: ignore[no-untyped-def]
    _weigh(clocked, state)


@inlined
def _enough(clocked, answers, state):  # type: ignore[no-untyped-def]
    """Whether proposals were in vain for so long that all are to be scanned."""
    return state[EVALUATED] >= state[MOST_EVALUATED] or state[PROPOSALS_LEFT] <= 0


@inlined
def _proposed(clocked, target, state):  # type: ignore[no-untyped-def]
    state[PROPOSALS_LEFT] -= 1
    g, i = _propose(clocked, target, state[LAST], state[TOP] - clocked.reach)
    return g, i, clocked.bounds[g]


@inlined
def _own_bound(clocked, g, i):  # type: ignore[no-untyped-def]
    """What no exponent of a candidate exceeds, by its key."""
    return min(raised(clocked.groups.keys[i] + clocked.clocks[g // _BUCKETS]), clocked.cap)


@inlined
def _refused(clocked, answers, g, i, bound, word, state):  # type: ignore[no-untyped-def]
    """By the bound of a candidate's own, which is mostly lower than that of its group."""
    own = _own_bound(clocked, g, i)
    if not surely_rejected(word, (own - np.float64(bound)) * LN2):
        return False
    groups = clocked.groups
    if in_highest(UNIFORM, g) and own < groups.limit[g] + clocked.clocks[g // _BUCKETS] - 2.0:
        renew_limit(groups, g, state[CEILING])
        _weigh(clocked, state)
    return True


@inlined
def _scored(clocked, answers, i, state):  # type: ignore[no-untyped-def]
    state[EVALUATIONS] += 1
    state[EVALUATED] += 1
    return score_of(i, clocked.queries, answers)


@inlined
def _exponent(clocked, i, score):  # type: ignore[no-untyped-def]
    """In units of ln 2, of the larger sign."""
    queries = clocked.queries
    return abs(np.float64(score) * queries.per_units[region_of(i, queries.firsts)])


@inlined
def _beyond(clocked, g, i, score, bound, state):  # type: ignore[no-untyped-def]
    return _exponent(clocked, i, score) > _own_bound(clocked, g, i)


@inlined
def _beta(clocked, i):  # type: ignore[no-untyped-def]
    return clocked.queries.betas[region_of(i, clocked.queries.firsts)]


@inlined
def _looked_at(clocked, answers, g, i, score, verdict, state):  # type: ignore[no-untyped-def]
    """Give a candidate that was evaluated a key of the current epoch."""
    exponent = _exponent(clocked, i, score)
    if exponent > np.float64(state[CEILING]):
        state[OUTGROWN] = max(state[OUTGROWN], np.int64(np.ceil(exponent)))
    clock = clocked.clocks[state[EPOCH]]
    key = min(raised(exponent + clock), clocked.cap)
    if key + clock < _own_bound(clocked, g, i):
        _set_key(clocked, i, g, key, state)


_one = Sampler(
    begin=_begin,
    propose=_proposed,
    score_of=_scored,
    looked_at=_looked_at,
    enough=_enough,
    refused=_refused,
    beyond=_beyond,
    beta=_beta,
).compiled()


def _draw(plain, plain_answers, words, place, state):  # type: ignore[no-untyped-def]
    """One draw, or as far as the words and the filter reach: (status, next unused word)."""
    clocked, answers = _record(plain), Answers(*plain_answers)
    if state[PHASE] == RENEW:
        _renew(clocked, answers, state)
        state[PHASE] = BEGIN
    return _one(clocked, answers, words, place, state)


arrange_all = compiled_bare(_arrange_all)
scan = compiled_bare(_scan)
draw = compiled_bare(_draw)
