"""Figures and pages of public numbers, made with matplotlib (the extra ``plots``) as bytes."""

from winnow._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
