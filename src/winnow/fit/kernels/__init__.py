"""Compiled passes over the cells of a model."""
