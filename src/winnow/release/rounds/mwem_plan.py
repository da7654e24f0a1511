"""MWEM: rounds that select a badly answered query and measure its count; the plan.

The multiplicative weights exponential mechanism [Hardt-Ligett-McSherry 2012]: ``mwem`` has the
updates of the distribution, ``crossing.rounds`` what a round draws, with its proof.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from winnow.core.checks import Real, count, exact, probability
from winnow.core.key import Key
from winnow.core.process import memory_text, parse_memory
from winnow.core.schema import cells_text
from winnow.core.unit import counted
from winnow.core.workloads.marginal import MarginalPart
from winnow.core.workloads.reductions import on_points
from winnow.core.workloads.workload import Workload
from winnow.errors import ParameterError
from winnow.foreign import shown
from winnow.inner_product.index.building import FAISS, check_index
from winnow.inner_product.vectors import seal_vectors
from winnow.privacy import Event
from winnow.privacy.closed_plan import RoundsPlan, calibrate_rounds
from winnow.read.crossing import SealedTable, true_counts
from winnow.release.drawn import MethodPlan, Progress
from winnow.release.prediction import PROMISED, THUMB, Prediction
from winnow.release.rounds.bounds import Promised
from winnow.release.rounds.by_rows import RoundsByRows, rounds_by_rows
from winnow.release.rounds.crossing.lazy_selection import Search
from winnow.release.rounds.crossing.rounds import SelectAndMeasure
from winnow.release.rounds.crossing.run_parts import Task, event_before
from winnow.release.rounds.domain import (
    BYTES_PER_CELL,
    FittedPart,
    in_groups,
    sub_universe,
    whole_domain,
)
from winnow.release.rounds.mwem import Mwem, default_rounds
from winnow.release.rounds.prediction import predicted_errors
from winnow.release.rounds.settings import (
    ReleaseSettings,
    TaskSettings,
    noise_law,
    round_text,
    rows_text,
    sealed_total,
    total_multiplier,
    total_share,
)
from winnow.release.rounds.synthesis import synthesise
from winnow.release.rounds.warm_start import (
    MOST_NOISE,
    SHARE,
    first_multipliers,
    single_columns,
    table_distance,
)
from winnow.release.synthetic import SyntheticDistribution
from winnow.release.terms import ASSUMED_ROWS, ReleaseTerms

if TYPE_CHECKING:
    from winnow.release.methods import MWEM

BETA = 0.05
"""With this probability an error that was aimed at may be missed."""

SELECTION_SHARE = 0.5
"""The part of a round that selects: half, as published."""


def mwem_plan(method: MWEM, terms: ReleaseTerms, progress: Progress) -> MethodPlan:
    """The rounds with all that is fixed of them, and what runs them."""
    planned = mwem_settings(method, terms)
    step = None if method.step is None else float(method.step)
    mwem = Mwem(_update(method), step, method.replay, method.result)
    mechanism = planned.mechanism
    assert isinstance(mechanism, SelectAndMeasure)

    @lru_cache(maxsize=1)  # counted once, for the check and for the draw
    def tasks_of(table: SealedTable) -> list[Task]:
        return [
            Task(
                true_counts(table, task.workload),
                task.fitted,
                task.rounds,
                _search(table, task.workload, mechanism.index),
            )
            for task in planned.tasks
        ]

    def synthesised(table: SealedTable, key: Key) -> SyntheticDistribution:
        tables = single_columns(table.schema) if mechanism.first else None
        run = mechanism.open(
            tasks_of(table),
            key,
            relation=terms.relation,
            rows_per_person=table.rows_per_person,
            total=sealed_total(table, planned),
            first=None if tables is None else true_counts(table, tables),
            tables=tables,
        )
        return synthesise(run, planned, mwem, progress)

    return MethodPlan(
        mechanism=mechanism,
        relation=terms.relation,
        guarantee=planned.guarantee,
        draw=synthesised,
        check=lambda table: mechanism.check(tasks_of(table), table.rows_per_person, planned.total),
        title=f"{mwem.name}; {mechanism.name}",
        reason=planned.reason,
        seconds=planned.seconds,
        expected=planned,
    )


def _search(table: SealedTable, workload: Workload, index: str | None) -> Search | None:
    """The index over public queries, made before anything is charged."""
    if index is None:
        return None
    schema = workload.schema
    every = Workload(schema, (MarginalPart(schema, tuple(range(len(schema.columns)))),))
    vectors = seal_vectors(workload.matrix(), index=index, copy=False)
    return Search(vectors, true_counts(table, every))


def mwem_settings(method: MWEM, terms: ReleaseTerms) -> ReleaseSettings:
    """Fix everything, or say what is impossible; nothing is charged here."""
    if method.index is not None or exact("slack", method.slack) != 0:
        _check_search(method, terms)
    parts, rests_on = _fitted_parts(method, terms)
    kept = Workload(terms.schema, tuple(p for each in parts for p in each.workload.parts))
    rounds, reason = _rounds(method, terms, parts, terms.total)
    multiplier = total_multiplier(terms, method)
    first = _first_tables(method, terms)
    law = noise_law(terms, method)
    before = event_before(multiplier, first, terms.relation, law)
    share = exact("share", SELECTION_SHARE if method.share is None else method.share)
    by_rows: RoundsByRows | None = None
    if terms.total is None and method.rounds is None and terms.accountant != "tight":
        # rounds follow the noisy number of rows; "tight" by name sizes one plan for all
        assert before is not None
        by_rows = rounds_by_rows(
            terms,
            lambda rows: _rounds(method, terms, parts, rows)[0],
            share=share,
            law=law,
            initial=before,
            usual=ASSUMED_ROWS,
        )
        plan, rounds = by_rows.whole, list(by_rows.usual)
        few, many = (sum(each.rounds) for each in (by_rows.choices[0], by_rows.choices[-1]))
        reason = f"{few} to {many} rounds, by the noisy number of rows; {sum(rounds)} as if there "
        reason += f"were {ASSUMED_ROWS:,}"
    else:
        plan = calibrated(terms, sum(rounds), share, law, before)
    _check_slack(method.slack, plan.selection_epsilon)
    mechanism = SelectAndMeasure(
        plan.selection_epsilon, plan.noise_multiplier, plan.rounds, plan.measurement,
        multiplier, method.index, method.slack, first,
        () if by_rows is None else by_rows.choices,
    )  # fmt: skip
    tasks = []
    for part, own in zip(parts, rounds, strict=True):
        fitted = part.own if part.points is None else on_points(part.own, part.points, terms.memory)
        tasks.append(TaskSettings(part.columns, part.own, fitted, part.points, own))
    if terms.total is None:
        reason += f"; {100 * total_share(method):g} % of the budget for the number of rows"
    if first:
        spent = float(SHARE if method.warm_start is None else method.warm_start)
        reason += f"; {100 * spent:g} % of the budget for the tables of single columns, a start"
    if method.index is not None:
        reason += "; an index as asked, which was slower than none at every size measured"
    return ReleaseSettings(
        terms=terms,
        workload=kept,
        tasks=tuple(tasks),
        rounds=plan,
        mechanism=mechanism,
        reason=f"{reason}; {round_text(plan)}",
        rests_on=rests_on,
        by_rows=by_rows,
    )


def calibrated(
    terms: ReleaseTerms, rounds: int, share: Real, law: str, initial: Event | None
) -> RoundsPlan:
    """So many rounds within the budget; pure sums of Laplace noise have no use for a delta."""
    return calibrate_rounds(
        rounds,
        epsilon=terms.epsilon,
        delta=0.0 if terms.accountant == "pure" else terms.delta,
        relation=terms.relation,
        share=share,
        measurement=law,
        accountant=terms.accountant,
        initial=initial,
    )


def _update(method: MWEM) -> str:
    return method.update or ("gap" if method.alpha is None else "sign")


def _fitted_parts(method: MWEM, terms: ReleaseTerms) -> tuple[list[FittedPart], str]:
    """The domain as it is, in groups, or sampled; and what accuracy then rests on."""
    if method.groups is not None and method.universe is not None:
        raise ParameterError("give groups or universe, not both")
    if method.universe is not None:
        return sub_universe(terms, method)
    if method.groups is not None:
        return in_groups(terms, method.groups)
    return whole_domain(terms), ""


def _check_search(method: MWEM, terms: ReleaseTerms) -> None:
    """Refuse an index on a sampled universe, and one that does not fit."""
    workload, index = terms.workload, method.index
    if index is None:
        raise ParameterError("slack says how far an index is trusted; name one, or leave it out")
    check_index(index)
    if method.universe is not None:
        raise ParameterError(
            "index= is for rounds over single queries on all cells; leave it out for whole tables "
            "and for a sampled universe"
        )
    needed = workload.size * terms.schema.cells * (9 if index in FAISS else 5)
    if needed > parse_memory(terms.memory):
        raise ParameterError(
            f"an index over {workload.size:,} queries on {cells_text(terms.schema.cells)} cells "
            f"needs about {memory_text(needed)}, more than memory={shown(terms.memory)}; leave "
            "index= out, which is faster and needs none of it, or allow more"
        )


def _check_slack(slack: Real, selection: Real) -> None:
    """Refuse a slack that a round's selection cannot pay."""
    if exact("slack", slack) < 0 or 2 * exact("slack", slack) >= exact("epsilon", selection):
        raise ParameterError(
            f"slack={shown(slack)} is not within 0 and half the epsilon of one round's selection, "
            f"which is {float(selection):g}: it is paid twice in each round; give less"
        )


