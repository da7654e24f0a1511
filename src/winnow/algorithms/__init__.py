"""Algorithms above the crossing: they see only what mechanisms released."""
