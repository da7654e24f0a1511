"""``winnow regress`` and ``winnow plan regress``: a linear regression, from a file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from winnow.cli.derived import Typed
from winnow.cli.of_table import SHOWN, AssumedTable, TableRun
from winnow.cli.private_table import PrivateTable
from winnow.cli.reporting import reported
from winnow.numbers.regress.request import PlannedRegression, Regression

if TYPE_CHECKING:
    pass

EXAMPLES = """\
Examples:

winnow regress people.csv --schema schema.json --target income --features age,region --epsilon 1 \
--one-row-per-person

A schema is a JSON file: {"income": {"type": "number", "low": 0, "high": 200000, "step": 1, \
"clip": true}, "age": {"type": "number", "low": 0, "high": 110}, \
"region": {"values": ["north", "south"]}}
"""


@reported()
def regress(
    private: PrivateTable,
    asked: Typed[Regression],
    run: TableRun = SHOWN,
) -> None:
    """Release a linear regression: coefficients of numbers and of values, with intervals.

    All of it is charged once. Narrow ranges in the schema make the noise small.
    """
    run.release("coefficients", private, asked, title="Regression")


PLAN_EXAMPLES = """\
Examples:

winnow plan regress --schema schema.json --target income --rows 4000 --epsilon 1
"""


@reported()
def plan(assumed: AssumedTable, asked: Typed[PlannedRegression]) -> None:
    """Predict the errors of a linear regression; no data are read and nothing is spent."""
    assumed.show(asked())
