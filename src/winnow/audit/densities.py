"""The noise laws once more, written anew so that audits do not lean on the sampler's."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from winnow.random.laws import Law, log1mexp

Floats = NDArray[np.float64]

LN2 = float(np.log(2.0))


def log_functions(law: Law, z: Floats) -> tuple[Floats, Floats, Floats]:
    """log density, log distribution and log survival function of a law of scale 1."""
    with np.errstate(over="ignore", divide="ignore"):
        a = np.abs(z)
        match law:
            case Law.GUMBEL:
                log_cdf = -np.exp(-z)
                return -z + log_cdf, log_cdf, log1mexp(log_cdf)
            case Law.EXPONENTIAL:
                inside = z >= 0
                log_sf = np.where(inside, -z, 0.0)
                return np.where(inside, -z, -np.inf), log1mexp(log_sf), log_sf
            case Law.LAPLACE:
                near, far = np.log1p(-0.5 * np.exp(-a)), -LN2 - a
                return far, np.where(z > 0, near, far), np.where(z > 0, far, near)
            case Law.LOGISTIC:
                near = -np.log1p(np.exp(-a))  # log of the larger of F and 1 - F
                log_cdf, log_sf = np.where(z > 0, near, near - a), np.where(z > 0, near - a, near)
                return log_cdf + log_sf, log_cdf, log_sf
            case Law.HALF_LOGISTIC:
                inside = z >= 0
                log_one_plus = np.log1p(np.exp(-a))
                log_sf = np.where(inside, LN2 - a - log_one_plus, 0.0)
                density = np.where(inside, LN2 - a - 2 * log_one_plus, -np.inf)
                return density, log1mexp(log_sf), log_sf


def log_laplace(x: Floats, scale: float) -> Floats:
    """The log density of Laplace noise."""
    return -np.abs(x) / scale - float(np.log(2 * scale))


def two_laplace_density(x: Floats, a: float, b: float) -> Floats:
    """The density of the difference of two Laplace variables of different scales a and b.

    The characteristic function 1/((1 + a^2 t^2)(1 + b^2 t^2)) has the partial fractions
    (a^2/(1 + a^2 t^2) - b^2/(1 + b^2 t^2))/(a^2 - b^2).
    """
    of_a, of_b = np.exp(log_laplace(x, a)), np.exp(log_laplace(x, b))
    return np.asarray((a * a * of_a - b * b * of_b) / (a * a - b * b), np.float64)


def upper_tail(scale: float, z: NDArray[np.int64] | Floats) -> Floats:
    """Pr[Z >= z] for discrete Laplace noise."""
    q = np.exp(-1 / scale)
    above = q ** np.maximum(z, 0.0) / (1 + q)
    return np.asarray(np.where(z > 0, above, 1 - q ** np.maximum(1.0 - z, 0.0) / (1 + q)))
