"""What every mechanism does before it draws: get a grant, spend it, write the receipt.

Charge first, then draw, then release. ``grant_for`` charges; ``spend`` is the one place where
a tape is claimed and a grant redeemed. Nothing may draw before it.
"""

from __future__ import annotations

from winnow.core.checks import Real, exact
from winnow.core.released import Receipt
from winnow.core.tape import Tape
from winnow.core.unit import Unit
from winnow.errors import GrantError, ParameterError
from winnow.privacy import Budget, Event, Grant, Promise, single_use_grant


def grant_for(event: Event, budget: Budget | None, unit: Unit) -> Grant:
    """The grant for an event about a unit, charged to the budget where there is one."""
    return single_use_grant(event) if budget is None else _budget(budget).charge(event, unit=unit)


def _budget(budget: Budget) -> Budget:
    """The budget; what is none is refused."""
    if not isinstance(budget, Budget):
        raise ParameterError(f"budget is a {type(budget).__name__}; give wn.Budget(epsilon=...)")
    return budget


def spend(mechanism: str, promised: Promise, grant: Grant, tape: Tape) -> Receipt:
    """Use up the tape and the grant for what was promised; noise may be drawn after it, once.

    The tape is claimed first: a tape that was used before must not cost a grant.
    """
    if grant.written and grant.written != tape.written:
        raise GrantError(
            "this charge stands for a draw from a key that was written down with it, and another "
            "tape was given: it would be a second release; give that key in the place of seed="
        )
    receipt = receipt_of(mechanism, promised, tape, grant.record)
    tape.claim()
    grant.redeem(promised.event)
    return receipt


def receipt_of(mechanism: str, promised: Promise, tape: Tape, record: str) -> Receipt:
    """The receipt of a mechanism that draws the stated law exactly."""
    return Receipt(
        mechanism, promised.event, promised.citation, tape.kind, exact=True, ledger=record
    )


def sizing_accountant(budget: Budget, delta: Real) -> str:
    """What sizes the noise under a budget: pure sums without a delta, else what composes."""
    return "pure" if _budget(budget).accountant == "pure" or not exact("delta", delta) else "zcdp"


def rounds_accountant(budget: Budget | None) -> str:
    """What sizes rounds that could be composed better: not better than a budget adds up."""
    if budget is None:
        return "best"
    return "pure" if _budget(budget).accountant == "pure" else "summed"
