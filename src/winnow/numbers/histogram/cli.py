"""``winnow histogram`` and ``winnow plan histogram``: counts in bins of numbers, from a file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from winnow.cli.derived import Typed
from winnow.cli.of_table import DRAWN, AssumedTable, DrawnRun, show_numbers
from winnow.cli.private_table import PrivateTable
from winnow.cli.reporting import reported
from winnow.numbers.histogram.request import Histogram, PlannedHistogram

if TYPE_CHECKING:
    from winnow.core.released import Released
    from winnow.numbers.histogram.result import ReleasedHistogram

EXAMPLES = """\
Examples:

winnow histogram people.csv --schema schema.json --column income --bins 12 --epsilon 1 \
--one-row-per-person

winnow histogram people.csv --schema schema.json --column income --bins 0,20000,50000,200000 \
--epsilon 1 --out incomes.csv --plot incomes.png --one-row-per-person

winnow histogram people.csv --schema schema.json --column income --split quantiles --epsilon 1 \
--one-row-per-person

A schema is a JSON file: {"income": {"type": "number", "low": 0, "high": 200000, "step": 1, \
"clip": true}}
"""


@reported()
def histogram(private: PrivateTable, asked: Typed[Histogram], run: DrawnRun = DRAWN) -> None:
    """Release a histogram of a column of numbers: how many rows lie in each bin, with errors.

    Bins have equal widths, public edges, or private ones: quantiles, so that about as many rows
    are in each, or edges where the density changes.
    """
    run.release("counts", private, asked, title="Histogram", show=_show)


def _show(released: Released[ReleasedHistogram], written: Sequence[tuple[str, Path]]) -> None:
    show_numbers(released, written, bars=released.value.estimate.tolist())


PLAN_EXAMPLES = """\
Examples:

winnow plan histogram --schema schema.json --column income --bins 12 --epsilon 1

winnow plan histogram --schema schema.json --column income --split quantiles --error 10
"""


@reported()
def plan(assumed: AssumedTable, asked: Typed[PlannedHistogram]) -> None:
    """Predict the errors of a histogram; no data are read and nothing is spent."""
    assumed.show(asked())
