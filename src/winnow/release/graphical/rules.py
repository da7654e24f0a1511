"""What a wide release does unless told: rules of thumb over public numbers.

One number decides: the **noise of a pair**, the total variation distance that noise puts into a
table of two columns of the usual size when every column gets a round,

    nu = .4 x cells x sigma / rows,     sigma = noise of a count with columns rounds

(.5 x cells x scale / rows for Laplace noise).

- nu above 1: tables of two columns would be noise; only the columns alone are measured. Below it,
  on 18 generated tables with nu of .1 to .2, rounds were .45 to 1.45 times as far off as columns
  alone or all pairs at once, .86 in the geometric mean.
- Otherwise rounds: as many as columns, up to four times as many the smaller nu is, and a share of
  the budget for the columns alone that falls with nu. Where noise is weak they fall into stages
  of growing precision: rough tables are enough to see which are needed.
- The model may have the more cells the smaller nu is: with little noise it is what the model
  leaves out that counts. Its bound grows from round to round: large tables, which weigh more,
  would fill it before it has every strong pair.
- All tables of the workload at once, with no selection, where a fit to them is predicted to be no
  further off than rounds, or than columns alone: both distances are compared as numbers
  (``after_fit.left_of``, ``distance``). The model holds all of them, or, where that would be too
  large, some, and answers are then the tables, drawn towards the model. On 24 generated wide tables
  the better one of tables and rounds was the one with the smaller of these numbers in all but two.

The rules were chosen on eleven tables (books, baskets, a web log, movie ratings, mushrooms, some of
their columns, four made up: ``CHOSEN_ON`` in benchmarks/_wide_data.py), with epsilon from .01 to
10, and are compared on seven others (``CHECKED_ON``) by benchmarks/wide.py. These are not quite
unseen: rules that these replace had been chosen on ADULT, and were found wanting on the survey
(income) and on retail at epsilon 10; that the bound on the model grows with the root of the
rounds, neither faster nor slower, was chosen on mushrooms at epsilon 10 and retail at epsilon 1.
Misses on these seven led to several rules (columns alone, stages for weak noise only), though the
numbers came from the eleven, most of them by one or two runs.
What was tried and did not help: to measure all pairs of columns before the first round (on five
tables; it helped on retail only), selections with twice the share, and pairs only at first.

Without a delta (Laplace noise, epsilons that add up) the rounds of ``schedule`` were chosen on
books, generated-12 and movies-6 with epsilon .3, 1 and 10, two runs each.

That long columns get more of the first budget follows from a formula; on books (2-way error 0.95
and 0.97 at epsilon .1 and 1) and generated-12 (1.00, 0.99) it was not worse. The rule of thumb for
the distance was read off the benchmark's rows of ADULT, income and retail: see ``distance``.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median

from winnow.fit.junction_tree import Columns

LEAST_FIRST, MOST_FIRST = 0.1, 0.7
"""The part of the budget for columns alone, from weak noise to strong noise."""
MOST_ROUNDS = 4.0
"""For every column."""
LEAST_PURE, MOST_PURE = 0.2, 2.0
"""Rounds without a delta, for every column: the fewest and the most."""
UNSEEN = 0.2
"""The total variation distance of a table of columns that depend on each other from one of columns
alone, and the largest error of a table that was not measured, as a part of the rows. Chosen on 61
generated settings (``benchmarks/choice.py``, pairs and triples, 300 to 200,000 rows), in which it
was .03 to .9, in the median .2."""
STAGES, WEAK = 5, 0.005
"""Where the noise of a pair is weak, rounds have so many stages: 0.8 of the error on mushroom and
0.9 on movies-17, level on two others; where it is stronger, level or worse in nine settings."""
PLAIN_WORSE = 3.0
"""Plain noise is about so much larger than the best noise on all tables, at most."""
SELECTION_SHARE = 0.1
"""The part of a round that selects, as in AIM."""
MODEL_CELLS, MOST_MODEL_CELLS = 100_000, 400_000
"""The cells that a model may have unless told, where noise is strong and where it is weak."""
MOST_CANDIDATES = 1_000
"""All tables of two columns are candidates, and of larger ones so many that this is not passed."""


@dataclass(frozen=True)
class Schedule:
    """How many rounds, and the part of the budget that the columns alone get before them."""

    rounds: int
    first_share: float
    stages: int = 1


def pair_noise(
    shape: Sequence[int],
    pairs: Sequence[Columns],
    *,
    epsilon: float,
    rho: float | None,
    people: int,
    rows_per_person: int,
    rows: int,
) -> float:
    """nu: the noise of a usual table of two columns, in total variation distance.

    Without a rho noise has the Laplace law. ``people`` come or go between neighbours.
    """
    cells = median(math.prod(shape[c] for c in pair) for pair in pairs)
    if rho is None:
        return 0.5 * cells * people * rows_per_person * len(shape) / epsilon / rows
    moved = math.sqrt(people) * rows_per_person
    return 0.4 * cells * moved * math.sqrt(len(shape) / (2 * rho)) / rows


def schedule(columns: int, nu: float, *, pure: bool = False) -> Schedule:
    """The rounds for a noise of a pair; none where two columns together would be noise.

    Without a delta noise grows with the number of rounds, not with its root, and they are fewer.
    """
    if pure:
        many = min(MOST_PURE, max(LEAST_PURE, (0.03 / nu) ** (0.5 if nu > 0.03 else 0.25)))
    else:
        many = min(MOST_ROUNDS, max(1.0, (0.12 / nu) ** 0.4))
    if nu * (many if pure else 1.0) > 1.0:
        return Schedule(0, 1.0)
    rounds = max(1, round(many * columns))
    share = min(MOST_FIRST, max(LEAST_FIRST, 0.9 * math.sqrt(nu)))
    stages = STAGES if nu < WEAK and not pure else 1
    return Schedule(rounds, share, min(stages, rounds))


def plain_distance(
    sizes: Sequence[int],
    *,
    epsilon: float,
    rho: float | None,
    people: int,
    rows_per_person: int,
    rows: int,
) -> float:
    """The mean total variation distance that plain noise puts into tables of so many cells."""
    mean, tables = sum(sizes) / len(sizes), len(sizes)
    distance = 0.5 * mean * people * rows_per_person * tables / epsilon / rows
    if rho is None:
        return distance
    return min(
        distance, 0.4 * mean * math.sqrt(people * tables / (2 * rho)) * rows_per_person / rows
    )


def model_cells(nu: float) -> int:
    """The cells that a model may have: more where noise is weak."""
    return min(MOST_MODEL_CELLS, round(MODEL_CELLS * max(1.0, 0.1 / math.sqrt(nu))))


def distance(nu: float, ways: int) -> float:
    """About the total variation distance of a table of so many columns from the truth.

    For two columns .2 sqrt(nu), and 2.2 times as much for each further one. Read off runs on ADULT,
    income and retail, where the truth was 0.5 to 1.8 times that for two columns and 0.5 to 2.8
    times for three (most at epsilon 10 on retail, whose model was full).
    """
    return min(1.0, 0.2 * math.sqrt(nu) * 2.2 ** (ways - 2))


def mean_distance(nu: float, ways: Iterable[int]) -> float:
    """The mean distance over tables of so many columns each."""
    often = Counter(ways)
    return sum(n * distance(nu, each) for each, n in often.items()) / often.total()


def rounds_seconds(
    rounds: int, *, cells: int, candidates: int = MOST_CANDIDATES, model_cells: int = MODEL_CELLS
) -> float:
    """About the time of so many rounds, with models of half the cells that they may have."""
    return 3.0 + rounds * (0.1 + 3e-6 * model_cells + 1e-7 * cells + 2e-4 * candidates)
