"""Every error that Winnow raises on purpose.

    WinnowError
    +-- InputError (ValueError)        a parameter, a file or a table is not usable
    |   +-- ExtraMissing (ImportError) an optional package is not installed
    +-- GuaranteeError                 no theorem covers the asked combination
    +-- InternalError                  a proven bound did not hold: a defect of the library
    +-- BudgetError                    the charge is refused
        +-- BudgetExceeded             it would pass the cap
        +-- RelationMismatch           another neighbour relation than the budget's
        +-- GrantError                 a grant is used twice or for another event
        +-- LedgerError                the ledger cannot record it, or was tampered with

A message says what is wrong, what was given (public parts only) and how to mend
it. No message ever contains a value that came from private data.
"""

from __future__ import annotations


class WinnowError(Exception):
    """Base of all errors raised on purpose by Winnow."""

    exit_code = 2


class InputError(WinnowError, ValueError):
    """A parameter, a file or a table is not usable; nothing was spent."""


class ExtraMissing(InputError, ImportError):
    """An optional package is needed and not installed."""

    def __init__(self, package: str, extra: str, purpose: str) -> None:
        super().__init__(
            f"{purpose} needs the package '{package}', which is not installed; "
            f"install it with: pip install 'winnow-dp[{extra}]'"
        )


class GuaranteeError(WinnowError):
    """No theorem in the guarantee table covers the asked combination."""


class InternalError(WinnowError):
    """A bound that is proven did not hold: a defect of the library, not of its use."""


class BudgetError(WinnowError):
    """A charge is refused; no noise was drawn."""

    exit_code = 3


class BudgetExceeded(BudgetError):
    """The charge would pass the cap of the budget."""


class RelationMismatch(BudgetError):
    """The event speaks of another neighbour relation than the budget."""


class GrantError(BudgetError):
    """A grant was used twice, or for an event it was not issued for."""


class LedgerError(BudgetError):
    """The ledger cannot be read or written, or does not prove what it should."""
