"""Put a session together: its files, its charge, its private part and its hypothesis."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from winnow.ask.independent import IndependentSession
from winnow.ask.independent_answers import OpenAnswers
from winnow.ask.journal import Journal
from winnow.ask.mechanism import OpenRounds
from winnow.ask.session import WeightsSession
from winnow.ask.sizes import IndependentSizes, WeightsSizes
from winnow.ask.state import CellState, ImplicitState, PointState, State, product_prior
from winnow.ask.warm_start import PAIRS, deviation_of, fitted_start
from winnow.ask.written import read_plan, written
from winnow.core.key import Key
from winnow.core.released import Receipt
from winnow.core.run import open_run, resumed
from winnow.core.schema import Schema
from winnow.core.tape import Randomness
from winnow.core.workloads.reductions import sample_cells
from winnow.errors import BudgetError, DataError, LedgerError
from winnow.privacy import Budget
from winnow.privacy.ledger import Ledger, RecordedBudget, RecordedSession
from winnow.privacy.ledger.locks import Hold
from winnow.read.crossing import SealedTable

if TYPE_CHECKING:
    from winnow.ask.plan import AskPlan

Opened = WeightsSession | IndependentSession


def opened_session(
    plan: AskPlan,
    table: SealedTable,
    *,
    state: str | Path | None,
    budget: Budget | None,
    seed: int | None,
) -> Opened:
    """Charge, and open; what is written down survives whatever happens in between."""
    account = budget if isinstance(budget, RecordedBudget) else None
    plan = replace(plan, guarantee=plan.guarantee.about(table.unit))
    if state is None:
        hold = None if account is None else account.ledger.hold(account.dataset)
        try:
            tape = Randomness(seed).tape()
            key, receipt = open_run(plan, table.unit, budget=budget, tape=tape)
            run = plan.draw(table, key)
        except BaseException:
            if hold is not None:
                hold.release()
            raise
        return _session(plan, table, run, receipt, None, hold)
    journal = Journal.create(state, table, written(plan), seed, _address(account))
    key, receipt = _paid(plan, journal, account, budget)
    try:
        run = plan.expected.mechanism.open(table, key, journal)
        return _session(plan, table, run, receipt, journal)
    except BaseException:
        journal.close(None)
        raise


def _paid(
    plan: AskPlan, journal: Journal, account: RecordedBudget | None, budget: Budget | None
) -> tuple[Key, Receipt]:
    """The key, for a charge under the name of the session; a refused one leaves no files behind."""
    recorded: dict[str, Any] = {}
    try:
        if account is not None:
            journal.bind(RecordedSession(account.ledger, account.dataset, journal.session))
            recorded["session"] = journal.session
        return open_run(
            plan,
            plan.guarantee.unit,
            budget=budget,
            tape=journal.tape(),
            noted=journal.opened,
            **recorded,
        )
    except LedgerError:  # the charge may be recorded all the same
        charged = True
        if account is not None:
            with suppress(LedgerError):
                entry = account.ledger.session_entry("charge", account.dataset, journal.session)
                charged = entry is not None
        journal.close(None) if charged else journal.abandon()
        raise
    except BudgetError:
        journal.close(None) if journal.charged else journal.abandon()
        raise
    except BaseException:  # interrupted: going on from the file will find out
        journal.close(None)
        raise


def resumed_session(
    table: SealedTable,
    state: str | Path,
    ledger: str | Path | Ledger | None,
    ledger_key: str | Path | None,
    dataset: str | None = None,
) -> Opened:
    """Continue the session of a state file, without a second charge."""
    journal = Journal.open(state, table)
    recorded = None
    try:
        recorded = _recorded(journal, ledger, ledger_key, dataset)
        plan = read_plan(journal.header["plan"], table)
        kept = journal.go_on(recorded, plan.event)
        table = table.under(plan.relation)
        key, receipt = resumed(plan.name, plan.promised, journal.tape(), kept.record)
        run = plan.expected.mechanism.reopen(table, key, journal, kept)
        return _session(plan, table, run, receipt, journal)
    except BaseException:
        journal.close(None)
        if recorded is not None:
            recorded.release()
        raise


def _address(account: RecordedBudget | None) -> dict[str, Any] | None:
    """Where the ledger of a session is found again; a database's address may hold a password."""
    if account is None:
        return None
    ledger = account.ledger
    place = None if ledger.path is None else str(ledger.path.resolve())
    return {
        "identity": ledger.identity,
        "name": ledger.name,
        "dataset": account.dataset,
        "path": place,
        "key": str(ledger.key_file.resolve()),
    }


