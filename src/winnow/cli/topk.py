"""``winnow topk``: the most common items of an event log or of a file of counts, privately."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from winnow.cli.options import (
    GammaOption,
    JsonOption,
    OutOption,
    TopKMechanism,
    TopKMechanismOption,
    TopKNoiseOption,
)
from winnow.cli.reporting import reported
from winnow.domain.neighbours import Relation
from winnow.errors import InputError, WinnowError

if TYPE_CHECKING:
    from winnow.cli.topk_request import TopKRequest
    from winnow.released import Released

_COLUMNS = "Columns and people"
_MECHANISM = "Mechanism"
_OUTPUT = "Output"
STDIN = "-"

EXAMPLES = """\
Examples:

winnow topk visits.parquet --item page --user visitor -k 10 --epsilon 1 --delta 1e-6

winnow topk 'logs/*.csv' --item page --user visitor --max-items-per-user 3 \
--items pages.txt -k 10 --epsilon 1 --counts --plot top.png

winnow topk votes.csv --item city --count votes -k 5 --epsilon 0.5 --out top.csv
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
        typer.Option(
            "--item", metavar="COLUMN", help="The column of items.", rich_help_panel=_COLUMNS
        ),
    ],
    k: Annotated[int, typer.Option("-k", metavar="K", help="How many items to release.")],
    epsilon: Annotated[
        float,
        typer.Option("--epsilon", metavar="E", help="The privacy loss of this call in total."),
    ],
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
    seed: Annotated[
        int | None,
        typer.Option(
            "--seed",
            metavar="N",
            help="Repeatable and not private: for tests only. The receipt says so.",
        ),
    ] = None,
    user: Annotated[
        str | None,
        typer.Option(
            "--user",
            metavar="COLUMN",
            help="The column that says whose event it is; without it every row is a person.",
            rich_help_panel=_COLUMNS,
        ),
    ] = None,
    max_items_per_user: Annotated[
        int | None,
        typer.Option(
            "--max-items-per-user",
            metavar="L",
            help="Count each person for at most L items; with --count: how it was counted.",
            rich_help_panel=_COLUMNS,
        ),
    ] = None,
    items: Annotated[
        Path | None,
        typer.Option(
            "--items",
            metavar="FILE",
            help="The public list of items, one on each line, or a CSV with one column. Without "
            "it the items of a log are private, too.",
            rich_help_panel=_COLUMNS,
        ),
    ] = None,
    count: Annotated[
        str | None,
        typer.Option(
            "--count",
            metavar="COLUMN",
            help="The file has ready counts in this column, each item once; its list of items is "
            "public.",
            rich_help_panel=_COLUMNS,
        ),
    ] = None,
    relation: Annotated[
        Relation,
        typer.Option(
            "--relation",
            metavar="NAME",
            help="Neighbours: add-remove (one person more or less) or substitution (one replaced).",
            rich_help_panel=_COLUMNS,
        ),
    ] = Relation.ADD_REMOVE,
    mechanism: TopKMechanismOption = TopKMechanism.AUTO,
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
        typer.Option(
            "--reach",
            metavar="N",
            help="For limited-domain: how many of the largest counts take part "
            "(default 10 K + 100).",
            rich_help_panel=_MECHANISM,
        ),
    ] = None,
    memory: Annotated[
        str | None,
        typer.Option(
            "--memory",
            metavar="SIZE",
            help="For counting a log: how much memory to use, e.g. 2GB; the rest goes to disk.",
            rich_help_panel=_OUTPUT,
        ),
    ] = None,
    json: JsonOption = False,
    out: OutOption = None,
    plot: Annotated[
        Path | None,
        typer.Option(
            "--plot",
            metavar="FILE",
            help="Draw the noisy counts (with --counts): .png, .svg or .pdf.",
            rich_help_panel=_OUTPUT,
        ),
    ] = None,
) -> None:
    """Release the K most common items privately.

    FILE is an event log with one row for each event, in which a person may stand many times;
    or, with --count, a file of items and their counts.
    """
    from winnow.cli.files import are_large, named_by
    from winnow.cli.items import read_items
    from winnow.cli.printing import show_json, working
    from winnow.cli.topk_request import TopKRequest
    from winnow.cli.topk_view import draw, show_top, top_rows
    from winnow.released.saving import save, write_whole

    request = TopKRequest(
        k=k,
        epsilon=epsilon,
        delta=delta,
        mechanism=str(mechanism),
        ordered=ordered,
        noise=None if noise is None else str(noise),
        gamma=gamma,
        rounded=rounded,
        reach=reach,
        with_counts=with_counts,
        max_items_per_user=max_items_per_user,
        relation=relation,
    )
    _check_source(file, user=user, count=count, items=items, memory=memory)
    read = named_by(file)
    _check_targets([*read, *([] if items is None else [items])], out, plot, request)
    public = None if items is None else read_items(items)
    chosen = request.chosen(public=count is not None or public is not None)
    how: dict[str, Any] = {
        "ordered": getattr(chosen, "ordered", True),
        "margin": request.margin(chosen),
    }
    if public is not None and k > len(public):
        raise InputError(f"k={k} exceeds the {len(public)} items of {items}; lower k")
    with working(f"counting {file}") if are_large(read) else nullcontext():
        if count is not None:
            released = _from_counts(file, item, count, request, seed)
        else:
            released = _from_log(file, item, user, public, memory, request, seed)
    try:
        if out is not None:
            save(out, released.to_dict(), top_rows(released, with_counts=with_counts))
        if plot is not None:
            title = f"Top {k}: {item}"
            write_whole(plot, draw(released, title=title, ending=plot.suffix.lower(), **how))
    except WinnowError as error:
        raise WinnowError(f"the result is released and printed, but {error}") from None
    finally:  # what is paid for is shown, even if it could not be saved
        if json:
            show_json(released.to_dict())
        else:
            show_top(released, k=k, with_counts=with_counts, **how)


