"""The exact noisy-top core. The only package that may import numba, and only when it pays."""
