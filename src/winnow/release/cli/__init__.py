"""``winnow release`` and its plan."""
