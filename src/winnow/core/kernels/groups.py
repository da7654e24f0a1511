"""Candidates in groups: each group is a list in chunks of one pool, so moving one is O(1).

Group b S + e holds the candidates whose key was set in epoch slot e and lies in bucket b. Its
k-th member is pool[table[g, k / CHUNK], k % CHUNK], where[i] is the place k of candidate i in its
group, count[g] the number of members; a member that leaves is replaced by the last one. free[0]
is the number of unused chunks, which are listed behind it. Every key of a group is at most
limit[g], a whole number; the lowest bucket holds everything lower as well, and the limit of the
highest one rises with its keys.
"""

from __future__ import annotations

import numpy as np

from winnow.core.kernels.compiled import bare
from winnow.core.kernels.envelope import raised

BUCKETS = 64
SLOTS = 8
CHUNK_BITS = 8
CHUNK = 1 << CHUNK_BITS
HEADROOM = 16


@bare
def member(g, k, pool, table):  # type: ignore[no-untyped-def]
    """The k-th member of a group."""
    return np.int64(pool[table[g, k >> CHUNK_BITS], k & (CHUNK - 1)])


@bare
def _append(i, g, pool, table, where, count, free):  # type: ignore[no-untyped-def]
    k = count[g]
    if k & (CHUNK - 1) == 0:
        table[g, k >> CHUNK_BITS] = free[free[0]]
        free[0] -= 1
    pool[table[g, k >> CHUNK_BITS], k & (CHUNK - 1)] = i
    where[i] = k
    count[g] = k + 1


@bare
def _remove(i, g, pool, table, where, count, free):  # type: ignore[no-untyped-def]
    k, last = np.int64(where[i]), count[g] - 1
    chunk = table[g, last >> CHUNK_BITS]
    other = pool[chunk, last & (CHUNK - 1)]
    pool[table[g, k >> CHUNK_BITS], k & (CHUNK - 1)] = other
    where[other] = k
    count[g] = last
    if last & (CHUNK - 1) == 0:
        free[0] += 1
        free[free[0]] = chunk


@bare
def group_for(key, slot, base):  # type: ignore[no-untyped-def]
    """The group of a key."""
    bucket = np.int64(np.ceil(key)) - base
    return max(np.int64(0), min(np.int64(BUCKETS - 1), bucket)) * SLOTS + slot


@bare
def set_key(  # type: ignore[no-untyped-def]
    i, key, slot, base, keys, group, limit, pool, table, where, count, members, free
):
    """Give candidate i a key in an epoch slot; returns its new group."""
    old, new = np.int64(group[i]), group_for(key, slot, base)
    keys[i] = key
    limit[new] = max(limit[new], np.int64(np.ceil(key)))
    if old != new:
        _remove(i, old, pool, table, where, count, free)
        _append(i, new, pool, table, where, count, free)
        group[i] = new
        members[old % SLOTS] -= 1
        members[new % SLOTS] += 1
    return new


@bare
def arrange(  # type: ignore[no-untyped-def]
    keys, top, group, limit, pool, table, where, count, members, free
):
    """Put all candidates in groups by their keys, each in the slot it has.

    The buckets reach a little above `top`; returns their base.
    """
    base = top - (BUCKETS - 1 - HEADROOM)
    for g in range(limit.shape[0]):
        limit[g] = base + g // SLOTS
        count[g] = 0
    for e in range(SLOTS):
        members[e] = 0
    free[0] = pool.shape[0]
    for c in range(pool.shape[0]):
        free[c + 1] = c
    for i in range(keys.shape[0]):
        g = group_for(keys[i], np.int64(group[i]) % SLOTS, base)
        group[i] = g
        limit[g] = max(limit[g], np.int64(np.ceil(keys[i])))
        members[g % SLOTS] += 1
        _append(i, g, pool, table, where, count, free)
    return base


@bare
def renew_limit(g, base, keys, limit, pool, table, count):  # type: ignore[no-untyped-def]
    """Lower the limit of a group of the highest bucket to what its keys need."""
    limit[g] = base + g // SLOTS
    for k in range(count[g]):
        limit[g] = max(limit[g], np.int64(np.ceil(keys[member(g, k, pool, table)])))


@bare
def merge(  # type: ignore[no-untyped-def]
    old_slot, new_slot, distance, cap, base, keys, group, limit, pool, table, where, count,
    members, free,
):  # fmt: skip
    """Move all candidates of a slot to another whose reference is `distance` away."""
    for bucket in range(BUCKETS - 1, -1, -1):
        g = bucket * SLOTS + old_slot
        while count[g] > 0:
            i = member(g, count[g] - 1, pool, table)
            key = min(raised(keys[i] + distance), cap)
            set_key(
                i, key, new_slot, base, keys, group, limit, pool, table, where, count, members,
                free,
            )  # fmt: skip
        limit[g] = base + bucket
