"""``winnow topk``: the most common items of an event log or of a file of counts, privately."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from winnow.cli.options import (
    AUTO,
    PLAIN_TEXT,
    EpsilonOption,
    GammaOption,
    HeaderOption,
    JsonOption,
    Labels,
    OutOption,
    SeedOption,
    SizeOption,
    TextOptions,
    TopKMechanismOption,
    TopKNoiseOption,
    option,
    plot_of,
    relation_of_people,
    sensitivity_of,
)
from winnow.cli.recording import UNRECORDED, Record
from winnow.cli.reporting import reported, saved_then_shown
from winnow.cli.with_cut import WithCutOption, check_cut
from winnow.core.relation import Relation
from winnow.errors import DataError, ParameterError

if TYPE_CHECKING:
    from winnow.topk.cli.source import TopKRequest


_COLUMNS = "Columns and people"
_MECHANISM = "Mechanism"
_OUTPUT = "Output"

EXAMPLES = """\
Examples:

winnow topk visits.parquet --item page --person visitor -k 10 --epsilon 1 --delta 1e-6

winnow topk 'logs/*.csv' --item page --person visitor --max-items 3 \
--items pages.txt -k 10 --epsilon 1 --counts --plot top.png

winnow topk votes.csv --item city --count votes -k 5 --epsilon 0.5 --out top.csv --labels public
"""


@reported()
def topk(
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
    k: SizeOption,
    epsilon: EpsilonOption,
    delta: Annotated[
        float,
        typer.Option(
            "--delta",
            metavar="D",
            help="Needed where the items are found in a log, e.g. 1e-6; also for peel-gumbel and "
            "oneshot-approximate.",
        ),
    ] = 0.0,
    with_counts: Annotated[
        bool, typer.Option("--counts", help="Release noisy counts of the winners, too.")
    ] = False,
    with_cut: WithCutOption = 0.0,
    seed: SeedOption = None,
    text: TextOptions = PLAIN_TEXT,
    person: Annotated[
        str | None,
        option(
            "--person",
            "COLUMN",
            "The column that says whose event it is.",
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
        int | None,
        option(
            "--max-items",
            "L",
            "Count each person for at most L items; with --count: how it was counted.",
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
    mechanism: TopKMechanismOption = AUTO,
    ordered: Annotated[
        bool | None,
        typer.Option(
            "--ordered/--any-order",
            help="For auto: a list in order is needed, or a set is enough.",
            rich_help_panel=_MECHANISM,
            show_default=False,
        ),
    ] = None,
    noise: TopKNoiseOption = None,
    gamma: GammaOption = None,
    rounded: Annotated[
        bool,
        typer.Option(
            "--rounded",
            help="For canonical: the loss in whole people.",
            rich_help_panel=_MECHANISM,
        ),
    ] = False,
    reach: Annotated[
        int | None,
        option(
            "--reach",
            "N",
            "For limited-domain: how many of the largest counts take part (default 100 K + 1000).",
            _MECHANISM,
        ),
    ] = None,
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
    plot: Annotated[Path | None, plot_of("Draw the noisy counts (turns on --counts)")] = None,
    record: Record = UNRECORDED,
) -> None:
    """Release the K most common items privately.

    FILE is an event log with one row for each event, in which a person may stand many times;
    or, with --count, a file of items and their counts.
    """
    from winnow.cli.files import are_large, named_by
    from winnow.cli.printing import counting
    from winnow.cli.recording import warn_of_other_labels
    from winnow.core.saving import write_whole
    from winnow.privacy.sizing import rounds_accountant
    from winnow.topk.cli.source import (
        TopKRequest,
        check_source,
        from_counts,
        from_log,
        read_items,
        threshold_text,
    )
    from winnow.topk.cli.view import draw, save_top, show_top

    with_counts = with_counts or plot is not None
    relation, budget = record.account(relation, Relation.ADD_REMOVE)
    bounded = count is None and person is not None and max_items is not None
    check_cut(with_cut, bounded, "--person and --max-items")
    request = TopKRequest(
        k=k,
        epsilon=epsilon,
        with_cut=with_cut,
        delta=delta,
        mechanism=str(mechanism),
        ordered=ordered,
        noise=None if noise is None else str(noise),
        gamma=gamma,
        rounded=rounded,
        reach=reach,
        with_counts=with_counts,
        max_items=1 if count is None and person is None else max_items,
        accountant=rounds_accountant(budget),
        relation=relation,
        sensitivity=sensitivity_of(sensitivity),
    )
    check_source(
        file, count, max_items, person=person, items=items, memory=memory, header=header,
        labels=labels, one_row=one_row, sensitivity=sensitivity,
    )  # fmt: skip
    read = named_by(file)
    _check_targets([*read, *([] if items is None else [items])], out, plot, request)
    public = None if items is None else read_items(items, line_breaks=text.line_breaks)
    choice = request.choice(
        public=labels == "public" or public is not None,
        items=None if public is None else len(public),
    )
    if public is not None and k > len(public):
        raise DataError(f"k={k} exceeds the {len(public)} items of {items}; lower k")
    warn_of_other_labels(budget, read)
    with counting(f"counting {file}") if are_large(read) else nullcontext() as progress:
        if count is not None:
            released, choice = from_counts(
                file,
                item,
                count,
                request,
                choice,
                seed,
                budget,
                text=text,
                header=header,
            )
        else:
            how_to_count: dict[str, Any] = {
                "items": public,
                "progress": progress,
                **text.said(),
            }
            if memory is not None:
                how_to_count["memory"] = memory
            released = from_log(file, item, person, how_to_count, request, choice, seed, budget)

    how: dict[str, Any] = {
        "ordered": getattr(choice.mechanism, "ordered", True),
        "margin": request.margin(choice),
    }

    def show() -> None:
        passed = threshold_text(choice, request.utility)
        show_top(released, k=k, with_counts=with_counts, threshold=passed, **how)

    with saved_then_shown(released, json, show):
        if out is not None:
            save_top(out, released, with_counts=with_counts)
        if plot is not None:
            title = f"Top {k}: {item}"
            write_whole(plot, draw(released, title=title, ending=plot.suffix.lower(), **how))


def _check_targets(
    read: list[Path], out: Path | None, plot: Path | None, request: TopKRequest
) -> None:
    """Refuse what could not be saved or drawn, before anything is counted."""
    from winnow.cli.files import check_targets

    if plot is not None:
        from winnow.plots.bars import MOST_BARS

        if request.k > MOST_BARS:
            raise ParameterError(
                f"--plot draws up to {MOST_BARS} bars, and k={request.k}; leave it out"
            )
    check_targets(read, out, plot)
