"""The one way from a plan to a release: check, charge, spend, draw, write the receipt.

A plan follows from public numbers alone. ``run`` charges it, and the spent grant gives the key
that opens what is sealed, for one draw. Nothing else charges, spends or opens.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from winnow.core.key import SPENT, Key
from winnow.core.logs import tell
from winnow.core.padding import SPARE, Padding
from winnow.core.relation import Relation
from winnow.core.released import Receipt, Released
from winnow.core.tape import Randomness, Tape, WrittenKey
from winnow.core.threads import available
from winnow.core.unit import Unit
from winnow.errors import GrantError, ParameterError, RelationMismatch
from winnow.privacy import Budget, Event, Grant, Guarantee, Promise, describe, single_use_grant
from winnow.privacy.sizing import checked_budget

if TYPE_CHECKING:
    from winnow.core.plan import Mechanism, Plan, Private

R = TypeVar("R")
D = TypeVar("D", bound="Private")


def run(
    plan: Plan[D, R],
    data: D,
    *,
    budget: Budget | None = None,
    seed: int | None = None,
    padding: Padding | None = None,
) -> Released[R]:
    """Check the data, charge the plan's event, draw once, and release the result.

    ``padding`` is the clock of the call, where the result is to be held back.
    """
    randomness = _randomness(seed, budget)
    _check(plan, data)
    grant = charge(plan.event, budget, data.unit, stated=plan.guarantee, at_once=True)
    return _released(plan, data, grant, randomness.tape(), padding or Padding(None))


def open_run(
    plan: Plan[D, R],
    unit: Unit,
    *,
    budget: Budget | None = None,
    tape: Tape,
    noted: Callable[[str], None] = lambda record: None,
    **recorded: Any,
) -> tuple[Key, Receipt]:
    """Charge a run that goes on after this call; its key lasts until the run ends it.

    ``noted`` writes the record of the charge down before anything is spent, where a run keeps a
    journal; ``recorded`` is what a recorded budget writes beside the charge.
    """
    grant = charge(plan.event, budget, unit, stated=plan.guarantee, **recorded)
    noted(grant.record)
    key, receipt = spend(plan.name, plan.promised, grant, tape)
    tell("opened", lambda: _drawn(plan, unit, key.tape))
    return key, replace(receipt, reason=plan.reason)


def _check(plan: Plan[D, R], data: D) -> None:
    if not isinstance(getattr(data, "relation", None), Relation):
        raise ParameterError(
            f"a {type(data).__name__} is not sealed; give sealed data of the kind that the plan "
            "was made for"
        )
    if data.relation is not plan.relation:
        raise RelationMismatch(
            f"the plan is for data under {plan.relation}, and these are under {data.relation}; "
            "plan again for these"
        )
    available()  # WINNOW_THREADS is refused before the charge
    plan.check(data)


def _released(plan: Plan[D, R], data: D, grant: Grant, tape: Tape, padding: Padding) -> Released[R]:
    with padding.held(lambda: SPARE * plan.seconds):
        key, receipt = spend(plan.name, plan.promised, grant, tape)
        try:
            with np.errstate(all="ignore"):  # a warning about a rounded product would be a leak
                value = plan.draw(data, key)
        finally:
            key.end()
    receipt = replace(receipt, reason=plan.reason, held=padding.note)
    tell("released", lambda: _drawn(plan, data.unit, tape))
    return Released(value, plan.guarantee, receipt).about(data.unit)


def written_key(budget: Budget | None) -> WrittenKey | None:
    """The key that a budget for one release brings for its noise."""
    return None if budget is None else checked_budget(budget).written


def _randomness(seed: int | None, budget: Budget | None) -> Randomness:
    """Where noise comes from: of a charge with a written key, from that key."""
    key = written_key(budget)
    if key is None or isinstance(seed, WrittenKey):
        return Randomness(seed)
    if seed is not None:
        raise ParameterError(
            "seed= and a request that can be drawn again contradict each other: its noise comes "
            "from a secret key; leave out seed="
        )
    return Randomness(key)


def _drawn(plan: Plan[Any, Any], unit: Unit, tape: Tape) -> dict[str, Any]:
    """What a log is told of a draw: its guarantee in the words of the data's unit."""
    guarantee = str(plan.guarantee.about(unit))
    return {"mechanism": plan.name, "guarantee": guarantee, "randomness": tape.kind}


def charge(
    event: Event,
    budget: Budget | None,
    unit: Unit,
    *,
    stated: Guarantee | None = None,
    at_once: bool = False,
    **recorded: Any,
) -> Grant:
    """The grant for an event about a unit, charged to the budget where there is one.

    ``stated`` is what its plan states. ``at_once`` says that one release is drawn for it at once,
    with the budget's written key where it has one; a run that goes on after its charge is refused
    such a budget.
    ``recorded`` is what a recorded budget writes beside the charge: the session it belongs to.
    """
    if not at_once and written_key(budget) is not None:
        raise GrantError(
            "request= is for a single release, and this run goes on after its charge; charge it "
            "to a budget without request="
        )
    if budget is None:
        grant = single_use_grant(event)
    else:
        grant = checked_budget(budget).charge(event, unit=unit, stated=stated, **recorded)
    # A ledger's entry by its number: its hash is of the moment, and stands on the receipt.
    entry = grant.record.partition(":")[0]
    tell("charged", lambda: {"charge": describe(event), "unit": unit, "ledger": entry})
    return grant


def spend(mechanism: str, promised: Promise, grant: Grant, tape: Tape) -> tuple[Key, Receipt]:
    """Use up the tape and the grant for what was promised, once: the key, and the receipt.

    The tape is claimed first: a tape that was used before must not cost a grant.
    """
    if grant.written and grant.written != tape.written:
        raise GrantError(
            "this charge belongs to a draw from the key that was written down with it, and other "
            "randomness was given: that would be a second release. Give that key instead of seed="
        )
    receipt = receipt_of(mechanism, promised, tape, grant.record)
    tape.claim()
    grant.redeem(promised.event)
    return Key(tape, spent=SPENT), receipt


def resumed(mechanism: str, promised: Promise, tape: Tape, record: str) -> tuple[Key, Receipt]:
    """The key of a run that goes on under a charge that its journal proves was made before."""
    receipt = receipt_of(mechanism, promised, tape, record)
    tape.claim()
    return Key(tape, spent=SPENT), receipt


def single_run(mechanism: Mechanism, relation: Relation, tape: Tape) -> tuple[Key, Receipt]:
    """One run that nothing adds up with others: for audits, on made-up data."""
    promised = mechanism.promise(relation)
    return spend(mechanism.name, promised, single_use_grant(promised.event), tape)


def receipt_of(mechanism: str, promised: Promise, tape: Tape, record: str) -> Receipt:
    """The receipt of a mechanism that draws the stated law exactly."""
    return Receipt(
        mechanism, promised.event, promised.citation, tape.kind, exact=True, ledger=record
    )
