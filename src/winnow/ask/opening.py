"""Put a session together: its files, its charge, its private part and its hypothesis."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from winnow.ask.constants import InteractivePlan, InteractiveRequest
from winnow.ask.independent import Independent
from winnow.ask.independent_answers import OpenAnswers
from winnow.ask.independent_plan import IndependentPlan, plan_independent
from winnow.ask.journal import Journal
from winnow.ask.mechanism import OpenRounds
from winnow.ask.session import Interactive
from winnow.ask.sizing import plan_interactive
from winnow.ask.state import CellState, ImplicitState, PointState, State, product_prior
from winnow.ask.warm_start import PAIRS, deviation_of, fitted_start
from winnow.core.checks import exact, one_of, probability
from winnow.core.released import Receipt
from winnow.core.run import charge, resumed, spend
from winnow.core.schema import Schema
from winnow.core.tape import Randomness
from winnow.core.workloads.reductions import sample_cells
from winnow.errors import BudgetError, DataError, InputError, LedgerError, ParameterError
from winnow.privacy import Budget, Grant, Promise
from winnow.privacy.ledger import Ledger, RecordedBudget, RecordedSession
from winnow.privacy.ledger.locks import Hold
from winnow.read.crossing import SealedTable

WEIGHTS, INDEPENDENT, RECOMMENDED = "multiplicative-weights", "independent", "recommended"
METHODS = (WEIGHTS, INDEPENDENT, RECOMMENDED)

Plan = InteractivePlan | IndependentPlan


def chosen_plan(
    method: str, request: InteractiveRequest, budget: Budget | None
) -> tuple[Plan, str]:
    """The constants of a session, from public numbers only, and why this method."""
    one_of(METHODS, method=method)
    if method == INDEPENDENT:
        return _useful(plan_independent(_for_independent(request, budget))), ""
    if method == WEIGHTS:
        return plan_interactive(_for_weights(request, budget)), ""
    if request.of_hypothesis:
        reason = f"{request.of_hypothesis[0]} was given, which is for a hypothesis"
        return plan_interactive(_for_weights(request, budget)), reason
    bare = InteractiveRequest(
        request.cells, request.epsilon, request.delta, request.max_queries, request.beta,
        request.relation, request.rows_per_person, request.public_rows, request.rows,
    )  # fmt: skip
    single = plan_independent(_for_independent(bare, budget))
    try:
        weights = plan_interactive(_for_weights(request, budget))
    except InputError:
        return _useful(single), "recommended: multiplicative weights would learn nothing here"
    compared = (
        f"recommended: a mean error of about {{:.3g}} against {{:.3g}} for "
        f"{request.max_queries:,} questions"
    )
    if weights.typical < single.typical or single.bound >= 1:
        return weights, compared.format(weights.typical, single.typical)
    return _useful(single), compared.format(single.typical, weights.typical)


def _useful(plan: IndependentPlan) -> IndependentPlan:
    if plan.bound >= 1:
        raise ParameterError(
            "with independent noise an answer could be off by all rows, so nothing would be "
            "learned; ask for a larger epsilon, fewer questions, or more rows"
        )
    return plan


def _for_independent(request: InteractiveRequest, budget: Budget | None) -> InteractiveRequest:
    """Under a budget: what its rho pays for, without the delta that it keeps for other events."""
    if budget is None:
        return request
    probability(delta=request.delta)
    delta, reserved = exact("delta", request.delta), exact("delta", budget.left.delta_cap)
    if budget.accountant == "zcdp" and reserved < delta:
        delta -= reserved
    return replace(request, accountant="zcdp", delta=delta)


def _for_weights(request: InteractiveRequest, budget: Budget | None) -> InteractiveRequest:
    if budget is None:
        return request
    probability(delta=request.delta)
    lost = min(exact("delta", budget.left.delta), exact("delta", request.delta) / 2)
    if budget.accountant == "pure" or lost <= 0:
        raise ParameterError(
            "multiplicative weights need a budget with a delta of which a part is left for events: "
            "open it with delta= (and delta_for_events= for accountant='zcdp'); or use "
            "method='independent'"
        )
    return replace(request, accountant="zcdp", lost=lost)


Opened = Interactive | Independent


def opened_session(
    plan: Plan,
    table: SealedTable,
    *,
    explicit: bool,
    reason: str,
    state: str | Path | None,
    budget: Budget | None,
    seed: int | None,
) -> Opened:
    """Charge, and open; what is written down survives whatever happens in between."""
    account = budget if isinstance(budget, RecordedBudget) else None
    unit = table.unit
    plan = replace(plan, guarantee=plan.guarantee.about(unit))
    plan.mechanism.check(table.rows_per_person)
    if state is None:
        hold = None if account is None else account.ledger.hold(account.dataset)
        try:
            tape = Randomness(seed).tape()
            grant = charge(plan.event, budget, unit)
            key, receipt = spend(plan.mechanism.name, _promised(plan, table), grant, tape)
            run = plan.mechanism.open(table, key, None)
        except BaseException:
            if hold is not None:
                hold.release()
            raise
        return _session(
            plan, table, run, receipt, None, explicit=explicit, reason=reason, hold=hold
        )
    header = {"plan": _plain(plan), "explicit": explicit, "reason": reason}
    journal = Journal.create(state, table, header, seed, _address(account))
    grant = _charged(plan, journal, account, budget)
    try:
        journal.opened(grant.record)
        promised = _promised(plan, table)
        key, receipt = spend(plan.mechanism.name, promised, grant, journal.tape())
        run = plan.mechanism.open(table, key, journal)
        return _session(plan, table, run, receipt, journal, explicit=explicit, reason=reason)
    except BaseException:
        journal.close(None)
        raise


def _charged(
    plan: Plan, journal: Journal, account: RecordedBudget | None, budget: Budget | None
) -> Grant:
    """The charge, under the name of the session; a refused one leaves no files behind."""
    try:
        if account is None:
            return charge(plan.event, budget, plan.guarantee.unit)
        journal.bind(RecordedSession(account.ledger, account.dataset, journal.session))
        unit = plan.guarantee.unit
        return charge(plan.event, account, unit, session=journal.session)
    except LedgerError:  # the charge may be recorded all the same
        charged = True
        if account is not None:
            with suppress(LedgerError):
                found = account.ledger.session_entry("charge", account.dataset, journal.session)
                charged = found is not None
        journal.close(None) if charged else journal.abandon()
        raise
    except BudgetError:
        journal.abandon()
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
    """Go on with the session of a state file, without a second charge."""
    journal = Journal.open(state, table)
    recorded = None
    try:
        recorded = _recorded(journal, ledger, ledger_key, dataset)
        header = journal.header["plan"]
        plan = _plan(dict(header["plan"]))
        kept = journal.go_on(recorded, plan.event)
        table = table.under(plan.event.relation)
        promised = _promised(plan, table)
        key, receipt = resumed(plan.mechanism.name, promised, journal.tape(), kept.record)
        run = plan.mechanism.reopen(table, key, journal, kept)
        return _session(
            plan, table, run, receipt, journal,
            explicit=bool(header["explicit"]), reason=str(header["reason"]),
        )  # fmt: skip
    except BaseException:
        journal.close(None)
        if recorded is not None:
            recorded.release()
        raise


def _promised(plan: Plan, table: SealedTable) -> Promise:
    """What the whole session is charged, and why."""
    return plan.mechanism.promise(table.relation)


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


def _plan(document: dict[str, Any]) -> Plan:
    kind = InteractivePlan if "updates" in document else IndependentPlan
    return kind.from_dict(document)


def _plain(plan: Plan) -> dict[str, object]:
    """As it will be read back, so that what is signed is what is found."""
    found: dict[str, object] = json.loads(json.dumps(plan.to_dict()))
    return found


def _session(
    plan: Plan,
    table: SealedTable,
    run: OpenRounds | OpenAnswers,
    receipt: Receipt,
    journal: Journal | None,
    *,
    explicit: bool,
    reason: str,
    hold: Hold | None = None,
) -> Opened:
    session: Opened
    schema, unit = table.schema, table.unit
    if isinstance(plan, IndependentPlan):
        assert isinstance(run, OpenAnswers)
        why = reason or f"as asked; {plan.max_queries} questions"
        receipt = replace(receipt, reason=why).about(unit)
        session = Independent(plan, schema, run, receipt, journal, hold)
    else:
        assert isinstance(run, OpenRounds)
        why = f"{plan.calibration}; {plan.max_queries} questions"
        why = f"{why}; {reason}" if reason else why
        receipt = replace(receipt, reason=why).about(unit)
        weights = _state(plan, schema, run, journal, explicit=explicit)
        session = Interactive(plan, schema, weights, run, receipt, journal, hold)
    if journal is not None:
        session.replay(journal.updates(schema))
        if isinstance(session, Interactive):
            session.recall(journal.answers(schema))
    return session


def _state(
    plan: InteractivePlan,
    schema: Schema,
    rounds: OpenRounds,
    journal: Journal | None,
    *,
    explicit: bool,
) -> State:
    prior, mix = None, 1.0
    if plan.prior_multiplier is not None:
        kept = None if journal is None else _kept_prior(journal)
        counts = rounds.prior() if kept is None else kept
        if journal is not None and kept is None:
            journal.note(prior=[counted.tolist() for counted in counts])
        mix = plan.prior_mix
        if plan.prior_ways == PAIRS:
            deviation = deviation_of(
                schema.shape, plan.prior_multiplier, plan.rows_per_person, plan.event.relation
            )
            start = fitted_start(schema.shape, counts, plan.rows, deviation)
            return CellState(schema, start, mix)
        prior = product_prior(counts)
    if plan.universe is not None:
        points = (
            sample_cells(schema, plan.universe, plan.universe_seed)
            if plan.listed is None
            else np.array(plan.listed, np.int64)
        )
        return PointState(points, prior, mix)
    return CellState(schema, prior, mix) if explicit else ImplicitState(schema, prior, mix)


def _kept_prior(journal: Journal) -> list[np.ndarray[tuple[int], np.dtype[np.int64]]] | None:
    for entry in journal.records:
        if "prior" in entry:
            return [np.array(counted, np.int64) for counted in entry["prior"]]
    return None
