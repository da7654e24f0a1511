"""``winnow select`` and its plans."""
