"""Compiled loops of query release."""
