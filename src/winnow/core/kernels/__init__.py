"""Compiled loops of the noisy top. Importing one imports numba."""
