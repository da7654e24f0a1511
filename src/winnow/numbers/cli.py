"""``winnow quantiles`` and ``winnow plan quantiles``: medians and other quantiles, from a file."""

from __future__ import annotations

from winnow.cli.derived import Typed
from winnow.cli.of_table import SHOWN, AssumedTable, TableRun
from winnow.cli.private_table import PrivateTable
from winnow.cli.reporting import reported
from winnow.numbers.request import PlannedQuantiles, Quantiles

EXAMPLES = """\
Examples:

winnow quantiles people.csv --schema schema.json --column income --quantiles 0.25,0.5,0.75 \
--epsilon 1 --one-row-per-person

winnow quantiles people.csv --schema schema.json --column income --by region --level 0.95 \
--epsilon 1 --out medians.csv --one-row-per-person

A schema is a JSON file: {"income": {"type": "number", "low": 0, "high": 200000, "step": 1, \
"clip": true}, "region": {"values": ["north", "south"]}}
"""


@reported()
def quantiles(private: PrivateTable, asked: Typed[Quantiles], run: TableRun = SHOWN) -> None:
    """Release quantiles of a column of numbers: its median, quartiles, or others.

    Every released number is one of the public grid that the schema declares. Groups do not
    share the budget, since a row is in one group only.
    """
    run.release("quantiles", private, asked, title="Quantiles")


PLAN_EXAMPLES = """\
Examples:

winnow plan quantiles --schema schema.json --column income --quantiles 0.25,0.5,0.75 --epsilon 1

winnow plan quantiles --schema schema.json --column income --error 10
"""


@reported()
def plan(assumed: AssumedTable, asked: Typed[PlannedQuantiles]) -> None:
    """Predict by how many rows quantiles would be off; no data are read and nothing is spent."""
    assumed.show(asked())
