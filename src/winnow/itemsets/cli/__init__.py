"""``winnow itemsets``."""
