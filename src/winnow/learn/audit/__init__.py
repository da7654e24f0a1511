"""Audits of learning: exact models on tiny neighbours, and broken twins."""
