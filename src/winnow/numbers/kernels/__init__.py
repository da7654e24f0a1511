"""Compiled loops over the gaps between rows: numbers in, numbers out."""
