"""How far a fitted distribution is from the answers that were released beside it."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from winnow.core.workloads.forms import WholeTable
from winnow.release.synthetic import SyntheticDistribution

Floats = NDArray[np.float64]
S = TypeVar("S", bound=SyntheticDistribution)


def with_distance(value: S, errors: Floats) -> S:
    """A distribution whose fit says how far it is from the answers to the workload.

    ``errors`` are the standard errors of the answers, as fractions.
    """
    places = [
        slice(*value.workload.offsets[i : i + 2])
        for i, part in enumerate(value.workload.parts)
        if isinstance(part.form, WholeTable)
    ]
    if value.fit is None or not places:
        return value
    apart = 0.5 * np.abs(value._model_fractions(value.workload) - value._fractions(value.workload))
    noise = 0.5 * math.sqrt(2.0 / math.pi) * errors
    distance = float(np.mean([apart[place].sum() for place in places]))
    about = float(np.mean([noise[place].sum() for place in places]))
    return replace(value, fit=replace(value.fit, distance=distance, noise=about))
