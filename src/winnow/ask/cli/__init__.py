"""``winnow ask`` and its plan."""
