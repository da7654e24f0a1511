"""Winnow: differentially private selection, exact and fast.

import winnow as wn

pick = wn.select({"a": 41, "b": 40, "c": 3}, epsilon=1.0)
pick.value, pick.guarantee, pick.receipt
"""

from winnow._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
