"""Integer noise on counts: its law, drawn for many counts, or for those alone that may win."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from winnow.core.noise import discrete_gaussian_array, discrete_laplace_array
from winnow.core.noisy_top.best_class import LargestNoise
from winnow.core.noisy_top.class_noise import SpreadLaplace
from winnow.core.noisy_top.laplace_counts import near_the_largest
from winnow.core.tape import Tape

Integers = NDArray[np.int64]

_MOST_SELECTED = 4
"""Where more than this part of the counts is listed, noise is drawn for all: both are public."""


class IntegerNoise(ABC):
    """A law of whole numbers, one for each count and independent of the others."""

    @abstractmethod
    def array(self, tape: Tape, size: int) -> Integers:
        """So many independent numbers."""

    @property
    def of_class(self) -> LargestNoise | None:
        """The noise of the largest of many counts that are equal, where it has a formula."""
        return None

    def near(self, counts: Integers, tape: Tape, k: int) -> tuple[Integers, Integers]:
        """Places that hold those of the k largest noisy counts, and the noisy counts there."""
        return np.arange(len(counts)), counts + self.array(tape, len(counts))


@dataclass(frozen=True)
class LaplaceNoise(IntegerNoise):
    """Discrete Laplace noise: z with probability ~ exp(-|z|/scale)."""

    scale: Fraction

    def array(self, tape: Tape, size: int) -> Integers:
        """Two clocks for each."""
        return discrete_laplace_array(tape, size, self.scale)

    @property
    def of_class(self) -> LargestNoise:
        """Spread over the unit, so that its whole part is the noise."""
        return SpreadLaplace(self.scale)

    def near(self, counts: Integers, tape: Tape, k: int) -> tuple[Integers, Integers]:
        """Drawn in full for a few of them, where k is a small part."""
        if _MOST_SELECTED * k > len(counts):
            return super().near(counts, tape, k)
        return near_the_largest(counts, tape, self.scale, k)


@dataclass(frozen=True)
class TruncatedLaplaceNoise(IntegerNoise):
    """Discrete Laplace noise that is no larger than a bound."""

    scale: Fraction
    edge: int

    def array(self, tape: Tape, size: int) -> Integers:
        """What is larger is drawn anew."""
        noise, missing, tries = np.zeros(size, np.int64), np.arange(size), 0
        own = tape.child("noise")
        while len(missing):
            drawn = discrete_laplace_array(own.child(f"try-{tries}"), len(missing), self.scale)
            noise[missing] = drawn
            missing, tries = missing[np.abs(drawn) > self.edge], tries + 1
        return noise


@dataclass(frozen=True)
class GaussianNoise(IntegerNoise):
    """Discrete Gaussian noise: z with probability ~ exp(-z^2/(2 variance))."""

    variance: Fraction

    def array(self, tape: Tape, size: int) -> Integers:
        """Rejection from discrete Laplace noise."""
        return discrete_gaussian_array(tape, size, self.variance)
