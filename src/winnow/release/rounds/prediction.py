"""The error that MWEM leaves, from public numbers: bounds for any data, and rules of thumb."""

from __future__ import annotations

import math

from winnow.privacy.closed_plan import RoundsPlan

REGRET = 1.125
"""1 + 1/8, see ``expected_error_bound``."""


def regret(cells: int, rounds: int) -> float:
    """Of multiplicative weights with eta = sqrt(ln cells/rounds), per round."""
    return REGRET * math.sqrt(math.log(max(cells, 2)) / rounds)


def confident_error_bound(
    plan: RoundsPlan, cells: int, queries: int, n: int, rows_per_person: int, beta: float
) -> float:
    """A bound on the largest error that holds with probability 1 - beta, not cut at 1.

    The error of the mean hypothesis is at most the regret, twice the mean size of the noise and
    the mean of what selections miss (``expected_error_bound``). With x = ln(2/beta) and T rounds:

    - What a selection misses is at most s (ln 2m + E), E below Exp(1) in every round, whatever
      happened before; T of these have a sum of at most T + sqrt(2 T x) + x, except with
      probability beta/2.
    - Discrete Gaussian noise is sub-Gaussian [Canonne-Kamath-Steinke 2020, Fact 19]: the squares
      of T of it sum to at most sigma^2 (T + 2 sqrt(T x) + 2 x) [Hsu-Kakade-Zhang 2012, Thm 1], and
      their mean size is at most the root of the mean square. Laplace noise of scale b is at most
      b (ln 2 + E). Either except with probability beta/2.
    """
    noisy = noisy_error(
        plan.measurement,
        plan.rounds,
        plan.noise_multiplier * rows_per_person,
        2 * rows_per_person / plan.selection_epsilon,
        queries,
        beta,
    )
    return regret(cells, plan.rounds) + noisy / n


def noisy_error(
    measurement: str, rounds: int, noise: float, selection: float, queries: int, beta: float
) -> float:
    """What noise and selections add, in rows, except with probability beta."""
    x = math.log(2 / beta)
    spread = math.sqrt(2 * x / rounds) + x / rounds
    if measurement == "gaussian":
        noise *= math.sqrt(1 + 2 * math.sqrt(x / rounds) + 2 * x / rounds)
    else:
        noise *= math.log(2) + 1 + spread
    return 2 * noise + selection * (math.log(2 * queries) + 1 + spread)


def expected_error_bound(
    *, cells: int, queries: int, rounds: int, noise: float, selection: float
) -> float:
    """A bound on the expected largest error of Algorithm 1 of FastMWEM, constants and all.

    With eta = sqrt(ln cells/rounds) the regret of multiplicative weights is at most
    (1 + 1/8) sqrt(ln cells/rounds) per round (losses of range 1); a wrong sign costs at most
    twice the noise of its measurement, in the mean 2 noise sqrt(2/pi) for a law of standard
    deviation ``noise`` (Laplace has less); the selection misses the worst of 2m candidates by
    at most selection (ln 2m + 1) in the mean. The mean of distributions errs by at most the mean
    of their errors.
    """
    missed = selection * (math.log(2 * queries) + 1)
    return min(1.0, regret(cells, rounds) + 2 * noise * math.sqrt(2 / math.pi) + missed)


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
    """Predicted errors of rounds over whole tables, by the noise of a measured cell.

    ``measured`` is the number of rounds for each table. Where it is below 1.5 some tables are
    never measured, and what the fit says of them may be wrong by a part of all ``rows``: a
    hundredth is allowed for. On a survey (6,876 people, eight columns) and a census (48,842,
    six columns; 2- and 3-way tables, epsilon .1 and 1) the largest error was .7 to 2.3 times
    this, and 5 times once, at epsilon .1 without a delta; the mean was .5 to 1.9 times. On 191
    generated settings (``benchmarks/choice.py``) it was .5 to 1.4 times, and the mean .4 to 1.5.
    """
    largest = 0.9 * math.sqrt(2 * math.log(max(cells, 2))) * noise
    return largest + 0.01 * rows * max(0.0, 1 - measured / 1.5), 0.4 * noise, 0.6 * noise
