"""Mining of itemsets in the order of their support."""
