"""``winnow top-k``: the most common items of an event log or of a file of counts, privately."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import Annotated, Any

from winnow.cli.derived import Typed
from winnow.cli.options import (
    HeaderOption,
    JsonOption,
    Labels,
    OutOption,
    SeedOption,
    bound_of,
    option,
    plot_of,
    sensitivity_of,
)
from winnow.cli.recording import UNRECORDED, Record
from winnow.cli.reporting import reported, saved_then_shown
from winnow.cli.with_cut import check_cut
from winnow.core.checks import count as whole
from winnow.core.relation import Relation
from winnow.errors import DataError, ParameterError
from winnow.select.auto_bound import AutoBoundPlan
from winnow.select.cli.groups import COLUMNS, LogOptions
from winnow.select.request import TopK

_OUTPUT = "Output"

EXAMPLES = """\
Examples:

winnow top-k visits.parquet --item page --person visitor -k 10 --epsilon 1 --delta 1e-6

winnow top-k 'logs/*.csv' --item page --person visitor --max-items 3 \
--items pages.txt -k 10 --epsilon 1 --with-counts --plot top.png --report top.html

winnow top-k visits.parquet --item page --person visitor --by country -k 5 \
--epsilon 1 --delta 1e-6 --out top.csv

winnow top-k votes.csv --item city --count votes -k 5 --epsilon 0.5 --out top.csv --labels public
"""


@reported()
def top_k(
    log: LogOptions,
    asked: Typed[TopK],
    seed: SeedOption = None,
    items: Annotated[
        Path | None,
        option(
            "--items",
            "FILE",
            "The public list of items, one on each line, or a CSV with one column. Without "
            "it the items of a log are private, too.",
            COLUMNS,
        ),
    ] = None,
    count: Annotated[
        str | None,
        option(
            "--count",
            "COLUMN",
            "The file has ready counts in this column, each item once; it may have JSON records, "
            "or be - for CSV on standard input. Say with --labels where its items come from.",
            COLUMNS,
        ),
    ] = None,
    labels: Annotated[
        Labels | None,
        option(
            "--labels",
            "WORD",
            "With --count: public (the list was fixed without looking at the data) or private "
            "(found in the data; needs --delta).",
            COLUMNS,
        ),
    ] = None,
    sensitivity: Annotated[
        str,
        option(
            "--sensitivity",
            "S",
            "With --count: the most by which one person raises a count, or DOWN,UP for what adding "
            "a person does, such as 0.25,1.",
            COLUMNS,
        ),
    ] = "1",
    header: HeaderOption = False,
    json: JsonOption = False,
    out: OutOption = None,
    plot: Annotated[Path | None, plot_of("Draw the noisy counts (turns on --with-counts)")] = None,
    report: Annotated[
        Path | None,
        option(
            "--report",
            "FILE",
            "A page with the list, its guarantee and the receipt: one .html.",
            _OUTPUT,
        ),
    ] = None,
    record: Record = UNRECORDED,
) -> None:
    """Release the K most common items privately.

    FILE is an event log with one row for each event, in which a person may appear many times;
    or, with --count, a file of items and their counts.
    """
    from winnow.cli.files import are_large
    from winnow.cli.printing import counting
    from winnow.cli.recording import warn_of_other_labels
    from winnow.core.saving import write_whole
    from winnow.select.cli.groups import save_lists, show_lists
    from winnow.select.cli.source import (
        about_file,
        about_log,
        check_source,
        check_words,
        counts_of_file,
        counts_of_log,
        read_items,
        reading_of_log,
        threshold_text,
    )
    from winnow.select.cli.view import draw, report_page, save_top, show_top
    from winnow.show.plots.bars import below_title
    from winnow.show.plots.multiples import draw_lists

    file, item, person, text = log.file, log.item, log.person, log.text
    relation, budget = record.account(log.relation, Relation.ADD_REMOVE)
    most = bound_of("--max-items", log.max_items)
    bounded = count is None and person is not None and most is not None
    check_cut(asked.with_cut, bounded, "--person and --max-items")
    with_counts = asked.with_counts or plot is not None
    request = asked(with_counts=with_counts, budget=budget, seed=seed)
    k = request.k
    check_source(
        file, count, most, person=person, items=items, memory=log.memory, header=header,
        labels=labels, one_row=log.one_row, sensitivity=sensitivity,
    )  # fmt: skip
    source, read = log.source, log.files
    if count is not None and source != file:
        raise ParameterError("--join is for event logs, and --count says that the file has counts")
    listed = [each for each in (items, log.groups) if each is not None]
    _check_targets([*read, *listed], out, plot, report, k)
    groups = log.said()
    if groups is not None and (count is not None or report is not None):
        what = "--report" if count is None else "--count"
        raise ParameterError(
            f"--by is for lists of an event log, and {what} has one list; leave out {what}"
        )
    public = None if items is None else read_items(items, line_breaks=text.line_breaks)
    if public is not None and k > len(public):
        raise DataError(f"k={k} exceeds the {len(public)} items of {items}; lower k")
    if isinstance(most, int):
        whole(max_items=most)
    if count is None:
        about = about_log(item, person, most, relation, public, groups)
    else:
        moved = sensitivity_of(sensitivity)
        about = about_file(
            moved, most if isinstance(most, int) else None, relation, public=labels == "public"
        )
    check_words(request, about)
    plan = request.plan(about)  # what cannot be met is refused before anything is read
    warn_of_other_labels(budget, read)
    with counting(f"counting {file}") if are_large(read) else nullcontext() as progress:
        if count is not None:
            counts = counts_of_file(file, item, count, about, text=text(), header=header)
            plan = request.plan(counts)  # again, for as many items as there are
        else:
            reading = reading_of_log(log.memory, seed, progress)
            counts = counts_of_log(
                source, item, person, most, about, text=text(), reading=reading, items=public
            )
        released = plan.run(counts, budget=budget, seed=seed)
    plan = plan.ran(released) if isinstance(plan, AutoBoundPlan) else plan

    shown: dict[str, Any] = {
        "ordered": plan.expected.ordered,
        "margin": plan.expected.counts_margin if with_counts else None,
    }

    if groups is not None:
        with saved_then_shown(
            released, json, lambda: show_lists(released, k=k, threshold=threshold_text(plan))
        ):
            if out is not None:
                save_lists(out, released)
            if plot is not None:
                title = f"Top {k}: {item} by {groups.by}"
                below = below_title(plan.method.word(), released)
                ending = plot.suffix.lower()
                drawn = draw_lists(released.value, title=title, subtitle=below, ending=ending)
                write_whole(plot, drawn)
        return

    def show() -> None:
        passed = threshold_text(plan)
        show_top(released, k=k, with_counts=with_counts, threshold=passed, **shown)

    with saved_then_shown(released, json, show):
        if out is not None:
            save_top(out, released)
        if plot is not None:
            title = f"Top {k}: {item}"
            how: dict[str, Any] = {"method": plan.method.word(), "ending": plot.suffix.lower()}
            write_whole(plot, draw(released, title=title, **how))
        if report is not None:
            passed = threshold_text(plan)
            how = {"k": k, "with_counts": with_counts, "threshold": passed, **shown}
            made = report_page(released, title=f"Top {k}: {item}", method=plan.method.word(), **how)
            write_whole(report, made)


def _check_targets(
    read: list[Path], out: Path | None, plot: Path | None, report: Path | None, k: int
) -> None:
    """Refuse what could not be saved or drawn, before anything is counted."""
    from winnow.cli.files import check_targets, refuse_overwriting
    from winnow.core.saving import check_target

    if plot is not None:
        from winnow.show.plots.bars import MOST_BARS

        if k > MOST_BARS:
            raise ParameterError(f"--plot draws up to {MOST_BARS} bars, and k={k}; leave it out")
    check_targets(read, out, plot)
    if report is not None:
        check_target(report, (".html", ".htm"))
        refuse_overwriting(read, "--report", report)
