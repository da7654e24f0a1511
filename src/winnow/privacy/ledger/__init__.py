"""Charges that survive: an append-only, chained record of every release."""

from winnow._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
