"""Counts, sums, means, variances and standard deviations of columns of numbers."""
