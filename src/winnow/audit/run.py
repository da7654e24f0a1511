"""Audits of every guarantee, run by ``winnow audit``: from enumeration to replay.

Nothing here touches private data: audits run on made-up scores. Every audit is also run on
deliberately broken twins, which it has to catch.
"""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from itertools import chain

from winnow.ask.audit.claims import (
    ask_enumerated,
    ask_faithful,
    ask_sampled,
    ask_twins,
)
from winnow.audit.accounting import accounted
from winnow.audit.closed_plans import costs_dominate_divergences
from winnow.audit.enumeration import enumerated
from winnow.audit.fidelity import faithful
from winnow.audit.replay.borders import border_twins, borders_replayed
from winnow.audit.replay.broken import replay_twins
from winnow.audit.replay.compare import Replay, replayed
from winnow.audit.replay.coverage import nothing_is_left_out, replays
from winnow.audit.result import KINDS, AuditResult
from winnow.audit.sampling import sampled
from winnow.audit.twins import caught
from winnow.itemsets.audit.claims import (
    baskets_enumerated,
    baskets_faithful,
    baskets_sampled,
    baskets_twins,
)
from winnow.itemsets.audit.weighted import (
    weighted_enumerated,
    weighted_faithful,
    weighted_twins,
)
from winnow.learn.audit.additive import additive_enumerated, additive_twins
from winnow.learn.audit.balanced import balanced_enumerated, balanced_twins
from winnow.learn.audit.binned import binned_enumerated, binned_faithful, binned_twins
from winnow.learn.audit.boosted import boosted_enumerated, boosted_twins
from winnow.learn.audit.calibrated import calibrated_enumerated, calibrated_twins
from winnow.learn.audit.either import either_enumerated, either_faithful, either_twins
from winnow.lp.audit import lp_enumerated, lp_faithful, lp_twins
from winnow.numbers.audit.halving import quantiles_enumerated, quantiles_faithful, quantiles_twins
from winnow.numbers.audit.joint import joint_enumerated, joint_faithful, joint_twins
from winnow.numbers.bounds.audit import bounds_enumerated, bounds_faithful, bounds_twins
from winnow.numbers.histogram.audit import histogram_enumerated, histogram_twins
from winnow.numbers.moments.audit import moments_enumerated, moments_faithful, moments_twins
from winnow.numbers.regress.audit import (
    regression_enumerated,
    regression_faithful,
    regression_twins,
)
from winnow.release.graphical.audit.claims import (
    marginal_rounds_enumerated,
    marginal_rounds_faithful,
    marginal_rounds_twins,
)
from winnow.release.matrices.audit import linear_enumerated, linear_faithful, linear_twins
from winnow.release.rounds.audit.by_rows import by_rows_enumerated, by_rows_twins
from winnow.release.rounds.audit.rounds import rounds_enumerated, rounds_faithful, rounds_twins
from winnow.release.rounds.audit.warm_start import start_enumerated, start_twins
from winnow.release.tables.audit import tables_enumerated, tables_faithful, tables_twins
from winnow.select.audit.cut_away import cut_enumerated, cut_faithful, cut_twins
from winnow.select.audit.groups import groups_audited, groups_twins
from winnow.select.audit.labels import labels_enumerated, labels_faithful, labels_twins
from winnow.select.audit.looked import looked_enumerated, looked_twins
from winnow.select.audit.people_look import look_enumerated, look_faithful, look_twins


def run_audits(
    *,
    quick: bool = False,
    seed: int = 20261115,
    progress: Callable[[str], None] | None = None,
    processes: int = 1,
) -> list[AuditResult]:
    """Run all audits, in the order of `kind`; the same seed gives the same results.

    ``quick`` looks at fewer instances and draws less, in seconds instead of a minute.
    ``progress`` is told each claim as it is decided. With several ``processes`` the audits are
    spread over that many new ones; a script that asks for them needs the usual
    ``if __name__ == "__main__":``.
    """
    by_kind: dict[int, list[AuditResult]] = {}
    for place, results in _decided(quick, seed, processes):
        for result in results:
            by_kind.setdefault(place, []).append(result)
            if progress is not None:
                progress(result.claim)
    in_order = chain.from_iterable(by_kind[place] for place in sorted(by_kind))
    return sorted(in_order, key=lambda result: KINDS.index(result.kind))


def _decided(quick: bool, seed: int, processes: int) -> Iterator[tuple[int, Iterable[AuditResult]]]:
    """The place of each group in the list, and its results."""
    if processes == 1:
        yield from ((place, group(quick, seed)) for place, group in enumerate(GROUPS))
        return
    fresh = multiprocessing.get_context("spawn")  # a fork would copy what belongs to one process
    with ProcessPoolExecutor(processes, mp_context=fresh) as pool:
        asked = {pool.submit(_results, place, quick, seed): place for place in _LONGEST_FIRST}
        try:
            for done in as_completed(asked):
                yield asked[done], done.result()
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def _results(place: int, quick: bool, seed: int) -> list[AuditResult]:
    return list(GROUPS[place](quick, seed))


