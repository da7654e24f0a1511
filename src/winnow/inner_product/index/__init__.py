"""Indices for k-MIPS. An index only proposes; no guarantee rests on it."""
