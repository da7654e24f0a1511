"""Answers to many queries, and a synthetic table: MWEM with exact lazy selection."""
