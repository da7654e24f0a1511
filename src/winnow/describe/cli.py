"""``winnow describe`` and ``winnow plan describe``: a first look at a table, from a file."""

from __future__ import annotations

from winnow.cli.derived import Typed
from winnow.cli.of_table import DRAWN, AssumedTable, DrawnRun
from winnow.cli.private_table import PrivateTable
from winnow.cli.reporting import reported
from winnow.describe.request import Describe, PlannedDescription

EXAMPLES = """\
Examples:

winnow describe people.csv --schema schema.json --epsilon 1 --one-row-per-person

winnow describe people.csv --schema schema.json --epsilon 1 --report people.html --out people.json \
--one-row-per-person

A schema is a JSON file: {"income": {"type": "number", "low": 0, "high": 200000, "clip": true}, \
"region": {"values": ["north", "south"]}}. 'winnow schema draft' writes a draft.
"""


@reported()
def describe(private: PrivateTable, asked: Typed[Describe], run: DrawnRun = DRAWN) -> None:
    """Describe every column of a table: missing values, means, quantiles, common values.

    Run it first. Everything is one charge, and every number has a standard error.
    """
    run.release("description", private, asked, title="A description")


PLAN_EXAMPLES = """\
Examples:

winnow plan describe --schema schema.json --epsilon 1
"""


@reported()
def plan(assumed: AssumedTable, asked: Typed[PlannedDescription]) -> None:
    """Predict the errors of a description; no data are read and nothing is spent."""
    assumed.show(asked())
