"""``winnow top-k``: the most common items of an event log or of a file of counts, privately."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import Annotated, Any

import typer

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
    relation_of_people,
    sensitivity_of,
)
from winnow.cli.recording import UNRECORDED, Record
from winnow.cli.reporting import reported, saved_then_shown
from winnow.cli.with_cut import check_cut
from winnow.core.checks import count as whole
from winnow.core.relation import Relation
from winnow.errors import DataError, ParameterError
from winnow.read.options import TextFormat
from winnow.select.auto_bound import AutoBoundPlan
from winnow.select.cli.groups import ONE_LIST, LogOptions
from winnow.select.request import TopK

_COLUMNS = "Columns and people"
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
    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE",
            help="An event log: CSV, TSV or Parquet, or a pattern such as 'logs/*.parquet'. With "
            "--count a file of ready counts: also JSON records, or - for CSV on standard input.",
        ),
    ],
    item: Annotated[
        str,
        option("--item", "COLUMN", "The column of items.", _COLUMNS),
    ],
    asked: Typed[TopK],
    text: Typed[TextFormat],
    seed: SeedOption = None,
    of_log: LogOptions = ONE_LIST,
    person: Annotated[
        str | None,
        option(
            "--person",
            "COLUMN",
            "The column of people: whose event it is.",
            _COLUMNS,
        ),
    ] = None,
    one_row: Annotated[
        bool,
        typer.Option(
            "--one-row-per-person",
            help="Nobody has two rows: one row is what is protected.",
            rich_help_panel=_COLUMNS,
        ),
    ] = False,
    max_items: Annotated[
        str | None,
        option(
            "--max-items",
            "L",
            "Count each person for at most L items; with --count: how it was counted. auto: where "
            "a bound helps, a tenth of epsilon looks at how many items people have and chooses it.",
            _COLUMNS,
        ),
    ] = None,
    items: Annotated[
        Path | None,
        option(
            "--items",
            "FILE",
            "The public list of items, one on each line, or a CSV with one column. Without "
            "it the items of a log are private, too.",
            _COLUMNS,
        ),
    ] = None,
    count: Annotated[
        str | None,
        option(
            "--count",
            "COLUMN",
            "The file has ready counts in this column, each item once; say with --labels where its "
            "items come from.",
            _COLUMNS,
        ),
    ] = None,
    labels: Annotated[
        Labels | None,
        option(
            "--labels",
            "WORD",
            "With --count: public (the list was fixed without looking at the data) or private "
            "(found in the data; needs --delta).",
            _COLUMNS,
        ),
    ] = None,
    sensitivity: Annotated[
        str,
        option(
            "--sensitivity",
            "S",
            "With --count: the most by which one person raises a count, or DOWN,UP for what adding "
            "a person does, such as 0.25,1.",
            _COLUMNS,
        ),
    ] = "1",
    relation: Annotated[Relation | None, relation_of_people(_COLUMNS, Relation.ADD_REMOVE)] = None,
    memory: Annotated[
        str | None,
        option(
            "--memory",
            "SIZE",
            "For counting a log: how much memory to use, e.g. 2GB. Nothing goes to disk.",
            _OUTPUT,
        ),
    ] = None,
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

    relation, budget = record.account(relation, Relation.ADD_REMOVE)
    most = bound_of("--max-items", max_items)
    bounded = count is None and person is not None and max_items is not None
    check_cut(asked.with_cut, bounded, "--person and --max-items")
    with_counts = asked.with_counts or plot is not None
    request = asked(with_counts=with_counts, budget=budget, seed=seed)
    k = request.k
    check_source(
        file, count, most, person=person, items=items, memory=memory, header=header,
        labels=labels, one_row=one_row, sensitivity=sensitivity,
    )  # fmt: skip
    source, read = of_log.joined.with_first(file, person), of_log.joined.files(file)
    if count is not None and source != file:
        raise ParameterError("--join is for event logs, and --count says that the file has counts")
    listed = [each for each in (items, of_log.groups) if each is not None]
    _check_targets([*read, *listed], out, plot, report, k)
    groups = of_log.said(line_breaks=text.line_breaks)
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
            reading = reading_of_log(memory, seed, progress)
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
