"""Candidates in groups by slot and key: each group is a list in chunks, so moving one is O(1).

Keys are upper bounds in units of ln 2, and can span thousands of them. A slot holds the candidates
whose keys were set against the same reference; its buckets are 1 unit wide from the ceiling down,
then 4, then 32 (``BucketLayout``), and the lowest holds everything below. Group slot * buckets + k
holds the candidates of a slot whose keys lie in bucket k. Every key of a group is at most
limit[g], a whole number; the highest bucket takes what is above it too, and its limit rises
with its keys.

The k-th member of group g is pool[table[g, k / CHUNK], k % CHUNK]; one that leaves is replaced by
the last one. free[0] is the number of unused chunks, which are listed behind it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from winnow.core.kernels.compiled import bare
from winnow.core.kernels.envelope import raised

CHUNK_BITS = 8
CHUNK = 1 << CHUNK_BITS
_HEADROOM = 16
_MIDDLE_WIDTH, _COARSE_WIDTH = 4, 32


class BucketLayout(NamedTuple):
    """How keys are cut into buckets, counted from the ceiling down."""

    bucket_bits: int
    """There are 2^bucket_bits buckets."""
    fine: int
    """So many are 1 unit wide,"""
    middle: int
    """those up to this one 4 units, and all others 32."""


UNIFORM = BucketLayout(6, 64, 64)
WIDE = BucketLayout(8, 96, 224)
"""Constants of the kernels that use them; groups keep to the layout they were made with."""


class KeyGroups(NamedTuple):
    """All candidates, private because of their keys."""

    keys: NDArray[np.float64]
    group: NDArray[np.int32]
    """Of each candidate."""
    place: NDArray[np.int32]
    """Of each candidate in its group."""
    limit: NDArray[np.int64]
    counts: NDArray[np.int64]
    """Of each group."""
    members: NDArray[np.int64]
    """Of each slot, in all of its groups."""
    spans: NDArray[np.int64]
    """Of each slot, the lowest and the highest bucket that may have members."""
    pool: NDArray[np.int32]
    table: NDArray[np.int32]
    free: NDArray[np.int32]

    def __repr__(self) -> str:
        return "<groups of candidates>"


def new_groups(size: int, key: float, slots: int, layout: BucketLayout) -> KeyGroups:
    """Room for so many candidates, all with one key; ``arrange`` puts them in groups."""
    groups, chunks = slots << layout.bucket_bits, -(-size // CHUNK)
    lists = chunks + min(groups, size)
    return KeyGroups(
        np.full(size, key),
        np.zeros(size, np.int32),
        np.zeros(size, np.int32),
        np.zeros(groups, np.int64),
        np.zeros(groups, np.int64),
        np.zeros(slots, np.int64),
        np.zeros((slots, 2), np.int64),
        np.zeros((lists, CHUNK), np.int32),
        np.zeros((groups, chunks), np.int32),
        np.zeros(lists + 1, np.int32),
    )


@bare
def member(groups, g, k):  # type: ignore[no-untyped-def]
    """The k-th member of a group."""
    return np.int64(groups.pool[groups.table[g, k >> CHUNK_BITS], k & (CHUNK - 1)])


@bare
def _edge(layout, k, ceiling):  # type: ignore[no-untyped-def]
    """The largest key of a bucket, except that the highest takes what is above it too."""
    q = (1 << layout.bucket_bits) - 1 - k
    if q < layout.fine:
        return ceiling - q
    if q < layout.middle:
        return ceiling - layout.fine - _MIDDLE_WIDTH * (q - layout.fine)
    coarse = layout.fine + _MIDDLE_WIDTH * (layout.middle - layout.fine)
    return ceiling - coarse - _COARSE_WIDTH * (q - layout.middle)


@bare
def group_for(layout, key, slot, ceiling):  # type: ignore[no-untyped-def]
    """The group of a key."""
    depth = ceiling - np.int64(np.ceil(key))
    coarse = layout.fine + _MIDDLE_WIDTH * (layout.middle - layout.fine)
    if depth < layout.fine:
        q = max(np.int64(0), depth)
    elif depth < coarse:
        q = layout.fine + (depth - layout.fine) // _MIDDLE_WIDTH
    else:
        q = layout.middle + (depth - coarse) // _COARSE_WIDTH
    highest = (1 << layout.bucket_bits) - 1
    return (slot << layout.bucket_bits) + highest - min(np.int64(highest), q)


@bare
def in_highest(layout, g):  # type: ignore[no-untyped-def]
    """Whether a group is the highest bucket of its slot."""
    highest = (1 << layout.bucket_bits) - 1
    return g & highest == highest


@bare
def _widen(groups, layout, g):  # type: ignore[no-untyped-def]
    """Take a group with members into the span of its slot."""
    bits = layout.bucket_bits
    slot, bucket = g >> bits, g & ((1 << bits) - 1)
    groups.spans[slot, 0] = min(groups.spans[slot, 0], bucket)
    groups.spans[slot, 1] = max(groups.spans[slot, 1], bucket)


@bare
def _append(groups, i, g):  # type: ignore[no-untyped-def]
    k = groups.counts[g]
    if k & (CHUNK - 1) == 0:
        groups.table[g, k >> CHUNK_BITS] = groups.free[groups.free[0]]
        groups.free[0] -= 1
    groups.pool[groups.table[g, k >> CHUNK_BITS], k & (CHUNK - 1)] = i
    groups.place[i] = k
    groups.counts[g] = k + 1


@bare
def _remove(groups, i, g):  # type: ignore[no-untyped-def]
    k, last = np.int64(groups.place[i]), groups.counts[g] - 1
    chunk = groups.table[g, last >> CHUNK_BITS]
    other = groups.pool[chunk, last & (CHUNK - 1)]
    groups.pool[groups.table[g, k >> CHUNK_BITS], k & (CHUNK - 1)] = other
    groups.place[other] = k
    groups.counts[g] = last
    if last & (CHUNK - 1) == 0:
        groups.free[0] += 1
        groups.free[groups.free[0]] = chunk


@bare
def set_key(groups, layout, i, key, slot, ceiling):  # type: ignore[no-untyped-def]
    """Give candidate i a key in a slot."""
    old, new = np.int64(groups.group[i]), group_for(layout, key, slot, ceiling)
    groups.keys[i] = key
    groups.limit[new] = max(groups.limit[new], np.int64(np.ceil(key)))
    if old != new:
        _remove(groups, i, old)
        _append(groups, i, new)
        _widen(groups, layout, new)
        groups.group[i] = new
        groups.members[old >> layout.bucket_bits] -= 1
        groups.members[slot] += 1


@bare
def clear_slot(groups, layout, slot, ceiling):  # type: ignore[no-untyped-def]
    """Reset the limits of a slot without members."""
    buckets = 1 << layout.bucket_bits
    for k in range(buckets):
        groups.limit[slot * buckets + k] = _edge(layout, k, ceiling)
    groups.spans[slot, 0] = buckets
    groups.spans[slot, 1] = -1


@bare
def arrange(groups, layout, top):  # type: ignore[no-untyped-def]
    """Put all candidates in groups by their keys, each in the slot it has.

    The buckets reach a little above `top`; returns their ceiling.
    """
    ceiling = top + _HEADROOM
    bits = layout.bucket_bits
    for slot in range(groups.members.shape[0]):
        clear_slot(groups, layout, slot, ceiling)
        groups.members[slot] = 0
    for g in range(groups.counts.shape[0]):
        groups.counts[g] = 0
    chunks = groups.pool.shape[0]
    groups.free[0] = chunks
    for c in range(chunks):
        groups.free[c + 1] = c
    for i in range(groups.keys.shape[0]):
        g = group_for(layout, groups.keys[i], np.int64(groups.group[i]) >> bits, ceiling)
        groups.group[i] = g
        groups.limit[g] = max(groups.limit[g], np.int64(np.ceil(groups.keys[i])))
        _append(groups, i, g)
    for g in range(groups.counts.shape[0]):
        if groups.counts[g] > 0:
            groups.members[g >> bits] += groups.counts[g]
            _widen(groups, layout, g)
    return ceiling


@bare
def renew_limit(groups, g, ceiling):  # type: ignore[no-untyped-def]
    """Lower the limit of a highest bucket to what its keys need."""
    limit = ceiling
    for k in range(groups.counts[g]):
        limit = max(limit, np.int64(np.ceil(groups.keys[member(groups, g, k)])))
    groups.limit[g] = limit


@bare
def merge(groups, layout, old_slot, new_slot, distance, cap, ceiling):  # type: ignore[no-untyped-def]
    """Move all candidates of a slot to another whose reference is `distance` away."""
    buckets = 1 << layout.bucket_bits
    for bucket in range(buckets - 1, -1, -1):
        g = old_slot * buckets + bucket
        while groups.counts[g] > 0:
            i = member(groups, g, groups.counts[g] - 1)
            key = min(raised(groups.keys[i] + distance), cap)
            set_key(groups, layout, i, key, new_slot, ceiling)
    clear_slot(groups, layout, old_slot, ceiling)
