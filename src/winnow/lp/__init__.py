"""Linear programs whose right-hand sides, or whose rows, are private."""
