"""Compiled counts of rules."""
