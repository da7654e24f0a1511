"""How tests run a mechanism by itself: with a grant and a tape of their own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from winnow.core.key import Key
from winnow.core.padding import Padding
from winnow.core.plan import Plan
from winnow.core.relation import Relation
from winnow.core.released import Receipt, Released
from winnow.core.run import _check, _released, single_run, spend
from winnow.core.tape import Tape
from winnow.privacy import guarantee_of
from winnow.select.mechanisms.lipschitz import PermuteAndFlip


def plan_of(mechanism: Any, relation: Relation, *public: Any) -> Plan[Any, Any]:
    """The plan of one draw; ``public`` is what the draw needs besides its private data."""
    promised = mechanism.promise(relation)
    if hasattr(mechanism, "guarantee"):
        guarantee = mechanism.guarantee(promised)
    else:
        guarantee = guarantee_of(promised.event, getattr(mechanism, "delta", 1e-6))
    return Plan(
        mechanism=mechanism,
        relation=relation,
        guarantee=guarantee,
        draw=lambda data, key: mechanism.drawn(data, *public, key),
        check=mechanism.check,
    )


def released(mechanism: Any, data: Any, grant: Any, tape: Tape, *public: Any) -> Released[Any]:
    """Check, spend the grant, draw once."""
    plan = plan_of(mechanism, data.relation, *public)
    _check(plan, data)
    return _released(plan, data, grant, tape, Padding(None))


def paid_key(mechanism: Any, relation: Relation, seed: int | Tape = 1) -> Key:
    """The key of one run on made-up data."""
    tape = seed if isinstance(seed, Tape) else Tape.seeded(seed)
    return single_run(mechanism, relation, tape)[0]


@dataclass(frozen=True)
class OpenedRun:
    """A run that goes on, and its receipt."""

    run: Any
    receipt: Receipt
    key: Key


def spent(mechanism: Any, relation: Relation, grant: Any, tape: Tape) -> tuple[Key, Receipt]:
    """The key and the receipt of a run that goes on."""
    return spend(mechanism.name, mechanism.promise(relation), grant, tape)


def any_key() -> Key:
    """A key for tests of draws below the level where anything is charged."""
    return paid_key(PermuteAndFlip(1), Relation.ADD_REMOVE, 0)
