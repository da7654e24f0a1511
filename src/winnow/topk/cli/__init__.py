"""``winnow topk`` and its plan."""
