"""MWEM: rounds that select a badly answered query or table, and measure it."""
