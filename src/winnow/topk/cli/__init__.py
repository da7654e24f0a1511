"""``winnow top-k`` and its plan."""
