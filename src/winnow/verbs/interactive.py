"""``winnow.open_interactive``: ask question after question under one charge."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np

from winnow.algorithms.implicit_state import ImplicitState
from winnow.algorithms.interactive import Interactive
from winnow.algorithms.interactive_plan import InteractivePlan, InteractiveRequest
from winnow.algorithms.interactive_sizing import PRIOR_MIX, plan_interactive
from winnow.algorithms.interactive_state import CellState, PointState, State, product_prior
from winnow.domain.checks import Real, exact, probability
from winnow.domain.memory import parse_memory
from winnow.domain.neighbours import Relation
from winnow.domain.schema import Schema
from winnow.errors import BudgetError, InputError
from winnow.mechanisms.journal import Journal
from winnow.mechanisms.multiplicative_weights import OpenRounds
from winnow.privacy import Budget
from winnow.random.tape import Randomness
from winnow.sealed.tables import SealedTable
from winnow.verbs.charging import grant_for

_BYTES_PER_CELL = 32


def open_interactive(
    table: SealedTable,
    *,
    epsilon: Real,
    delta: Real,
    max_queries: int = 10_000,
    beta: Real = 0.05,
    relation: str | Relation | None = None,
    rows: int | None = None,
    updates: int | None = None,
    alpha: Real | None = None,
    threshold: Real | None = None,
    calibration: str = "target-charging",
    warm_start: Real = 0.0,
    universe: int | None = None,
    smoothness: Real | None = None,
    phi: Real = 0.0,
    universe_seed: int = 0,
    memory: str | int = "1GB",
    state: str | Path | None = None,
    budget: Budget | None = None,
    seed: int | None = None,
) -> Interactive:
    """Open a session of private multiplicative weights on a sealed table.

    ``session.ask(wn.where(age=(40, 60), sex="Female"))`` answers one question; later questions
    may depend on earlier answers. The whole session is charged now and nothing is refunded.
    ``max_queries`` is the number of questions for which the error bound is to hold.

    The cap on updates is chosen to make the error bound small, unless ``updates`` or ``alpha``
    (an error bound to aim at) is given. ``threshold`` sets the test itself, as a fraction of
    the rows: a smaller one gives smaller errors while updates last. ``warm_start`` is the share
    of the budget for noisy one-way counts to start from. ``rows`` is a public number of rows,
    needed where the true number is private.

    Domains that do not fit ``memory`` are kept as the list of updates. ``universe`` samples so
    many cells instead; ``smoothness`` and ``phi`` then say how even the data are.

    ``state`` names a file from which ``resume_interactive`` goes on after a crash or later.
    ``winnow.plan.interactive`` says beforehand whether independent noise would be better.
    """
    if not isinstance(table, SealedTable):
        raise InputError(
            f"a {type(table).__name__} is not a sealed table; read it with wn.read_table"
        )
    if relation is not None:
        table = table.under(relation)
    lost = None
    accountant = "tight"
    if budget is not None:
        accountant = "zcdp"
        probability(delta=delta)
        lost = min(exact("delta", budget.left.delta), exact("delta", delta) / 2)
        if budget.accountant != "zcdp" or lost <= 0:
            raise InputError(
                "an interactive session needs a zcdp budget with a part of delta set aside: open "
                "it with delta_for_events, for example a tenth of delta"
            )
    request = InteractiveRequest(
        cells=table.schema.cells,
        epsilon=epsilon,
        delta=delta,
        max_queries=max_queries,
        beta=beta,
        relation=table.relation,
        rows_per_person=table.rows_per_person,
        public_rows=table.n,
        rows=rows,
        updates=updates,
        threshold=threshold,
        alpha=alpha,
        calibration=calibration,
        warm_start=warm_start,
        universe=universe,
        smoothness=smoothness,
        phi=phi,
        universe_seed=universe_seed,
        accountant=accountant,
        lost=lost,
    )
    limit = parse_memory(memory)
    randomness = Randomness(seed)
    plan = plan_interactive(request)
    mechanism = plan.mechanism
    mechanism.check(table.rows_per_person)
    journal = None
    if state is not None:
        header = _plain(plan) | {"explicit": _fits(table.schema, limit)}
        journal = Journal.create(state, table, header, seed)
    try:
        grant = grant_for(plan.event, budget)
    except BudgetError:
        if journal is not None:
            journal.abandon()
        raise
    if journal is not None:
        journal.opened(grant.record)
    tape = randomness.tape() if journal is None else journal.tape()
    rounds = mechanism.open(table, grant, tape, journal)
    explicit = _fits(table.schema, limit)
    return _session(plan, table.schema, rounds, journal, explicit=explicit)


def resume_interactive(table: SealedTable, state: str | Path) -> Interactive:
    """Go on with a session from its state file, without a second charge.

    The table must be the one that the session was opened with. Counts released before are
    answered again as they were; no noise is used twice.
    """
    if not isinstance(table, SealedTable):
        raise InputError(
            f"a {type(table).__name__} is not a sealed table; read it with wn.read_table"
        )
    journal = Journal.open(state, table)
    try:
        record = journal.record
        header = dict(journal.header["plan"])
        explicit = bool(header.pop("explicit"))
        plan = InteractivePlan.from_dict(header)
        table = table.under(plan.event.relation)
        rounds = plan.mechanism.reopen(
            table, journal.tape(), journal, record=record, kept=journal.kept
        )
        return _session(plan, table.schema, rounds, journal, explicit=explicit)
    except BaseException:
        journal.close(None)
        raise


def _plain(plan: InteractivePlan) -> dict[str, object]:
    """As it will be read back, so that what is signed is what is found."""
    found: dict[str, object] = json.loads(json.dumps(plan.to_dict()))
    return found


def _fits(schema: Schema, limit: int) -> bool:
    return _BYTES_PER_CELL * schema.cells <= limit


def _session(
    plan: InteractivePlan,
    schema: Schema,
    rounds: OpenRounds,
    journal: Journal | None,
    *,
    explicit: bool,
) -> Interactive:
    prior, mix = None, 1.0
    if plan.prior_multiplier is not None:
        kept = None if journal is None else _kept_prior(journal)
        counts = rounds.prior() if kept is None else kept
        if journal is not None and kept is None:
            journal.note(prior=[counted.tolist() for counted in counts])
        prior, mix = product_prior(counts), PRIOR_MIX
    state: State
    if plan.universe is not None:
        state = PointState(schema, plan.universe, plan.universe_seed, prior, mix)
    elif explicit:
        state = CellState(schema, prior, mix)
    else:
        state = ImplicitState(schema, prior, mix)
    receipt = replace(rounds.receipt, reason=f"{plan.calibration}; {plan.max_queries} questions")
    session = Interactive(plan, schema, state, rounds, receipt, journal)
    if journal is not None:
        session.replay(journal.updates(schema))
    return session


def _kept_prior(journal: Journal) -> list[np.ndarray[tuple[int], np.dtype[np.int64]]] | None:
    for entry in journal.records:
        if "prior" in entry:
            return [np.array(counted, np.int64) for counted in entry["prior"]]
    return None