def _rounds(
    method: MWEM, terms: ReleaseTerms, parts: Sequence[FittedPart], total: int | None
) -> tuple[list[int], str]:
    """How many rounds each group gets, and why; all rounds cost the same."""
    given = method.rounds
    if method.alpha is not None:
        given = _promised(method, terms).fewest_rounds(_stated(terms))
    if isinstance(given, Sequence) and not isinstance(given, str):
        if len(given) != len(parts):
            raise ParameterError(
                f"rounds={list(given)} has {len(given)} numbers for {len(parts)} groups; give "
                "one for each, or one number for all"
            )
        for each in given:
            count(rounds=each)
        asked = [int(each) for each in given]
        return asked, f"{_sum(asked)} rounds as asked"
    if given is not None:
        count(rounds=given)
        asked = [int(given)] * len(parts)
        return asked, f"{_sum(asked)} rounds as asked"
    chosen = [
        default_rounds(
            cells=each.cells,
            queries=each.own.size,
            total=total or ASSUMED_ROWS,
            rows_per_person=terms.rows_per_person,
            rho=None if terms.rho is None else terms.rho / len(parts),
            epsilon=float(terms.epsilon) / len(parts),
        )
        for each in parts
    ]
    queries = sum(each.own.size for each in parts)
    return chosen, (
        f"{_sum(chosen)} rounds chosen from public numbers: "
        f"{cells_text(terms.schema.cells)} cells, {queries:,} queries, "
        f"{rows_text(total)}, the budget"
    )


