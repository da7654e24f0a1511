"""``winnow moments`` and ``winnow plan moments``: means and other moments, from a file."""

from __future__ import annotations

from winnow.cli.derived import Typed
from winnow.cli.of_table import SHOWN, AssumedTable, TableRun
from winnow.cli.private_table import PrivateTable
from winnow.cli.reporting import reported
from winnow.numbers.moments.request import Moments, PlannedMoments

EXAMPLES = """\
Examples:

winnow moments people.csv --schema schema.json --values income --epsilon 1 --one-row-per-person

winnow moments people.csv --schema schema.json --values income,age --statistics mean,deviation \
--by region --epsilon 1 --out means.csv --one-row-per-person

A schema is a JSON file: {"income": {"type": "number", "low": 0, "high": 200000, "step": 1, \
"clip": true}, "region": {"values": ["north", "south"]}}
"""


@reported()
def moments(private: PrivateTable, asked: Typed[Moments], run: TableRun = SHOWN) -> None:
    """Release counts, sums, means, variances and deviations of columns of numbers.

    All are charged once, each with an error and an interval. Groups do not share the
    budget, since a row is in one group only.
    """
    run.release("moments", private, asked, title="Moments")


PLAN_EXAMPLES = """\
Examples:

winnow plan moments --schema schema.json --values income --rows 4000 --epsilon 1

winnow plan moments --schema schema.json --values income --rows 4000 --error 100
"""


@reported()
def plan(assumed: AssumedTable, asked: Typed[PlannedMoments]) -> None:
    """Predict the errors of means and other moments; no data are read and nothing is spent."""
    assumed.show(asked())
