"""What a wide release does unless told: rules of thumb over public numbers.

One number decides: the **noise of a pair**, the total variation distance that noise puts into a
table of two columns of the usual size when every column gets a round,

    nu = .4 x cells x sigma / rows,     sigma = noise of a count with columns rounds.

- nu above 1: tables of two columns would be noise; only the columns alone are measured.
- Otherwise rounds: as many as columns, up to twice as many the smaller nu is, and a share of the
  budget for the columns alone that falls with nu.
- All tables of the workload at once, with no selection, if a model can hold them together and
  noise moves the usual table by less than ``ONCE``.

The rules were chosen on four tables (books, movie ratings, visits to web pages, made-up rows:
``CHOSEN_ON`` in benchmarks/_wide_data.py; epsilon .1 to 10) and parts of them, and are compared on
seven others (``CHECKED_ON``) by benchmarks/wide.py. ADULT is among the latter, but the rules that
these replace had been chosen on it. On the same four tables these did not help: to measure all
pairs of columns that noise spares before the first round, and fit those that stand out (error 0.95
to 1.4 of that without); four times as many rounds as columns; models of more than 100,000 cells.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from winnow.wide.junction_tree import Columns

ASSUMED_ROWS = 20_000
"""Where the number of rows is private, rules go by this."""
ONCE = 0.1
LEAST_FIRST, MOST_FIRST = 0.1, 0.7
SELECTION_SHARE = 0.1
MODEL_CELLS = 100_000
MOST_CANDIDATES = 1_000
"""All tables of two columns are candidates, and of larger ones so many that this is not passed."""


@dataclass(frozen=True)
class Schedule:
    """How many rounds, and the part of the budget that the columns alone get before them."""

    rounds: int
    first_share: float


def pair_noise(
    shape: Sequence[int], pairs: Sequence[Columns], *, rho: float, moved: float, rows: int
) -> float:
    """nu: the noise of a usual table of two columns, in total variation distance.

    ``moved`` is the l2 norm by which one person moves a table.
    """
    cells = median(math.prod(shape[c] for c in pair) for pair in pairs)
    return 0.4 * cells * moved * math.sqrt(len(shape) / (2 * rho)) / rows


def schedule(columns: int, nu: float) -> Schedule:
    """The rounds for a noise of a pair; none where two columns together would be noise."""
    if nu > 1.0:
        return Schedule(0, 1.0)
    many = min(2.0, max(1.0, math.sqrt(0.08 / nu)))
    return Schedule(
        max(1, round(many * columns)), min(MOST_FIRST, max(LEAST_FIRST, 0.9 * math.sqrt(nu)))
    )
