"""Released itemsets as the user sees them: a table, rows of a file, and a bar plot."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from winnow.cli.printing import add_receipt, console, grid, pairs
from winnow.core.released import Released
from winnow.itemsets.plan import ItemsetPlan
from winnow.itemsets.rules import ItemsetSupports

Found = Released[Any]


def counted(released: Released[Any]) -> Found:
    """The release as a list; of supports with those of subsets, the pairs of the winners."""
    value = released.value
    if not isinstance(value, ItemsetSupports):
        return released
    return replace(released, value=value.listed())


def rule_rows(released: Released[ItemsetSupports], min_confidence: float) -> list[dict[str, Any]]:
    """One row for each rule with the receipt beside it; one without a rule for none."""
    about = {**released.guarantee.to_dict(), **released.receipt.to_dict()}
    rules = [rule.to_dict() for rule in released.value.rules(min_confidence)]
    return [{**rule, **about} for rule in rules] or [{"items": None, "then": None, **about}]


def named(released: Found, with_counts: bool) -> list[tuple[str, int | None]]:
    """Itemsets as one text each, and their noisy supports."""
    both = released.value if with_counts else [(itemset, None) for itemset in released.value]
    return [(" + ".join(map(str, itemset)), noisy) for itemset, noisy in both]


def show_itemsets(released: Found, with_counts: bool, unit: str, *, ordered: bool) -> None:
    """The itemsets in a table, with ranks where there is an order, then the receipt."""
    rows = named(released, with_counts)
    show = console()
    heads = [("rank", "right"), ("itemset", "left"), ("noisy support", "right")]
    columns = [
        [str(rank + 1) if ordered else "-" for rank in range(len(rows))],
        [name for name, _ in rows],
        [f"{noisy:,}" if noisy is not None else "" for _, noisy in rows],
    ]
    keep = [0] * ordered + [1] + [2] * with_counts
    if rows:
        cells = zip(*(columns[place] for place in keep), strict=True)
        show.print(grid([heads[place] for place in keep], cells))
    else:
        show.print("none: no itemset stands out far enough for this epsilon and delta")
    show.print(f"privacy unit: one {unit}", style="dim")
    table = pairs()
    add_receipt(table, released)
    show.print(table)


def itemset_rows(released: Found, with_counts: bool) -> list[dict[str, Any]]:
    """One row for each itemset with the receipt beside it; one without an itemset for none."""
    about = {**released.guarantee.to_dict(), **released.receipt.to_dict()}
    rows: list[tuple[str | None, int | None]] = [*named(released, with_counts)]
    counts = [{"support": noisy} if with_counts else {} for _, noisy in rows]
    records = [{"itemset": n, **c, **about} for (n, _), c in zip(rows, counts, strict=True)]
    return records or [{"itemset": None, **({"support": None} if with_counts else {}), **about}]


def draw_itemsets(released: Found, plan: ItemsetPlan, ending: str) -> bytes:
    """Bars of the noisy supports."""
    from winnow.show.plots.bars import below_title

    below = below_title(plan.mechanism.selection.name, released)
    title = f"Frequent itemsets of {plan.size}"
    drawn: bytes = released.value.drawn(title=title, subtitle=below, ending=ending)
    return drawn
