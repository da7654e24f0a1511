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