def _selections(quick: bool, seed: int) -> Iterator[AuditResult]:
    yield from enumerated(quick=quick)
    yield from sampled(quick=quick, seed=seed)
    yield from faithful(quick=quick, seed=seed)
    yield from caught(quick=quick, seed=seed)
    yield from labels_enumerated(quick=quick)
    yield from labels_faithful(seed=seed)
    yield from labels_twins()
    yield from groups_audited(seed=seed)
    yield from groups_twins()
    yield from looked_enumerated()
    yield from looked_twins()


def _itemsets(quick: bool, seed: int) -> Iterator[AuditResult]:
    yield from baskets_enumerated(quick=quick)
    yield from baskets_sampled(quick=quick, seed=seed)
    yield from baskets_faithful(quick=quick, seed=seed)
    yield from baskets_twins(quick=quick, seed=seed)
    yield from weighted_enumerated(quick=quick)
    yield from weighted_faithful(quick=quick, seed=seed)
    yield from weighted_twins(quick=quick)


def _release(quick: bool, seed: int) -> Iterator[AuditResult]:
    yield from rounds_enumerated(quick=quick)
    yield from start_enumerated()
    yield from by_rows_enumerated()
    yield from rounds_faithful(quick=quick, seed=seed)
    yield from rounds_twins(quick=quick, seed=seed)
    yield from start_twins()
    yield from by_rows_twins()


def _tables(quick: bool, seed: int) -> Iterator[AuditResult]:
    yield from tables_enumerated(quick=quick)
    yield from cut_enumerated()
    yield from look_enumerated()
    yield from linear_enumerated(quick=quick)
    yield from additive_enumerated(quick=quick)
    yield from balanced_enumerated(quick=quick)
    yield from boosted_enumerated(quick=quick)
    yield from either_enumerated(quick=quick)
    yield from binned_enumerated(quick=quick)
    yield from calibrated_enumerated(quick=quick)
    yield from quantiles_enumerated(quick=quick)
    yield from joint_enumerated(quick=quick)
    yield from histogram_enumerated()
    yield from moments_enumerated(quick=quick)
    yield from bounds_enumerated()
    yield from regression_enumerated(quick=quick)
    yield from tables_faithful(quick=quick, seed=seed)
    yield from linear_faithful(quick=quick, seed=seed)
    yield from cut_faithful(seed=seed)
    yield from look_faithful(seed=seed)
    yield from either_faithful(seed=seed)
    yield from binned_faithful(seed=seed)
    yield from quantiles_faithful(quick=quick, seed=seed)
    yield from joint_faithful(quick=quick, seed=seed)
    yield from moments_faithful(quick=quick, seed=seed)
    yield from bounds_faithful(quick=quick, seed=seed)
    yield from regression_faithful(quick=quick, seed=seed)
    yield from tables_twins(quick=quick, seed=seed)
    yield from cut_twins()
    yield from look_twins()
    yield from linear_twins(quick=quick, seed=seed)
    yield from additive_twins(quick=quick)
    yield from balanced_twins(quick=quick)
    yield from boosted_twins(quick=quick)
    yield from either_twins(quick=quick)
    yield from binned_twins(quick=quick)
    yield from calibrated_twins(quick=quick)
    yield from quantiles_twins(quick=quick, seed=seed)
    yield from joint_twins(seed=seed)
    yield from histogram_twins()
    yield from moments_twins(quick=quick, seed=seed)
    yield from bounds_twins(seed=seed)
    yield from regression_twins(seed=seed)


def _wide(quick: bool, seed: int) -> Iterator[AuditResult]:
    yield from marginal_rounds_enumerated(quick=quick)
    yield from marginal_rounds_faithful(quick=quick, seed=seed)
    yield from marginal_rounds_twins(quick=quick, seed=seed)


def _ask(quick: bool, seed: int) -> Iterator[AuditResult]:
    yield from ask_enumerated(quick=quick)
    yield from ask_sampled(quick=quick, seed=seed)
    yield from ask_faithful(quick=quick, seed=seed)
    yield from ask_twins(quick=quick, seed=seed)


def _lp(quick: bool, seed: int) -> Iterator[AuditResult]:
    yield from lp_enumerated(quick=quick)
    yield from lp_faithful(quick=quick, seed=seed)
    yield from lp_twins(quick=quick, seed=seed)


def _accounting(quick: bool, seed: int) -> Iterator[AuditResult]:
    yield from accounted()
    yield from costs_dominate_divergences()


def _verbs_replayed(quick: bool, seed: int) -> Iterator[AuditResult]:
    yield nothing_is_left_out(replays())
    yield from replayed(_of_commands(False), quick=quick, seed=seed)
    yield from borders_replayed(quick=quick, seed=seed)
    yield from border_twins(seed=seed)


def _commands_replayed(quick: bool, seed: int) -> Iterator[AuditResult]:
    yield from replayed(_of_commands(True), quick=quick, seed=seed)
    yield from replay_twins(seed=seed)


def _of_commands(wanted: bool) -> list[Replay]:
    return [entry for entry in replays() if entry.verb.startswith("winnow ") == wanted]


GROUPS: tuple[Callable[[bool, int], Iterator[AuditResult]], ...] = (
    _selections,
    _itemsets,
    _release,
    _tables,
    _wide,
    _ask,
    _lp,
    _accounting,
    _verbs_replayed,
    _commands_replayed,
)
"""What shares draws and models is in one group."""
_LONGEST_FIRST = (8, 0, 9, 5, 2, 6, 4, 1, 3, 7)
