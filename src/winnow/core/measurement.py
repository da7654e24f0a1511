"""The kinds of integer noise that a whole number is measured with, by the words users give.

A new kind is a row here and an event in `privacy.closed_plan`; a word that is in neither raises.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from winnow.core.noise import discrete_gaussian, discrete_laplace
from winnow.core.tape import BitStream


@dataclass(frozen=True)
class MeasurementNoise:
    """Noise of a scale: how it is drawn, and its standard deviation at scale 1."""

    draw: Callable[[BitStream, Fraction], int]
    deviation: float


MEASUREMENTS = {
    "gaussian": MeasurementNoise(
        lambda stream, scale: discrete_gaussian(stream, scale * scale), 1.0
    ),
    "laplace": MeasurementNoise(discrete_laplace, math.sqrt(2)),
}
