"""The five noise laws, each as its log-survival function and the inverse of it.

A law is fit for selection when log(1 - F) is 1-Lipschitz [Canonical, Def 2.1 and
Thm 4.1]; Theorems A.3, A.6, A.11, A.12 and A.13 show it for these five (the printed
Laplace and logistic formulas are mended as in the errata: these are the standard
definitions).

These functions are plain float64: they serve planning, plots and tests. Noise that
decides a release comes from the tape through ``enclosure`` and the kernels, which
never round.

With E ~ Exp(1): one draw is ``inv_log_sf(-E)``; the maximum of m draws is
``inv_log_sf(log_sf_of_max(E, log m))``; a draw known to exceed t is
``inv_log_sf(log_sf(t) - E)``.
"""

from __future__ import annotations

import math
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from winnow.errors import InputError

Floats = NDArray[np.float64]

LN2 = math.log(2.0)


class Law(StrEnum):
    """A noise law of scale 1."""

    GUMBEL = "gumbel"
    EXPONENTIAL = "exponential"
    LAPLACE = "laplace"
    LOGISTIC = "logistic"
    HALF_LOGISTIC = "half-logistic"

    @classmethod
    def parse(cls, noise: str | Law) -> Law:
        """The law of this name, or an error that lists the names."""
        try:
            return cls(noise)
        except ValueError:
            names = ", ".join(str(law) for law in cls)
            raise InputError(f"noise={noise!r} is unknown; choose one of: {names}") from None

    def log_sf(self, x: Floats) -> Floats:
        """log Pr[noise > x], elementwise."""
        x = np.asarray(x, np.float64)
        with np.errstate(over="ignore", divide="ignore"):
            match self:
                case Law.GUMBEL:
                    return np.where(x > 40.0, -x, log1mexp(-np.exp(-np.minimum(x, 40.0))))
                case Law.EXPONENTIAL:
                    return np.minimum(0.0, -x)
                case Law.LAPLACE:
                    return np.where(x >= 0, -LN2 - x, np.log1p(-0.5 * np.exp(np.minimum(x, 0.0))))
                case Law.LOGISTIC:
                    return -np.logaddexp(0.0, x)
                case Law.HALF_LOGISTIC:
                    return np.where(x >= 0, LN2 - np.logaddexp(0.0, np.maximum(x, 0.0)), 0.0)

    def inv_log_sf(self, y: Floats) -> Floats:
        """The x with log Pr[noise > x] = y, for y <= 0, elementwise."""
        y = np.asarray(y, np.float64)
        with np.errstate(divide="ignore"):
            match self:
                case Law.GUMBEL:
                    return np.where(y < -40.0, -y, -np.log(-log1mexp(np.maximum(y, -40.0))))
                case Law.EXPONENTIAL:
                    return -y
                case Law.LAPLACE:
                    return np.where(y <= -LN2, -LN2 - y, LN2 + log1mexp(y))
                case Law.LOGISTIC:
                    return log1mexp(y) - y
                case Law.HALF_LOGISTIC:
                    return np.log1p(-np.expm1(y)) - y

    def log_cdf(self, x: Floats) -> Floats:
        """log Pr[noise <= x], elementwise."""
        x = np.asarray(x, np.float64)
        if self is Law.GUMBEL:
            with np.errstate(over="ignore"):
                return -np.exp(-x)
        return log1mexp(self.log_sf(x))


def log1mexp(y: Floats) -> Floats:
    """log(1 - e^y) for y <= 0, accurate near 0 and far below."""
    y = np.asarray(y, np.float64)
    with np.errstate(divide="ignore"):
        return np.where(
            y > -LN2,
            np.log(-np.expm1(np.maximum(y, -1.0))),
            np.log1p(-np.exp(np.minimum(y, -0.5))),
        )


def log_sf_of_max(e: Floats, log_count: Floats) -> Floats:
    """log-survival of the maximum of m = exp(log_count) draws at its Exp(1) quantile.

    The maximum M has Pr[M <= x] = F(x)^m, so with E ~ Exp(1) setting F^m = e^-E gives
    log(1 - F) = log(1 - e^(-E/m)), stable for log_count of 1e5 and more.
    """
    log_x = np.log(np.asarray(e, np.float64)) - log_count
    with np.errstate(over="ignore"):
        return np.where(log_x < -36.0, log_x, log1mexp(-np.exp(np.maximum(log_x, -37.0))))
