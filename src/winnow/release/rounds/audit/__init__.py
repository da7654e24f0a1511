"""Audits of rounds over queries, and of what is measured before them."""