def _from_counts(
    file: str, item: str, count: str, request: TopKRequest, seed: int | None
) -> Released[list[Any]]:
    """A top k of ready counts, each item of the file being public."""
    from winnow.sealed.files import read_scores
    from winnow.verbs import top_k

    labels, counts = read_scores(
        file, label_column=item, score_column=count, options=("--item", "--count")
    )
    if counts.dtype.kind != "i" or (counts < 0).any():
        raise InputError(
            f"{file}: at least one count (column {count!r}) is negative or not a whole number; "
            "give counts of people"
        )
    bound = request.max_items_per_user
    return top_k(counts, labels=labels, max_items_per_user=bound, seed=seed, **request.arguments())


def _from_log(
    file: str,
    item: str,
    user: str | None,
    items: list[str] | None,
    memory: str | None,
    request: TopKRequest,
    seed: int | None,
) -> Released[list[Any]]:
    """A top k of the people counted in an event log."""
    import winnow
    from winnow.verbs import top_k

    settings = {} if memory is None else {"memory": memory}
    counts = winnow.counts(
        file,
        item=item,
        user=user,
        max_items_per_user=request.max_items_per_user,
        items=items,
        relation=request.relation,
        **settings,
    )
    return top_k(counts, seed=seed, **request.arguments())


def _check_source(
    file: str, *, user: str | None, count: str | None, items: Path | None, memory: str | None
) -> None:
    """Refuse options that would do nothing for this kind of file."""
    if count is None:
        if file == STDIN:
            raise InputError("an event log is read from a file; on standard input give --count")
        return
    for option, given in (("--user", user), ("--items", items), ("--memory", memory)):
        if given is not None:
            raise InputError(
                f"{option} is for event logs, and --count says that the file has ready counts; "
                "leave out one of them"
            )


def _check_targets(
    read: list[Path], out: Path | None, plot: Path | None, request: TopKRequest
) -> None:
    """Refuse what could not be saved or drawn, before anything is counted."""
    from winnow.cli.files import refuse_overwriting
    from winnow.released.saving import check_target

    if out is not None:
        check_target(out)
        refuse_overwriting(read, "--out", out)
    if plot is None:
        return
    from winnow.plots import ENDINGS, MOST_BARS
    from winnow.plots.figures import new_figure

    if not request.with_counts:
        raise InputError(
            "--plot draws noisy counts; add --counts, which takes its share of epsilon where the "
            "mechanism does not give counts anyway"
        )
    if request.k > MOST_BARS:
        raise InputError(f"--plot draws up to {MOST_BARS} bars, and k={request.k}; leave it out")
    check_target(plot, ENDINGS)
    refuse_overwriting(read, "--plot", plot)
    new_figure()  # says at once if matplotlib is missing
