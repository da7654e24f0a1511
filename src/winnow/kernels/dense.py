"""Compiled steps and sums for queries that are written out over the cells.

Sums go over whole numbers, so they do not depend on the order of summation: one query alone and
a scan over all queries give the same result to the last bit.
"""

from __future__ import annotations

import numpy as np

from winnow.kernels.compiled import compiled
from winnow.kernels.masked_sum import masked_sum


def _bit_sums(bits, whole, sums):  # type: ignore[no-untyped-def]
    """All sums of a block of binary queries."""
    for i in range(bits.shape[0]):
        sums[i] = masked_sum(bits[i], whole)


def _scale_bits(weights, sums, clock, row, factor):  # type: ignore[no-untyped-def]
    """Multiply the weights of the set bits; returns by how much the mass changed."""
    change = np.zeros(8)
    cells = weights.shape[0]
    for j in range(row.shape[0]):
        word = row[j]
        if word == 0:
            continue
        for k in range(min(64, cells - 64 * j)):
            x = 64 * j + k
            if (word >> np.uint64(k)) & np.uint64(1):
                before = weights[x]
                after = before * factor
                weights[x] = after
                sums[x] -= (after - before) * clock
                change[k & 7] += after - before
    return change.sum()


def _bit_mass(weights, row):  # type: ignore[no-untyped-def]
    """The mass of the set bits of one query."""
    mass = np.zeros(8)
    cells = weights.shape[0]
    for j in range(row.shape[0]):
        word = row[j]
        if word == 0:
            continue
        for k in range(min(64, cells - 64 * j)):
            if (word >> np.uint64(k)) & np.uint64(1):
                mass[k & 7] += weights[64 * j + k]
    return mass.sum()


bit_mass = compiled(_bit_mass)
bit_sums = compiled(_bit_sums)
scale_bits = compiled(_scale_bits)
