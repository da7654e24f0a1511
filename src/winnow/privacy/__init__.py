"""Events, guarantees, accountants, calibration and budgets. No data and no randomness here."""

from winnow._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
