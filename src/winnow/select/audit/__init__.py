"""Exact probabilities of selections, for the audits."""
