"""Audits of every guarantee, run by ``winnow audit``: from enumeration to replay.

Nothing here touches private data: audits run on made-up scores. Every audit is also run on
deliberately broken twins, which it has to catch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from winnow.answers.audit import linear_enumerated, linear_faithful, linear_twins
from winnow.audit.accounting import accounted
from winnow.audit.closed_plans import costs_dominate_divergences
from winnow.audit.enumeration import enumerated
from winnow.audit.fidelity import faithful
from winnow.audit.replay.broken import replay_twins
from winnow.audit.replay.compare import replayed
from winnow.audit.replay.coverage import nothing_is_left_out, replays
from winnow.audit.result import AuditResult
from winnow.audit.sampling import sampled
from winnow.audit.twins import caught
from winnow.interactive.audit.claims import (
    interactive_enumerated,
    interactive_faithful,
    interactive_sampled,
    interactive_twins,
)
from winnow.itemsets.audit.claims import (
    baskets_enumerated,
    baskets_faithful,
    baskets_sampled,
    baskets_twins,
)
from winnow.learn.audit.additive import additive_enumerated, additive_twins
from winnow.learn.audit.balanced import balanced_enumerated, balanced_twins
from winnow.lp.audit import lp_enumerated, lp_faithful, lp_twins
from winnow.release.audit.by_rows import by_rows_enumerated, by_rows_twins
from winnow.release.audit.rounds import rounds_enumerated, rounds_faithful, rounds_twins
from winnow.release.audit.warm_start import start_enumerated, start_twins
from winnow.tables.audit import tables_enumerated, tables_faithful, tables_twins
from winnow.wide.audit.claims import (
    marginal_rounds_enumerated,
    marginal_rounds_faithful,
    marginal_rounds_twins,
)


def run_audits(
    *,
    quick: bool = False,
    seed: int = 20261115,
    progress: Callable[[str], None] | None = None,
) -> list[AuditResult]:
    """Run all audits, in the order of `kind`; the same seed gives the same results.

    ``quick`` looks at fewer instances and draws less, in seconds instead of a minute.
    ``progress`` is told each claim as it is decided.
    """
    results: list[AuditResult] = []
    for result in _all(quick, seed):
        results.append(result)
        if progress is not None:
            progress(result.claim)
    return results


def _all(quick: bool, seed: int) -> Iterator[AuditResult]:
    yield from enumerated(quick=quick)
    yield from baskets_enumerated(quick=quick)
    yield from rounds_enumerated(quick=quick)
    yield from start_enumerated()
    yield from by_rows_enumerated()
    yield from tables_enumerated(quick=quick)
    yield from linear_enumerated(quick=quick)
    yield from additive_enumerated(quick=quick)
    yield from balanced_enumerated(quick=quick)
    yield from marginal_rounds_enumerated(quick=quick)
    yield from interactive_enumerated(quick=quick)
    yield from lp_enumerated(quick=quick)
    yield from sampled(quick=quick, seed=seed)
    yield from baskets_sampled(quick=quick, seed=seed)
    yield from interactive_sampled(quick=quick, seed=seed)
    yield from faithful(quick=quick, seed=seed)
    yield from baskets_faithful(quick=quick, seed=seed)
    yield from rounds_faithful(quick=quick, seed=seed)
    yield from tables_faithful(quick=quick, seed=seed)
    yield from linear_faithful(quick=quick, seed=seed)
    yield from marginal_rounds_faithful(quick=quick, seed=seed)
    yield from interactive_faithful(quick=quick, seed=seed)
    yield from lp_faithful(quick=quick, seed=seed)
    yield from accounted()
    yield from costs_dominate_divergences()
    yield nothing_is_left_out(replays())
    yield from replayed(replays(), quick=quick, seed=seed)
    yield from caught(quick=quick, seed=seed)
    yield from baskets_twins(quick=quick, seed=seed)
    yield from rounds_twins(quick=quick, seed=seed)
    yield from start_twins()
    yield from by_rows_twins()
    yield from tables_twins(quick=quick, seed=seed)
    yield from linear_twins(quick=quick, seed=seed)
    yield from additive_twins(quick=quick)
    yield from balanced_twins(quick=quick)
    yield from marginal_rounds_twins(quick=quick, seed=seed)
    yield from interactive_twins(quick=quick, seed=seed)
    yield from lp_twins(quick=quick, seed=seed)
    yield from replay_twins(seed=seed)
