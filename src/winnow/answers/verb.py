"""``winnow.release``: answers to many queries, and a synthetic table, from one private table."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from numbers import Number
from typing import Any

from winnow.answers.linear import LinearPlan
from winnow.answers.request import AnswersRequest
from winnow.answers.settings import MethodChoice, choose
from winnow.answers.tables import measure_linear, measure_tables
from winnow.core.checks import Real, one_of, rows_to_release
from winnow.core.key import Key
from winnow.core.padding import Padding, PadTo, check_progress
from winnow.core.plan import Plan
from winnow.core.relation import Relation
from winnow.core.released import Released
from winnow.core.workloads.workload import bound_workload
from winnow.errors import ParameterError
from winnow.foreign import guarded
from winnow.privacy import Budget
from winnow.privacy.guarantee import CLOSED_ACCOUNTANTS
from winnow.read.crossing import SealedTable, sealed_table
from winnow.release.mwem import TABLES
from winnow.release.synthetic import SyntheticDistribution
from winnow.release.verb import accountant_of, release_mwem
from winnow.wide.synthetic import WideSynthetic
from winnow.wide.verb import release_wide

_OF_MWEM: Mapping[str, Any] = {
    "rounds": None,
    "alpha": None,
    "update": None,
    "step": None,
    "replay": None,
    "result": None,
    "measurement": None,
    "share": None,
    "total_share": None,
    "warm_start": None,
    "groups": None,
    "universe": None,
    "universe_seed": 0,
    "smoothness": None,
    "phi": None,
    "index": None,
    "slack": 0,
}
"""The options that only MWEM has, each with its default. (The graphical model has rounds, too.)"""

_ANSWERED = (
    "answers are those of a distribution fitted to what was measured, each within an interval "
    "of its unbiased estimate"
)

_OF_ADAPTIVE = ("rounds", "measurement", "share", "total_share", "groups")


@guarded
def release(
    table: SealedTable,
    workload: Any,
    *,
    epsilon: Real,
    delta: Real = 0.0,
    method: str = "auto",
    rounds: int | Sequence[int] | None = None,
    alpha: Real | None = None,
    update: str | None = None,
    step: float | None = None,
    replay: int | None = None,
    result: str | None = None,
    measurement: str | None = None,
    share: Real | None = None,
    relation: str | Relation | None = None,
    rows: int | None = None,
    total_share: Real | None = None,
    warm_start: Real | None = None,
    groups: Sequence[Sequence[str]] | None = None,
    universe: Any = None,
    universe_seed: int = 0,
    smoothness: Real | None = None,
    phi: Real | str | None = None,
    index: str | None = None,
    slack: Real = 0,
    accountant: str = "best",
    budget: Budget | None = None,
    memory: str | int = "4GB",
    progress: Callable[[int, int], None] | None = None,
    pad_to: PadTo = None,
    seed: int | None = None,
) -> Released[SyntheticDistribution]:
    """Release answers to all queries of a workload, and a synthetic distribution, privately.

    ``table`` is what ``wn.read_table`` made; ``workload`` what to be accurate about, such as
    ``wn.marginals(3)``. The whole is (epsilon, delta)-DP and charged once, before the first draw.

    ``method`` is "auto", which takes the one with the least predicted error, never one that is
    predicted to be worse than plain noise; or by name:

    - "tables": all tables, prefixes and ranges with noise, in the best proportions, as
      ``wn.tabulate`` does; and a distribution of maximum entropy fitted to them, or a graphical
      model where there are too many cells. ``value.estimates`` are unbiased, with
      ``value.standard_errors``; ``value.answers()`` are what the distribution says, no further from
      the estimates than pays; see ``AnsweredSynthetic``.
    - "toeplitz": the square root of the prefixes of one long column, for its prefixes and ranges.
    - "explicit": the best matrix for any queries over up to some 1,000 cells, or noise on each
      query, where these are few.
    - "adaptive": rounds that select a badly answered table and measure it whole (MWEM with
      ``update="tables"``); for many tables and few people.
    - "mwem": rounds that select a badly answered query and measure it; for very many queries.
    - "graphical": a graphical model, for domains with too many cells (``wn.release_wide``).

    The receipt says which was taken, and why. ``wn.plan.release`` compares them beforehand.

    Options of MWEM; to give one of them with "auto" is to ask for it: ``rounds`` (chosen from
    public numbers unless given), or ``alpha``, a largest error to be promised, ``share`` of rho for
    selection, ``update`` ("gap", the default, "hardt" or "sign", with ``step``, ``replay`` and
    ``result``, see ``winnow.release.mwem``; or "tables" for rounds over whole tables),
    ``measurement`` ("gaussian" or "laplace"), ``total_share`` of the budget for a private number of
    rows, ``warm_start`` of it for tables of single columns that the rounds start from. When the
    domain does not fit ``memory``: ``groups`` makes an independent distribution for each group of
    columns; ``universe`` works on that many sampled cells (with ``smoothness`` and ``phi``), or on
    a public list of rows, and ``value.rests_on`` says what accuracy then rests on.
    ``index`` ("flat", "lsh", "p-stable", "ivf", "hnsw") selects over an index of the queries, as
    the paper does, with the same law, and ``slack`` trusts it further for a part of epsilon;
    without it selection is faster. ``progress`` is called after each round with (rounds done,
    rounds in all).

    ``relation`` is the table's unless given. Under substitution, with one row per person, the
    number of rows is public. Otherwise give the public number ``rows`` that counts are taken
    of, or it is measured, too.

    ``pad_to`` holds the result back (and an error after the charge) until so many seconds after
    the call, or until a multiple of that if it takes longer. "plan" takes a public estimate of
    four times what it takes.
    """
    padding = Padding(pad_to)
    check_progress(progress, pad_to)
    table = sealed_table(table, relation)
    given: dict[str, Any] = {
        "rounds": rounds,
        "alpha": alpha,
        "update": update,
        "step": step,
        "replay": replay,
        "result": result,
        "measurement": measurement,
        "share": share,
        "total_share": total_share,
        "warm_start": warm_start,
        "groups": groups,
        "universe": universe,
        "universe_seed": universe_seed,
        "smoothness": smoothness,
        "phi": phi,
        "index": index,
        "slack": slack,
    }
    said = [name for name, value in given.items() if not _same(value, _OF_MWEM[name])]
    given["update"] = update or ("gap" if alpha is None else "sign")
    shared: dict[str, Any] = {
        "epsilon": epsilon,
        "delta": delta,
        "rows": rows,
        "accountant": accountant,
        "budget": budget,
        "memory": memory,
        "progress": progress,
        "pad_to": pad_to,
        "seed": seed,
    }
    if method == "adaptive":
        refuse_options(method, [name for name in said if name not in _OF_ADAPTIVE])
        return release_mwem(table, workload, **shared, **given | {"update": TABLES})
    if method == "mwem" or (method == "auto" and said):
        released = release_mwem(table, workload, **shared, **given)
        if method == "auto":
            return _because(released, f"MWEM, because {said[0]}= was given")
        return released
    allowed = ("rounds",) if method == "graphical" else ()
    refuse_options(method, [name for name in said if name not in allowed])
    if method == "graphical":
        return _wide(release_wide(table, workload, **shared, rounds=_one(rounds)))
    one_of(("best", *CLOSED_ACCOUNTANTS), accountant=accountant)
    request = AnswersRequest(
        bound_workload(workload, table.schema, memory),
        epsilon,
        delta,
        table.relation,
        table.rows_per_person,
        rows_to_release(rows, table.n),
        accountant if budget is None else accountant_of(budget, accountant, delta),
        memory,
    )
    choice = choose(request, method)
    if choice.method == "adaptive":
        given["update"] = TABLES
    if choice.method in ("adaptive", "mwem"):
        released = release_mwem(table, request.workload, **shared, **given)
        return _because(released, choice.reason)
    if choice.method == "graphical":
        found = _wide(release_wide(table, request.workload, **shared))
        return _because(found, choice.reason)
    return _measured(table, request, choice, padding, budget, seed)


def _same(value: Any, usual: Any) -> bool:
    """Whether an option has its default; a list of cells may be no plain value."""
    return value is usual or (isinstance(value, Number) and bool(value == usual))


def refuse_options(method: str, said: Sequence[str]) -> None:
    """Refuse options of MWEM for another method."""
    if said:
        raise ParameterError(
            f"{said[0]}= is an option of method='mwem'; leave it out, or choose that method"
        )


def _wide(released: Released[WideSynthetic]) -> Released[SyntheticDistribution]:
    return Released(released.value, released.guarantee, released.receipt)


def _one(rounds: int | Sequence[int] | None) -> int | None:
    if rounds is None or isinstance(rounds, int):
        return rounds
    raise ParameterError("rounds of a graphical model is one number")


def _measured(
    table: SealedTable,
    request: AnswersRequest,
    choice: MethodChoice,
    padding: Padding,
    budget: Budget | None,
    seed: int | None,
) -> Released[SyntheticDistribution]:
    """One event of noise on whole numbers, then a fit."""
    chosen = choice.tables if choice.method == "tables" else choice.linear[choice.method]

    def answered(private: SealedTable, key: Key) -> SyntheticDistribution:
        if isinstance(chosen, LinearPlan):
            return measure_linear(chosen, choice.tables.plain, request, private, key)
        return measure_tables(chosen, request, private, key)

    plan = Plan(
        mechanism=chosen.mechanism,
        relation=table.relation,
        guarantee=chosen.guarantee,
        draw=answered,
        check=chosen.mechanism.check,
        reason=f"{choice.reason}; {_ANSWERED}",
        seconds=choice.taken.seconds,
    )
    return plan.run(table, budget=budget, seed=seed, padding=padding)


def _because(
    released: Released[SyntheticDistribution], reason: str
) -> Released[SyntheticDistribution]:
    old = released.receipt.reason
    receipt = replace(released.receipt, reason=f"{reason}; {old}" if old else reason)
    return replace(released, receipt=receipt)
