"""Noise on scores, the largest kept: exactly the law that the theorems speak of."""
