"""``winnow labels`` and ``winnow plan labels``: the items of a log that nobody listed."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Annotated

from winnow.cli.derived import Typed
from winnow.cli.options import (
    JsonOption,
    OutOption,
    SeedOption,
    bound_of,
    check_unit_said,
    option,
    relation_of_people,
)
from winnow.cli.recording import UNRECORDED, Record
from winnow.cli.reporting import reported, saved_then_shown
from winnow.core.checks import count as whole
from winnow.core.relation import Relation
from winnow.errors import ParameterError
from winnow.select.auto_bound import AutoBoundPlan
from winnow.select.cli.groups import COLUMNS, LogOptions
from winnow.select.request import FindLabels

EXAMPLES = """\
Examples:

winnow labels searches.parquet --item query --person user --epsilon 1 --delta 1e-6

winnow labels 'logs/*.csv' --item page --person visitor --epsilon 1 --delta 1e-6 \
--method weighted-gaussian --rounds 2 --out pages.txt
"""
PLAN_EXAMPLES = """\
Examples:

winnow plan labels --epsilon 1 --delta 1e-6

winnow plan labels --max-items 1 --epsilon 1 --delta 1e-6
"""


@reported()
def labels(
    log: LogOptions,
    asked: Typed[FindLabels],
    seed: SeedOption = None,
    json: JsonOption = False,
    out: OutOption = None,
    record: Record = UNRECORDED,
) -> None:
    """Find the items that many people have in a log, without a public list.

    FILE has one row for each event, and a person may appear in it many times.
    """
    from winnow.cli.files import are_large, check_targets
    from winnow.cli.printing import counting
    from winnow.cli.recording import warn_of_other_labels
    from winnow.select.cli.source import about_log, counts_of_log, reading_of_log
    from winnow.select.cli.view import save_top, show_labels

    relation, budget = record.account(log.relation, Relation.ADD_REMOVE)
    check_unit_said(log.person, log.one_row, "--person")
    if log.person is None and log.max_items is not None:
        raise ParameterError(
            "--max-items needs --person: without it every row is a person of its own, with one item"
        )
    most = bound_of("--max-items", log.max_items)
    if isinstance(most, int):
        whole(max_items=most)
    request = asked(budget=budget, seed=seed)
    source, read = log.source, log.files
    check_targets(read, out, None)
    about = about_log(log.item, log.person, most, relation, None, log.said())
    plan = request.plan(about)  # what cannot be met is refused before anything is read
    warn_of_other_labels(budget, read)
    with counting(f"counting {log.file}") if are_large(read) else nullcontext() as progress:
        reading = reading_of_log(log.memory, seed, progress)
        counts = counts_of_log(
            source, log.item, log.person, most, about, text=log.text(), reading=reading
        )
        released = plan.run(counts, budget=budget, seed=seed)
    plan = plan.ran(released) if isinstance(plan, AutoBoundPlan) else plan

    def show() -> None:
        ordered = plan.method.word() != "optimal-rule"
        show_labels(released, ordered=ordered, needed=plan.error)

    with saved_then_shown(released, json, show):
        if out is not None:
            save_top(out, released)


@reported()
def plan(
    asked: Typed[FindLabels],
    max_items: Annotated[
        str | None,
        option("--max-items", "L", "Each person counts for at most L items, or auto.", COLUMNS),
    ] = None,
    relation: Annotated[
        Relation, relation_of_people(COLUMNS, Relation.ADD_REMOVE)
    ] = Relation.ADD_REMOVE,
    json: JsonOption = False,
    out: OutOption = None,
) -> None:
    """Predict how many people an item needs to be found; no data are read and nothing is spent."""
    from winnow.cli.printing import show_plan
    from winnow.core.saving import check_target, save
    from winnow.select.plan.about import FOUND_IN_LOG, counts

    if out is not None:
        check_target(out)
    most = bound_of("--max-items", max_items)
    about = counts(labels=FOUND_IN_LOG, max_items=most, relation=relation)
    planned = asked().plan(about)
    document = planned.to_dict()
    show_plan(planned, json=json)
    if out is not None:
        save(out, document, document["compared" if "compared" in document else "bounds"])
