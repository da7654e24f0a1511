"""The error that MWEM may be expected to leave, from public numbers: a rule of thumb."""

from __future__ import annotations

import math


def predicted_errors(
    *,
    queries: int,
    rounds: int,
    rows_per_person: int = 1,
    rho: float | None = None,
    epsilon: float = 1.0,
) -> tuple[float, float, float]:
    """The largest, the mean and the root mean square error, in rows: give rho, or epsilon alone.

    Half of rho is for selections, so one count of T has the noise L sqrt(T/rho); in pure privacy
    its Laplace scale is 3 L T/epsilon. The largest error was seen at 0.3 to 1.7 times
    sqrt(2 ln m) x noise, the mean at 0.13 to 0.69 x noise.
    """
    if rho is not None:
        noise = rows_per_person * math.sqrt(rounds / rho)
    else:
        noise = math.sqrt(2) * rows_per_person * 3 * rounds / epsilon
    return math.sqrt(2 * math.log(max(queries, 2))) * noise, 0.5 * noise, 0.75 * noise


def predicted_table_errors(
    *, noise: float, cells: int, rows: int, measured: float
) -> tuple[float, float, float]:
    """The same for rounds over whole tables, by the noise of a measured cell.

    ``measured`` is the number of rounds for each table. Where it is below 1.5 some tables are
    never measured, and what the fit says of them may be wrong by a part of all ``rows``: a
    hundredth is allowed for. On a survey (6,876 people, eight columns) and a census (48,842,
    six columns; 2- and 3-way tables, epsilon .1 and 1) the largest error was .4 to 1.4 times
    this, and 3 times once, at epsilon .1 without a delta; the mean was .5 to 1.9 times.
    """
    largest = 1.5 * math.sqrt(2 * math.log(max(cells, 2))) * noise
    return largest + 0.01 * rows * max(0.0, 1 - measured / 1.5), 0.4 * noise, 0.6 * noise
