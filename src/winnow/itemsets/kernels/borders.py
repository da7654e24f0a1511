"""Where mining takes another way: by how many baskets there are, how long, and how alike.

All of these are private. Every way counts the itemsets of a support exactly and lists those of one
support in lexicographic order, so that a draw takes the same members of the same classes.
"""

from __future__ import annotations

from winnow.core.borders import Border

_SAME_SETS = (
    "supports are counted exactly, and itemsets of one support listed in lexicographic order"
)


def _border(number: float, name: str, decides: str, ways: str) -> Border:
    return Border(number, name, decides=decides, ways=ways, same="value", because=_SAME_SETS)


PLAIN = _border(
    40_000,
    "itemsets counted by Python",
    "how many pairs of a basket and an itemset there are",
    "all counted in a dictionary; mined from a support on",
)
"""Up to so many (basket, itemset) pairs plain Python is faster than loading numba."""
SHORT = _border(
    1 << 25,
    "steps without a thread",
    "how many steps a pass takes at most",
    "the pass runs here; in a thread that Ctrl-C can stop",
)
"""So many steps take about 20 ms."""
SAMPLE = _border(
    8 * 2048,
    "baskets sampled",
    "how many baskets there are, and how good a first guess of the largest support is",
    "mining begins at the guess; at one that a sample of baskets raised",
)
"""With fewer baskets a sample would be most of them."""
BITSET_BYTES = _border(
    1 << 28,
    "bytes of bitsets",
    "how many baskets and items are left at a support",
    "intersections of bitsets; lists of occurrences",
)
"""The most that bitsets may take for one pass."""
KEPT_BYTES = _border(
    1 << 22,
    "bytes of kept bitsets",
    "how many baskets and items there are",
    "one set of bitsets for every pass; made for each",
)
"""The most that bitsets may take to be kept for all passes."""
DENSE = _border(
    40.0,
    "density of baskets",
    "how many pairs of items baskets hold, for each word of a bitset",
    "lists of occurrences; intersections of bitsets",
)
"""So many words are as fast as one pair."""
LISTED = _border(
    1 << 12,
    "itemsets listed at once",
    "how many itemsets have a support or more",
    "listed while they are counted; found in a second pass",
)
"""So many itemsets are listed while they are counted."""
AHEAD = Border(
    1 << 12,
    "itemsets listed ahead",
    decides="how many itemsets have supports as far below the largest as noise may reach",
    ways="listed before a draw begins; listed as far as it asks",
    same="law",
    because="a draw from classes of supports has one law, whichever of them are listed when",
)
"""So many itemsets take no longer than another pass."""
FEW_ITEMS = _border(
    256,
    "items without pairs",
    "how many items have a support or more",
    "larger itemsets from single items; with the supports of pairs at hand",
)
"""With fewer items pairs are counted by their bits at no cost."""
MOST_ITEMS = _border(
    2048,
    "items with pairs",
    "how many items have a support or more",
    "the supports of pairs are kept; they are not",
)
"""With more items pairs take much memory."""
NARROW = _border(
    2**31 - 1,
    "occurrences in 32 bits",
    "how many items all baskets have together",
    "places of 32 bits; of 64 bits",
)
