"""Compiled solvers of linear programs."""
