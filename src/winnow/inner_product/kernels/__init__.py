"""Exact inner products and lazy Gumbel noise."""
