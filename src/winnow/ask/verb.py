"""``winnow.open_interactive``: ask question after question under one charge."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from winnow.ask.constants import InteractiveRequest
from winnow.ask.listed import universe_of
from winnow.ask.opening import Opened, chosen_plan, opened_session, resumed_session
from winnow.core.checks import Real
from winnow.core.padding import PadTo, checked
from winnow.core.process import parse_memory
from winnow.core.relation import Relation
from winnow.core.tape import Randomness
from winnow.foreign import guarded
from winnow.privacy import Budget
from winnow.privacy.ledger import Ledger
from winnow.read.crossing import SealedTable, sealed_table

_BYTES_PER_CELL = 32


@guarded
def open_interactive(
    table: SealedTable,
    *,
    epsilon: Real,
    delta: Real,
    method: str = "recommended",
    max_queries: int = 10_000,
    beta: Real = 0.05,
    relation: str | Relation | None = None,
    rows: int | None = None,
    updates: int | None = None,
    alpha: Real | None = None,
    threshold: Real | str | None = None,
    calibration: str = "target-charging",
    warm_start: Real | str = "auto",
    fallback: Real | str = "auto",
    universe: Any = None,
    smoothness: Real | None = None,
    phi: Real | str = 0.0,
    universe_seed: int = 0,
    memory: str | int = "1GB",
    state: str | Path | None = None,
    pad_to: PadTo = None,
    budget: Budget | None = None,
    seed: int | None = None,
) -> Opened:
    """Open an interactive session on a sealed table.

    ``session.ask(wn.where(age=(40, 60), sex="Female"))`` answers one question; later questions
    may depend on earlier answers. The whole session is charged now and nothing is refunded.
    ``max_queries`` is the number of questions for which the error bound is to hold.

    ``method`` is 'recommended' (the one of the others with the smaller usual errors, which
    ``winnow.plan.interactive`` tells beforehand), 'multiplicative-weights' (a hypothesis answers
    and learns: for very many questions) or 'independent' (noise on every answer, for at most
    ``max_queries`` different questions). What follows is about the hypothesis.

    The cap on updates is chosen to make the error bound small, unless ``updates`` or ``alpha``
    (an error bound to aim at) is given. ``threshold`` sets the test itself, as a fraction of
    the rows: a smaller one gives smaller errors while updates last. By default it is low while
    that is affordable, and never higher than what is proved to last; "proved" is that one
    throughout. ``warm_start`` is the share of the charge for noisy counts of all pairs of columns
    to start from (of single columns where the domain is too large to fit them); "auto" takes a
    fifth where public numbers predict that it helps and nothing else is set by hand, 0 none.
    ``fallback`` is the share for independent answers to all questions that come when updates have
    run out; "auto" takes a quarter after a warm start where that lowers the error bound, 0 none.
    ``rows`` is a public number of rows, needed where the true number is private.

    Domains that do not fit ``memory`` are kept as the list of updates. ``universe`` samples so
    many cells instead; ``smoothness`` and ``phi`` then say how even the data are;
    ``phi="rows"`` is for rows that are independent draws [PMW, Claim V.1].
    ``universe="alpha"`` takes so many that sampling costs at most half of ``alpha`` [PMW, Lemma
    V.2]. A public list of cells is a universe, too: rows with a label for each column, or an
    array of codes; some distribution on them is then to answer within ``phi`` of the data.

    ``state`` names a file from which ``resume_interactive`` goes on after a crash or later.

    ``pad_to`` holds every answer back until so many seconds after its question, or until a
    multiple of that if it takes longer (``session.late`` counts those): whether an answer is fresh
    shows in the time it takes. "plan" takes a public estimate.
    """
    table = sealed_table(table, relation)
    checked(pad_to)
    universe, listed = universe_of(table.schema, universe)
    explicit = _BYTES_PER_CELL * table.schema.cells <= parse_memory(memory)
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
        fallback=fallback,
        universe=universe,
        listed=listed,
        smoothness=smoothness,
        phi=phi,
        universe_seed=universe_seed,
        shape=table.schema.shape if explicit else None,
    )
    Randomness(seed)  # refuses what is not an integer
    plan, reason = chosen_plan(method, request, budget)
    return opened_session(
        plan,
        table,
        explicit=explicit,
        reason=reason,
        state=state,
        budget=budget,
        seed=seed,
    ).padded(pad_to)


@guarded
def resume_interactive(
    table: SealedTable,
    state: str | Path,
    *,
    ledger: str | Path | Ledger | None = None,
    ledger_key: str | Path | None = None,
    pad_to: PadTo = None,
) -> Opened:
    """Go on with a session from its state file, without a second charge.

    The table must be the one that the session was opened with. Counts released before are
    answered again as they were; no noise is used twice.

    A session that was charged to a ledger needs it again, because only the ledger can tell the
    latest state file from an older copy, which is refused. A file is found where it was unless
    ``ledger`` names another place; a database has to be named. ``pad_to`` is as in
    ``open_interactive``.
    """
    sealed_table(table)
    checked(pad_to)
    return resumed_session(table, state, ledger, ledger_key).padded(pad_to)
