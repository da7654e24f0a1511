"""Draws: files that open sealed scores, counts and classes with a key."""
