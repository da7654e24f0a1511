"""Replay: neighbours under one tape leave the same behind, but for the released value."""
