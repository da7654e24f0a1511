"""Private maximum inner product search, and boosting on it."""
