"""Answers to a workload, and a synthetic table, by the method with the least predicted error."""
