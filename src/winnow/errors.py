"""Every error that Winnow raises on purpose, and who may read it.

    WinnowError
    +-- InputError (ValueError)        what was given is not usable
    |   +-- ParameterError    public   a parameter, a question, a name or a schema
    |   +-- DataError                  data, a file, an engine or a path
    |   |   +-- ForeignError           another library, the system or a value's own code failed
    |   +-- ExtraMissing (ImportError) an optional package is not installed
    +-- GuaranteeError        public   no theorem covers the asked combination
    +-- InternalError                  a proven bound did not hold: a defect of the library
    +-- SavingError                    what was released could not be saved
    +-- BudgetError                    the charge is refused
        +-- BudgetExceeded    public   it would pass the cap
        +-- RelationMismatch  public   another neighbour relation than the budget's
        +-- GrantError                 a grant, a run or a budget is used otherwise than charged
        |   +-- SessionExhausted (ParameterError)
        |                     public   all that was charged for was released
        +-- LedgerError                the ledger cannot record it, or was tampered with

The message of a public error is a function of public inputs only: parameters, the schema, the
budget, what was released before, and the size of what is public. It may be passed on to whoever
asked. All others are for the curator, who has the data: they may name a path, a line, a type
or an engine, and their mere appearance may be due to one person. Neither ever quotes a value of
private data, a field that only stands in a file, or another library's message. InputError,
BudgetError and WinnowError are for catching; what is raised is one of the others.

A message says what is wrong, what was given and how to mend it.
"""

from __future__ import annotations


class WinnowError(Exception):
    """Base of all errors raised on purpose by Winnow."""

    exit_code = 2
    public = False
    """Whether the message may be shown to somebody who may not see the data."""


class InputError(WinnowError, ValueError):
    """What was given is not usable; nothing was spent."""


class ParameterError(InputError):
    """A parameter, a question, a name or a schema is not usable."""

    public = True


class DataError(InputError):
    """Data, a file, an engine or a path is not usable; for the curator only."""


class ForeignError(DataError):
    """Another library, the system or a value's own code failed; its message is withheld."""


class ExtraMissing(InputError, ImportError):
    """An optional package is needed and not installed."""

    def __init__(self, package: str, extra: str, purpose: str) -> None:
        super().__init__(
            f"{purpose} needs the package '{package}', which is not installed; "
            f"install it with: pip install 'winnow-dp[{extra}]'"
        )


class GuaranteeError(WinnowError):
    """No theorem in the guarantee table covers the asked combination."""

    public = True


class InternalError(WinnowError):
    """A bound that is proven did not hold: a defect of the library, not of its use."""


class SavingError(WinnowError):
    """What was released, and is paid for, could not be saved."""


class BudgetError(WinnowError):
    """A charge is refused; no noise was drawn for it."""

    exit_code = 3


class BudgetExceeded(BudgetError):
    """The charge would pass the cap of the budget."""

    public = True


class RelationMismatch(BudgetError):
    """The event speaks of another neighbour relation than the budget."""

    public = True


class GrantError(BudgetError):
    """A grant, a run or a budget is used twice, copied, or used for what was not charged."""


class SessionExhausted(GrantError, ParameterError):
    """All that a session, a run or a stream was charged for was released."""

    exit_code = 2
    public = True


class LedgerError(BudgetError):
    """The ledger cannot be read or written, or does not prove what it should."""
