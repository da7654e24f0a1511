"""``winnow itemsets``: the items that most baskets hold together, privately."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from winnow.cli.options import (
    PLAIN_TEXT,
    JsonOption,
    OutOption,
    PadToSecondsOption,
    SeedOption,
    TextOptions,
    Thresholds,
    check_unit_said,
    choices,
    plot_of,
    relation_of_people,
)
from winnow.cli.recording import UNRECORDED, Record
from winnow.cli.reporting import reported, saved_then_shown
from winnow.core.relation import Relation
from winnow.mechanisms import AUTO, ITEMSETS

_BASKETS = "Baskets and people"
_MECHANISM = "Mechanism"

EXAMPLES = """\
Examples:

winnow itemsets baskets.csv --size 2 --epsilon 1 --delta 1e-6 --one-basket-per-person

winnow itemsets orders.parquet --basket order --item product --person customer \
--max-baskets 5 --size 3 --epsilon 1 --delta 1e-6

winnow itemsets baskets.dat --size 2 -k 5 --items items.txt --mechanism joint --epsilon 2 \
--counts --plot pairs.png --one-basket-per-person

winnow itemsets baskets.csv --size 2 -k 20 --epsilon 2 --delta 1e-6 --rules rules.csv \
--one-basket-per-person
"""


if TYPE_CHECKING:
    ItemsetMechanism: TypeAlias = str
else:
    ItemsetMechanism = choices("ItemsetMechanism", ITEMSETS, AUTO)
_AUTO = ItemsetMechanism(AUTO)


class BasketLayout(StrEnum):
    """How baskets lie in a file."""

    AUTO = "auto"
    LINES = "lines"
    PAIRS = "pairs"
    INDICATORS = "indicators"


@reported()
def itemsets(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="One basket on each line (.csv, .tsv, .dat, .txt, also gzipped); or a CSV, TSV or "
            "Parquet table, with --basket and --item, or with a column for each item.",
        ),
    ],
    size: Annotated[
        int, typer.Option("--size", metavar="R", help="How many items an itemset has: 1 to 4.")
    ],
    epsilon: Annotated[
        float,
        typer.Option("--epsilon", metavar="E", help="The privacy loss of this call in total."),
    ],
    delta: Annotated[
        float,
        typer.Option(
            "--delta",
            metavar="D",
            help="Needed where the items are private; longer lists of public items gain by it.",
        ),
    ] = 0.0,
    k: Annotated[
        int, typer.Option("-k", "--k", metavar="K", help="How many itemsets to release.")
    ] = 1,
    with_counts: Annotated[
        bool,
        typer.Option("--counts", help="Release noisy supports, too, for half of epsilon."),
    ] = False,
    seed: SeedOption = None,
    text: TextOptions = PLAIN_TEXT,
    pad_to: PadToSecondsOption = None,
    items: Annotated[
        Path | None,
        typer.Option(
            "--items",
            metavar="FILE",
            help="The public list of items, one on each line. Without it the items are private.",
            rich_help_panel=_BASKETS,
        ),
    ] = None,
    max_items: Annotated[
        int | None,
        typer.Option(
            "--max-items",
            metavar="L",
            help="Cut longer baskets down to L items, chosen by a keyed hash.",
            rich_help_panel=_BASKETS,
        ),
    ] = None,
    basket: Annotated[
        str | None,
        typer.Option(
            "--basket", metavar="COLUMN", help="Whose rows are a basket.", rich_help_panel=_BASKETS
        ),
    ] = None,
    item: Annotated[
        str | None,
        typer.Option(
            "--item", metavar="COLUMN", help="The column of items.", rich_help_panel=_BASKETS
        ),
    ] = None,
    person: Annotated[
        str | None,
        typer.Option(
            "--person",
            metavar="COLUMN",
            help="The column of people.",
            rich_help_panel=_BASKETS,
        ),
    ] = None,
    one_basket: Annotated[
        bool,
        typer.Option(
            "--one-basket-per-person",
            help="Nobody has two baskets: one basket is what is protected.",
            rich_help_panel=_BASKETS,
        ),
    ] = False,
    max_baskets: Annotated[
        int | None,
        typer.Option(
            "--max-baskets",
            metavar="M",
            help="Keep at most M baskets of one person; needed with --person.",
            rich_help_panel=_BASKETS,
        ),
    ] = None,
    separator: Annotated[
        str | None,
        typer.Option(
            "--separator",
            metavar="TEXT",
            help="Between the items of a line; by default that of the file's ending.",
            rich_help_panel=_BASKETS,
        ),
    ] = None,
    layout: Annotated[
        BasketLayout,
        typer.Option("--layout", help="How baskets lie in the file.", rich_help_panel=_BASKETS),
    ] = BasketLayout.AUTO,
    relation: Annotated[Relation | None, relation_of_people(_BASKETS, Relation.ADD_REMOVE)] = None,
    mechanism: Annotated[
        ItemsetMechanism,
        typer.Option(
            "--mechanism", metavar="NAME", help="See the list below.", rich_help_panel=_MECHANISM
        ),
    ] = _AUTO,
    thresholds: Annotated[
        Thresholds | None,
        typer.Option(
            "--thresholds",
            help="For large-margin: tight (default), or printed as in the paper.",
            rich_help_panel=_MECHANISM,
        ),
    ] = None,
    growth: Annotated[
        int | None,
        typer.Option(
            "--growth",
            metavar="L",
            help="For choosing: the most itemsets of one person, where --max-items is not given.",
            rich_help_panel=_MECHANISM,
        ),
    ] = None,
    reach: Annotated[
        int | None,
        typer.Option(
            "--reach",
            metavar="N",
            help="For limited-domain: how many of the most frequent take part.",
            rich_help_panel=_MECHANISM,
        ),
    ] = None,
    json: JsonOption = False,
    out: OutOption = None,
    plot: Annotated[Path | None, plot_of("Draw the noisy supports (turns on --counts)")] = None,
    rules: Annotated[
        Path | None,
        typer.Option(
            "--rules",
            metavar="FILE",
            help="Write the association rules among the itemsets (.csv, .json, .parquet); "
            "measures noisy supports of all their subsets for half of epsilon.",
        ),
    ] = None,
    min_confidence: Annotated[
        float,
        typer.Option(
            "--min-confidence", metavar="C", help="For --rules: leave out those below, 0 to 1."
        ),
    ] = 0.5,
    record: Record = UNRECORDED,
) -> None:
    """Release the itemsets that most baskets hold, privately.

    auto chooses by public numbers and says why, and lists by what part of epsilon tells. weighted
    finds long lists, without a list of items if there is a delta. limited-domain needs none and may
    release fewer than K, as may large-margin, distance-to-instability and choosing. With --items
    also: exponential, permute-and-flip, noisy-max, joint (a list of K), canonical (a set of K).
    """
    from winnow.cli.files import check_targets
    from winnow.cli.recording import warn_of_other_labels
    from winnow.core.saving import save, write_whole
    from winnow.itemsets.cli.view import (
        counted,
        draw_itemsets,
        itemset_rows,
        rule_rows,
        show_itemsets,
    )
    from winnow.itemsets.rules import check_confidence
    from winnow.itemsets.verb import frequent_itemsets
    from winnow.read.baskets import read_baskets
    from winnow.topk.cli.source import read_items

    check_unit_said(person, one_basket, "--person", "basket")
    with_counts = with_counts or plot is not None or rules is not None
    read = [file, *([] if items is None else [items])]
    check_targets(read, out, plot)
    check_targets([*read, *([] if out is None else [out])], rules, None, out_option="--rules")
    check_confidence(min_confidence)
    relation, budget = record.account(relation, Relation.ADD_REMOVE)
    warn_of_other_labels(budget, [file])
    baskets = read_baskets(
        file,
        unit="basket" if person is None else "person",
        person=person,
        max_baskets=max_baskets,
        items=None if items is None else read_items(items, line_breaks=text.line_breaks),
        max_items=max_items,
        layout=str(layout),
        basket=basket,
        item=item,
        separator=separator,
        **text.said(),
        relation=relation,
        salt=None if seed is None else f"seed {seed}",  # repeatable, too
    )
    released = frequent_itemsets(
        baskets,
        size=size,
        epsilon=epsilon,
        delta=delta,
        k=k,
        mechanism=str(mechanism),
        with_counts=with_counts,
        with_subsets=rules is not None,
        thresholds=None if thresholds is None else str(thresholds),
        growth=growth,
        reach=reach,
        pad_to=pad_to,
        seed=seed,
        budget=budget,
    )
    found = counted(released)
    with saved_then_shown(released, json, lambda: show_itemsets(found, with_counts, baskets.whose)):
        if out is not None:
            save(out, released.to_dict(), itemset_rows(found, with_counts))
        if plot is not None:
            write_whole(plot, draw_itemsets(found, size, plot.suffix.lower()))
        if rules is not None:
            rows = rule_rows(released, min_confidence)
            save(rules, {"rules": rows, **released.to_dict()}, rows)
