"""The experiments of the five papers, run again by ``winnow reproduce``."""
