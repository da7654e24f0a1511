"""Sums over product sets."""
