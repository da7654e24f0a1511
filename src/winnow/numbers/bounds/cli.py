"""``winnow bounds`` and ``winnow plan bounds``: private bounds of a column, from a file."""

from __future__ import annotations

from winnow.cli.derived import Typed
from winnow.cli.of_table import SHOWN, AssumedTable, TableRun
from winnow.cli.private_table import PrivateTable
from winnow.cli.reporting import reported
from winnow.numbers.bounds.request import Bounds, PlannedBounds

EXAMPLES = """\
Examples:

winnow bounds people.csv --schema schema.json --column income --epsilon 0.5 --one-row-per-person

A schema is a JSON file: {"income": {"type": "number", "low": 0, "high": 100000000, "step": 0.01, \
"clip": true}}
"""


@reported()
def bounds(private: PrivateTable, asked: Typed[Bounds], run: TableRun = SHOWN) -> None:
    """Release two numbers between which nearly all values of a column lie.

    For columns of which little is known: declare a wide range, and let the data choose a narrower
    one, at a small cost.
    """
    run.release("bounds", private, asked, title="Bounds")


PLAN_EXAMPLES = """\
Examples:

winnow plan bounds --schema schema.json --column income --epsilon 0.5
"""


@reported()
def plan(assumed: AssumedTable, asked: Typed[PlannedBounds]) -> None:
    """Predict how many rows may lie beyond private bounds; nothing is read or spent."""
    assumed.show(asked())
