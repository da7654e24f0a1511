"""Exact probabilities of top-k releases, for the audits."""
