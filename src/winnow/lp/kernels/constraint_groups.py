"""Rows in groups by key, with wide buckets far below the top: keys can span thousands of nats.

Like ``groups``: group slot B + k holds rows of one epoch and norm class whose keys lie in bucket
k; each group is a list in chunks of one pool, so that moving a row is O(1). Here the buckets are
1 unit of ln 2 wide near the ceiling, then 4, then 32, and the lowest holds everything below.
`spans` holds for each slot the lowest and the highest bucket that may have members.
"""

from __future__ import annotations

import numpy as np

from winnow.core.kernels.compiled import helper
from winnow.core.kernels.envelope import raised

BUCKETS = 256
SLOTS = 16
CHUNK_BITS = 8
CHUNK = 1 << CHUNK_BITS
_HEADROOM = 16
_FINE, _MIDDLE = 96, 224
_MIDDLE_DEPTH, _COARSE_DEPTH = 96, 608


@helper
def member(g, k, pool, table):  # type: ignore[no-untyped-def]
    """The k-th member of a group."""
    return np.int64(pool[table[g, k >> CHUNK_BITS], k & (CHUNK - 1)])


@helper
def _edge(k, ceiling):  # type: ignore[no-untyped-def]
    """The largest key of a bucket, except that the highest takes what is above it too."""
    q = BUCKETS - 1 - k
    if q < _FINE:
        return ceiling - q
    if q < _MIDDLE:
        return ceiling - _MIDDLE_DEPTH - 4 * (q - _FINE)
    return ceiling - _COARSE_DEPTH - 32 * (q - _MIDDLE)


@helper
def _bucket(key, ceiling):  # type: ignore[no-untyped-def]
    depth = ceiling - np.int64(np.ceil(key))
    if depth < _MIDDLE_DEPTH:
        q = max(np.int64(0), depth)
    elif depth < _COARSE_DEPTH:
        q = _FINE + (depth - _MIDDLE_DEPTH) // 4
    else:
        q = min(np.int64(BUCKETS - 1), _MIDDLE + (depth - _COARSE_DEPTH) // 32)
    return BUCKETS - 1 - q


@helper
def group_for(key, slot, ceiling):  # type: ignore[no-untyped-def]
    """The group of a key."""
    return slot * BUCKETS + _bucket(key, ceiling)


@helper
def _append(i, g, pool, table, where, count, spans, free):  # type: ignore[no-untyped-def]
    k = count[g]
    if k & (CHUNK - 1) == 0:
        table[g, k >> CHUNK_BITS] = free[free[0]]
        free[0] -= 1
    pool[table[g, k >> CHUNK_BITS], k & (CHUNK - 1)] = i
    where[i] = k
    count[g] = k + 1
    slot, bucket = g // BUCKETS, g % BUCKETS
    spans[slot, 0] = min(spans[slot, 0], bucket)
    spans[slot, 1] = max(spans[slot, 1], bucket)


@helper
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


@helper
def set_key(  # type: ignore[no-untyped-def]
    i, key, slot, ceiling, keys, group, limit, pool, table, where, count, members, spans, free
):
    """Give row i a key in a slot; returns its new group."""
    old, new = np.int64(group[i]), group_for(key, slot, ceiling)
    keys[i] = key
    limit[new] = max(limit[new], np.int64(np.ceil(key)))
    if old != new:
        _remove(i, old, pool, table, where, count, free)
        _append(i, new, pool, table, where, count, spans, free)
        group[i] = new
        members[old // BUCKETS] -= 1
        members[slot] += 1
    return new


@helper
def clear_slot(slot, ceiling, limit, spans):  # type: ignore[no-untyped-def]
    """Reset the limits of a slot without members."""
    for k in range(BUCKETS):
        limit[slot * BUCKETS + k] = _edge(k, ceiling)
    spans[slot, 0] = BUCKETS
    spans[slot, 1] = -1


@helper
def arrange(  # type: ignore[no-untyped-def]
    keys, top, group, limit, pool, table, where, count, members, spans, free
):
    """Put all rows in groups by their keys, each in the slot it has; returns the ceiling."""
    ceiling = top + _HEADROOM
    for slot in range(SLOTS):
        clear_slot(slot, ceiling, limit, spans)
        members[slot] = 0
    for g in range(count.shape[0]):
        count[g] = 0
    free[0] = pool.shape[0]
    for c in range(pool.shape[0]):
        free[c + 1] = c
    for i in range(keys.shape[0]):
        mine = np.int64(group[i]) // BUCKETS
        g = group_for(keys[i], mine, ceiling)
        group[i] = g
        limit[g] = max(limit[g], np.int64(np.ceil(keys[i])))
        k = count[g]  # _append, written out: a call for each row takes too long
        if k & (CHUNK - 1) == 0:
            table[g, k >> CHUNK_BITS] = free[free[0]]
            free[0] -= 1
        pool[table[g, k >> CHUNK_BITS], k & (CHUNK - 1)] = i
        where[i] = k
        count[g] = k + 1
    for g in range(count.shape[0]):
        if count[g] > 0:
            slot, bucket = g // BUCKETS, g % BUCKETS
            members[slot] += count[g]
            spans[slot, 0] = min(spans[slot, 0], bucket)
            spans[slot, 1] = max(spans[slot, 1], bucket)
    return ceiling


@helper
def renew_limit(g, ceiling, keys, limit, pool, table, count):  # type: ignore[no-untyped-def]
    """Lower the limit of a highest bucket to what its keys need."""
    limit[g] = _edge(g % BUCKETS, ceiling)
    for k in range(count[g]):
        limit[g] = max(limit[g], np.int64(np.ceil(keys[member(g, k, pool, table)])))


@helper
def merge(  # type: ignore[no-untyped-def]
    old_slot, new_slot, distance, cap, ceiling, keys, group, limit, pool, table, where, count,
    members, spans, free,
):  # fmt: skip
    """Move all rows of a slot to another whose reference is `distance` away."""
    for bucket in range(BUCKETS - 1, -1, -1):
        g = old_slot * BUCKETS + bucket
        while count[g] > 0:
            i = member(g, count[g] - 1, pool, table)
            key = min(raised(keys[i] + distance), cap)
            set_key(
                i, key, new_slot, ceiling, keys, group, limit, pool, table, where, count, members,
                spans, free,
            )  # fmt: skip
    clear_slot(old_slot, ceiling, limit, spans)