def _sum(rounds: list[int]) -> str:
    return " + ".join(map(str, rounds))


def _stated(terms: ReleaseTerms) -> int:
    if terms.total is None:
        raise ParameterError(
            "alpha= needs a public number of rows; state one with rows= where the table is read, "
            "or give rounds="
        )
    return terms.total


def _promised(method: MWEM, terms: ReleaseTerms) -> Promised:
    """The fewest rounds that promise an error [FastMWEM, Thm 3.1]."""
    assert method.alpha is not None
    probability(alpha=method.alpha)
    share = exact("share", SELECTION_SHARE if method.share is None else method.share)
    return Promised(
        terms.schema.cells, terms.workload.size, float(method.alpha), BETA, terms.rows_per_person,
        terms.epsilon, terms.delta, terms.relation, share,
    )  # fmt: skip


def _first_tables(method: MWEM, terms: ReleaseTerms) -> tuple[float, ...]:
    """The noise of the tables of single columns that are measured before the rounds, if any.

    The updates and the indexes of papers start as they do there, from the uniform distribution.
    """
    plain = _update(method) == "gap" and method.universe is None and method.index is None
    shape, given = terms.schema.shape, method.warm_start
    if given is None and (not plain or len(shape) < 2):
        return ()
    share = exact("warm_start", SHARE if given is None else given)
    if share == 0:
        return ()
    if method.universe is not None:
        raise ParameterError(
            "warm_start= is for rounds over single queries on all cells; leave it out for whole "
            "tables and for a sampled universe"
        )
    multipliers = first_multipliers(
        shape, float(share), epsilon=float(terms.epsilon), rho=terms.rho
    )
    rows, people = terms.total or ASSUMED_ROWS, terms.rows_per_person
    far = table_distance(shape, multipliers, noise_law(terms, method), terms.relation, people, rows)
    return () if given is None and far > MOST_NOISE else multipliers


def predict_mwem(method: MWEM, terms: ReleaseTerms) -> Prediction | str:
    """The errors to expect: what is promised, or a rule of thumb; or why it cannot run."""
    if method.alpha is not None and terms.total is not None:
        largest = float(method.alpha) * terms.total
        note = f"promised with probability {1 - BETA:g}"
        return Prediction("mwem", largest, None, None, 0.0, PROMISED, note)
    schema, workload = terms.schema, terms.workload
    if (too_large := domain_refused(terms)) is not None:
        return too_large
    rounds = default_rounds(
        cells=schema.cells,
        queries=workload.size,
        total=terms.total or ASSUMED_ROWS,
        rows_per_person=terms.rows_per_person,
        rho=terms.rho,
        epsilon=float(terms.epsilon),
    )
    predicted = predicted_errors(
        queries=workload.size,
        rounds=rounds,
        rows_per_person=terms.rows_per_person,
        rho=terms.rho,
        epsilon=float(terms.epsilon),
    )
    seconds = 0.1 + 5e-8 * schema.cells + 1e-6 * workload.size
    seconds += rounds * (1e-3 + 2e-9 * schema.cells + 1e-7 * workload.size)
    return Prediction("mwem", *predicted, seconds, THUMB, counted(rounds, "round"))


def domain_refused(terms: ReleaseTerms) -> str | None:
    """Why a weight on each cell does not fit; None: it does."""
    needed = BYTES_PER_CELL * terms.schema.cells + terms.workload.memory()
    if needed <= parse_memory(terms.memory):
        return None
    return (
        f"the domain has {cells_text(terms.schema.cells)} cells and needs about "
        f"{memory_text(needed)}, more than the memory that is allowed"
    )
