"""What requests and draws of itemsets both know; a leaf that imports nothing."""

MOST_ITEMS = 4
"""The largest size of an itemset."""
