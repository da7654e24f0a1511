"""``winnow.ask``: question after question under one charge."""

from __future__ import annotations

from pathlib import Path

from winnow.ask.opening import Opened, resumed_session
from winnow.ask.request import Ask
from winnow.core.options import takes
from winnow.core.padding import PadTo, checked
from winnow.foreign import guarded
from winnow.privacy.ledger import Ledger
from winnow.read.crossing import SealedTable, sealed_table


@takes(Ask)
def ask(table: SealedTable, asked: Ask) -> Opened:
    """Open a session in which questions about a sealed table are asked one by one.

    ``session.ask(wn.where(age=(40, 60), sex="Female"))`` answers one question; later questions
    may depend on earlier answers. The whole session is charged now and nothing is refunded.
    ``max_queries`` is the number of questions for which error bounds are to hold, all together
    with probability 1 - ``beta``. Where the number of rows is private, a public one is stated
    where the table is read: ``wn.read_table(..., rows=)``.

    ``method`` is ``wn.Independent()`` (noise on every answer, for at most ``max_queries``
    different questions), ``wn.MultiplicativeWeights()`` (a hypothesis answers and learns: for
    very many questions) or "auto" (default): the one with the smaller mean error to expect, which
    ``winnow.plan.ask`` tells beforehand.

    The options of ``wn.MultiplicativeWeights``: the cap on updates is chosen to make the error
    bound small, unless ``updates`` or ``alpha`` (an error bound to aim at) is given. ``threshold``
    sets the test itself, as a fraction of the rows: a smaller one gives smaller errors while
    updates last. By default it is low while that is affordable, and never higher than what is
    proved to last; "proved" is that one throughout. ``warm_start`` is the share of the charge for
    noisy counts of all pairs of columns to start from (of single columns where the domain is too
    large to fit them); "auto" takes a fifth where public numbers predict that it helps and nothing
    else is set by hand, 0 none. ``fallback`` is the share for independent answers to all questions
    that come when updates have run out; "auto" takes a quarter after a warm start where that
    lowers the error bound, 0 none.

    Domains that do not fit its ``memory`` are kept as the list of updates. ``universe`` samples so
    many cells instead; ``smoothness`` and ``phi`` then say how even the data are;
    ``phi="rows"`` is for rows that are independent draws [PMW, Claim V.1].
    ``universe="alpha"`` takes so many that sampling costs at most half of ``alpha`` [PMW, Lemma
    V.2]. A public list of cells is a universe, too: rows with a label for each column, or an
    array of codes; some distribution on them is then to answer within ``phi`` of the data.

    ``state`` names a file from which ``winnow.resume`` goes on after a crash or later.

    ``pad_to`` holds every answer back until so many seconds after its question, or until a
    multiple of that if it takes longer (``session.late`` counts those): whether an answer is fresh
    shows in the time it takes. "plan" takes a public estimate.
    """
    return asked.open(sealed_table(table))


@guarded
def resume(
    table: SealedTable,
    state: str | Path,
    *,
    ledger: str | Path | Ledger | None = None,
    ledger_key: str | Path | None = None,
    pad_to: PadTo = None,
) -> Opened:
    """Continue a session of ``winnow.ask`` from its state file, without a second charge.

    The table must be the one that the session was opened with. Counts released before are
    answered again as they were; no noise is used twice.

    A session that was charged to a ledger needs it again, because only the ledger can tell the
    latest state file from an older copy, which is refused. A file is found where it was unless
    ``ledger`` names another place; a database has to be named. ``pad_to`` holds answers back, as
    in ``winnow.ask``.
    """
    sealed_table(table)
    checked(pad_to)
    return resumed_session(table, state, ledger, ledger_key).padded(pad_to)
