"""The same tape read by an independent library: python-flint's ball arithmetic at 400 bits."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from flint import arb, ctx, fmpz

from reference.inside import Law, Tape

BITS = 32 + 3 * 128


def ball(q: Fraction | int | float) -> Any:
    """A rational as a ball."""
    q = Fraction(q)
    return arb(fmpz(q.numerator)) / arb(fmpz(q.denominator))


def uniform(tape: Tape, item: int) -> Any:
    """V of an item, as a ball around its first bits."""
    middle = 2 * tape.bits(item, BITS) + 1
    return arb(fmpz(middle), 1) / arb(fmpz(1) << (BITS + 1))


def noise(law: Law, v: Any, log_count: Any | None = None) -> Any:
    """The noise of a law at V: standard definitions, maximum of N draws where log N is given."""
    ctx.prec = 400
    w = 1 - v
    minus_log_w = -w.log()
    if log_count is not None:
        # the maximum M has F(M)^N = W, so -ln F(M) = -ln W/N, and the survival is 1 - F(M)
        minus_log_w = minus_log_w * (-log_count).exp()
        w = (-minus_log_w).exp()
        v = -((-minus_log_w).expm1())
    if law is Law.GUMBEL:
        return -(minus_log_w.log())
    if law is Law.EXPONENTIAL:
        return -v.log()
    if law is Law.LOGISTIC:
        return -minus_log_w - v.log()
    if law is Law.HALF_LOGISTIC:
        return (1 + w).log() - v.log()
    return -(2 * v).log() if v < arb(0.5) else (2 * w).log()


def noisy_top(
    scores: np.ndarray,
    tape: Tape,
    law: Law,
    scale: Fraction,
    k: int = 1,
    log_counts: list[Any] | None = None,
) -> list[int]:
    """The k largest of scale * score + noise, each evaluated in full precision."""
    ctx.prec = 400
    top = Fraction(scores.max().item())
    values = []
    for i in range(len(scores)):
        z = noise(law, uniform(tape, i), None if log_counts is None else log_counts[i])
        values.append((z + ball(scale * (Fraction(scores[i].item()) - top)), i))
    winners = []
    for _ in range(k):
        best = values[0]
        for other in values[1:]:
            assert other[0] > best[0] or other[0] < best[0], "the oracle needs more bits"
            best = other if other[0] > best[0] else best
        winners.append(best[1])
        values.remove(best)
    return winners
