"""Histograms of a column of numbers: equal bins, given edges, or private quantiles as edges."""
