"""Audits of rounds over marginal tables."""
