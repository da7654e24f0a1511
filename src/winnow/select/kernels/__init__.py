"""Compiled and exact loops of selection."""
