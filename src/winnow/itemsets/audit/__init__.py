"""Audits of itemset selection."""
