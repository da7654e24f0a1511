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
    """Open a session that answers questions about a sealed table, one after another.

    ``session.ask(wn.where(age=(40, 60), sex="Female"))`` answers one question. Later questions may
    depend on earlier answers. The whole session is charged now, and nothing is refunded.

    ``max_queries`` is the number of questions for which the error bounds hold, all together with
    probability 1 - ``beta``. If the number of rows is private, state a public one where the table
    is read: ``wn.read_table(..., rows=)``.

    ``method`` is "auto" (default), a word or an object with options. ``winnow.plan.ask`` compares
    them beforehand.

    - ``wn.Independent()`` adds noise to every answer, for at most ``max_queries`` different
      questions.
    - ``wn.MultiplicativeWeights()`` answers from a hypothesis that learns; for very many
      questions.
    - "auto" takes the one with the smaller expected mean error.

    Options of ``wn.MultiplicativeWeights``:

    - ``updates`` is how often the hypothesis may learn. By default it makes the error bound small.
      ``alpha`` gives an error bound to aim at instead.
    - ``threshold`` is how far off, as a fraction of the rows, the hypothesis may be before it
      learns. A smaller one gives smaller errors while updates last. By default it is low while
      that is affordable, and never above what is proved to last. "proved" uses that one
      throughout.
    - ``warm_start`` is the share of the charge for noisy counts of all pairs of columns to start
      from (of single columns if the domain is too large). "auto" takes a fifth if public numbers
      predict that it helps and no other option is set; 0 takes none.
    - ``fallback`` is the share for independent answers after the updates have run out. "auto"
      takes a quarter after a warm start if that lowers the error bound; 0 takes none.
    - ``universe`` keeps the hypothesis on a sample of that many cells, for domains that exceed
      ``memory`` (which are otherwise kept as a list of updates). ``smoothness`` and ``phi`` then
      say how even the data are; ``phi="rows"`` is for rows that are independent draws [PMW, Claim
      V.1]. ``universe="alpha"`` takes enough cells that sampling costs at most half of ``alpha``
      [PMW, Lemma V.2]. A public list of cells is a universe, too: rows with a label for each
      column, or an array of codes. Some distribution on them should then answer within ``phi`` of
      the data.

    ``state`` names a file from which ``winnow.resume`` continues the session later, or after a
    crash.

    ``pad_to`` hides from the response time whether an answer is fresh. It holds every answer back
    until that many seconds after its question, or until a multiple of that if the answer takes
    longer (``session.late`` counts those). "plan" takes a public estimate.
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
