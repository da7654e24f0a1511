"""``winnow itemsets``: the items that most baskets hold together, privately."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from winnow.cli.derived import Typed
from winnow.cli.options import (
    ASKED,
    JsonOption,
    OutOption,
    PadToSecondsOption,
    SeedOption,
    check_unit_said,
    option,
    plot_of,
    relation_of_people,
)
from winnow.cli.recording import UNRECORDED, Record
from winnow.cli.reporting import reported, saved_then_shown
from winnow.core.relation import Relation
from winnow.core.request import Run
from winnow.itemsets.request import Itemsets
from winnow.read.options import Lying, Reading, TextFormat

_BASKETS = "Baskets and people"

EXAMPLES = """\
Examples:

winnow itemsets baskets.csv --size 2 --epsilon 1 --delta 1e-6 --one-basket-per-person

winnow itemsets orders.parquet --basket order --item product --person customer \
--max-baskets 5 --size 3 --epsilon 1 --delta 1e-6

winnow itemsets baskets.dat --size 2 -k 5 --items items.txt --method joint --epsilon 2 \
--plot pairs.png --one-basket-per-person

winnow itemsets baskets.csv --size 2 -k 20 --epsilon 2 --delta 1e-6 --rules rules.csv \
--one-basket-per-person
"""


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
    asked: Typed[Itemsets],
    text: Typed[TextFormat],
    lying: Typed[Lying],
    seed: SeedOption = None,
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
    relation: Annotated[Relation | None, relation_of_people(_BASKETS, Relation.ADD_REMOVE)] = None,
    json: JsonOption = False,
    out: OutOption = None,
    plot: Annotated[Path | None, plot_of("Draw the noisy supports (turns on --supports)")] = None,
    rules: Annotated[
        Path | None,
        typer.Option(
            "--rules",
            metavar="FILE",
            help="Write the association rules among the itemsets (.csv, .json, .parquet); "
            "turns on --supports subsets.",
        ),
    ] = None,
    min_confidence: Annotated[
        float,
        typer.Option(
            "--min-confidence", metavar="C", help="For --rules: leave out rules below it, 0 to 1."
        ),
    ] = 0.5,
    record: Record = UNRECORDED,
) -> None:
    """Release the itemsets that most baskets hold, privately.

    Without --items the items are private, too: a delta is needed, and fewer than K itemsets may be
    released where no more stand out. The result has a guarantee and a receipt, which says why a
    method was chosen.
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
    from winnow.read.baskets import read_baskets
    from winnow.select.cli.source import read_items

    check_unit_said(person, one_basket, "--person", "basket")
    supports = asked.supports
    if rules is not None:
        supports = "subsets"
    elif plot is not None:
        supports = supports or "winners"
    read = [file, *([] if items is None else [items])]
    check_targets(read, out, plot)
    check_targets([*read, *([] if out is None else [out])], rules, None, out_option="--rules")
    check_confidence(min_confidence)
    relation, budget = record.account(relation, Relation.ADD_REMOVE)
    run = Run(pad_to=pad_to)
    request = asked(k=asked.k or 1, supports=supports, budget=budget)
    warn_of_other_labels(budget, [file])
    baskets = read_baskets(
        file,
        unit="basket" if person is None else None,
        person=person,
        max_baskets=max_baskets,
        items=None if items is None else read_items(items, line_breaks=text.line_breaks),
        max_items=max_items,
        layout=lying.layout,
        relation=relation,
        text=text(),
        reading=Reading(salt=None if seed is None else f"seed {seed}"),  # repeatable, too
    )
    padding, plan = run.padding(), request.plan(baskets)
    released = plan.run(baskets, budget=budget, seed=seed, padding=padding)
    supports_by_itemset = counted(released)
    noisy = supports is not None

    def show() -> None:
        ordered = plan.mechanism.selection.ordered
        show_itemsets(supports_by_itemset, noisy, baskets.unit.name, ordered=ordered)

    with saved_then_shown(released, json, show):
        if out is not None:
            save(out, released.to_dict(), itemset_rows(supports_by_itemset, noisy))
        if plot is not None:
            write_whole(plot, draw_itemsets(supports_by_itemset, plan, plot.suffix.lower()))
        if rules is not None:
            rows = rule_rows(released, min_confidence)
            save(rules, {"rules": rows, **released.to_dict()}, rows)


PLAN_EXAMPLES = """\
Examples:

winnow plan itemsets --size 2 -k 20 --items 500 --epsilon 1

winnow plan itemsets --size 3 -k 10 --epsilon 1 --delta 1e-6
"""


@reported()
def plan(
    asked: Typed[Itemsets],
    items: Annotated[
        int | None,
        option(
            "--items",
            "M",
            "How many items the public list has; leave it out where the items are private.",
            ASKED,
        ),
    ] = None,
    max_items: Annotated[
        int | None, option("--max-items", "L", "The most items of a basket.", ASKED)
    ] = None,
    max_baskets: Annotated[
        int, option("--max-baskets", "B", "The most baskets of one person.", ASKED)
    ] = 1,
    relation: Annotated[Relation, relation_of_people(ASKED)] = Relation.ADD_REMOVE,
    json: JsonOption = False,
) -> None:
    """Predict which support itemsets need to be found; no data are read and nothing is spent."""
    from winnow.cli.printing import show_plan
    from winnow.itemsets.about import baskets

    about = baskets(items=items, max_items=max_items, max_baskets=max_baskets, relation=relation)
    show_plan(asked().plan(about), json=json)
