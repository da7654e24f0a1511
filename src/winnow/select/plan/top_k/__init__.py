"""What to expect of a top-k release, before spending."""
