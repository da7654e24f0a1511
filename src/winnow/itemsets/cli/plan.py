"""``winnow plan itemsets``: from which support on itemsets are found."""

from __future__ import annotations

from typing import Annotated

import typer

from winnow.cli.options import (
    ASKED,
    DeltaOfPlanOption,
    EpsilonOfPlanOption,
    JsonOption,
    option,
    relation_of_people,
)
from winnow.cli.reporting import reported
from winnow.core.relation import Relation

EXAMPLES = """\
Examples:

winnow plan itemsets --size 2 -k 20 --items 500 --epsilon 1

winnow plan itemsets --size 3 -k 10 --epsilon 1 --delta 1e-6
"""


@reported()
def itemsets(
    size: Annotated[int, option("--size", "N", "How many items a set has: 1 to 4.", ASKED)],
    epsilon: EpsilonOfPlanOption,
    delta: DeltaOfPlanOption = 0.0,
    k: Annotated[int, option("-k", "K", "How many itemsets are asked for.", ASKED)] = 1,
    items: Annotated[
        int | None,
        option("--items", "M", "How many items the public list has; without it, private.", ASKED),
    ] = None,
    max_items: Annotated[
        int | None, option("--max-items", "L", "The most items of a basket.", ASKED)
    ] = None,
    max_baskets: Annotated[
        int, option("--max-baskets", "B", "The most baskets of one person.", ASKED)
    ] = 1,
    with_counts: Annotated[
        bool,
        typer.Option("--counts", help="Noisy supports are asked for, too.", rich_help_panel=ASKED),
    ] = False,
    relation: Annotated[Relation, relation_of_people(ASKED)] = Relation.ADD_REMOVE,
    json: JsonOption = False,
) -> None:
    """Say which support itemsets need to be found; no data are read and nothing is spent."""
    from winnow.cli.printing import console, show_json
    from winnow.itemsets.plan import frequent_itemsets

    found = frequent_itemsets(
        size=size,
        epsilon=epsilon,
        delta=delta,
        k=k,
        items=items,
        max_items=max_items,
        max_baskets=max_baskets,
        with_counts=with_counts,
        relation=relation,
    )
    show_json(found.to_dict()) if json else console().print(str(found), markup=False)
