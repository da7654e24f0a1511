"""Noise on linear numbers of a table: Toeplitz, the explicit optimum, the queries themselves."""
