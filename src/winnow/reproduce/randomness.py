"""Repeatable made-up numbers for experiments. They protect nothing: no release uses them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from winnow.domain.workloads.stream import Stream

Floats = NDArray[np.float64]


def uniforms(stream: Stream, count: int) -> Floats:
    """Uniform on (0, 1): the middles of 2^32 cells."""
    return (stream.take(count, np.uint32) + 0.5) * 2.0**-32


def gumbels(stream: Stream, count: int) -> Floats:
    """Standard Gumbel noise in float64."""
    return np.asarray(-np.log(-np.log(uniforms(stream, count))))


def exponentials(stream: Stream, count: int) -> Floats:
    """Standard exponential noise in float64."""
    return np.asarray(-np.log(uniforms(stream, count)))


def normals(stream: Stream, count: int) -> Floats:
    """Standard normal numbers in float64."""
    return np.asarray(ndtri(uniforms(stream, count)))
