"""Pick the best candidate, or k at once, by noise on scores."""