def _recorded(
    journal: Journal,
    ledger: str | Path | Ledger | None,
    key: str | Path | None,
    dataset: str | None,
) -> RecordedSession | None:
    """The session in its ledger, which alone can tell an old state file from the latest."""
    address = journal.header["ledger"]
    if address is None:
        if ledger is not None or key is not None:
            raise DataError("this session was opened without a ledger; leave it out")
        return None
    if not isinstance(ledger, Ledger):
        place = ledger if ledger is not None else address["path"]
        if place is None:
            raise DataError(
                f"this session is recorded in the ledger {address['name']!r}, whose address is "
                "not written down; give it: ledger='postgresql://...'"
            )
        beside = ledger is not None and key is None and address["path"] is not None
        ledger = Ledger.open(place, key_file=key or (None if beside else address["key"]))
    if ledger.identity != address["identity"]:
        raise DataError(
            f"this session is recorded in another ledger ({address['name']!r}); name that one"
        )
    if dataset is not None and dataset != address["dataset"]:
        raise DataError(
            f"this session is recorded under the dataset {address['dataset']!r}, and {dataset!r} "
            "was given"
        )
    return RecordedSession(ledger, address["dataset"], journal.session)


def _session(
    plan: AskPlan,
    table: SealedTable,
    run: OpenRounds | OpenAnswers,
    receipt: Receipt,
    journal: Journal | None,
    hold: Hold | None = None,
) -> Opened:
    session: Opened
    schema = table.schema
    receipt = replace(receipt, reason=plan.reason).about(table.unit)
    if isinstance(plan.expected, IndependentSizes):
        assert isinstance(run, OpenAnswers)
        session = IndependentSession(plan, schema, run, receipt, journal, hold)
    else:
        assert isinstance(run, OpenRounds)
        weights = _state(plan, plan.expected, schema, run, journal)
        session = WeightsSession(plan, schema, weights, run, receipt, journal, hold)
    if journal is not None:
        session.replay(journal.updates(schema))
        if isinstance(session, WeightsSession):
            session.recall(journal.answers(schema))
    return session


def _state(
    plan: AskPlan, sizes: WeightsSizes, schema: Schema, rounds: OpenRounds, journal: Journal | None
) -> State:
    prior, mix, start = None, 1.0, sizes.start
    if start is not None:
        kept = None if journal is None else _kept_prior(journal)
        counts = rounds.prior() if kept is None else kept
        if journal is not None and kept is None:
            journal.note(prior=[counted.tolist() for counted in counts])
        mix = start.mix
        if start.ways == PAIRS:
            deviation = deviation_of(
                schema.shape, start.multiplier, sizes.rows_per_person, plan.relation
            )
            fitted = fitted_start(schema.shape, counts, sizes.rows, deviation)
            return CellState(schema, fitted, mix)
        prior = product_prior(counts)
    universe = sizes.universe
    if not universe.whole:
        points = (
            sample_cells(schema, universe.kept, universe.seed)
            if universe.listed is None
            else np.array(universe.listed, np.int64)
        )
        return PointState(points, prior, mix)
    return CellState(schema, prior, mix) if plan.explicit else ImplicitState(schema, prior, mix)


def _kept_prior(journal: Journal) -> list[np.ndarray[tuple[int], np.dtype[np.int64]]] | None:
    for entry in journal.records:
        if "prior" in entry:
            return [np.array(counted, np.int64) for counted in entry["prior"]]
    return None
