"""Frequent itemsets over universes that nobody can list."""
