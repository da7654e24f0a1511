"""What to expect of a selection, before spending."""
