"""What a correct row of each class counts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from winnow.core.checks import exact, positive
from winnow.core.options import AUTO
from winnow.errors import ParameterError
from winnow.foreign import shown
from winnow.learn.crossing.rows import Classes, SealedLabelled

WHERE_RARE = AUTO
"""The word for weights that follow from noisy sizes only where a class is rare."""


def is_balanced(class_weights: Any) -> bool:
    """Whether these words ask for weights by the noisy sizes of the classes."""
    return isinstance(class_weights, str) and class_weights in ("balanced", WHERE_RARE)


def where_rare(class_weights: Any) -> bool:
    """Whether every row counts the same unless a class is rare."""
    return isinstance(class_weights, str) and class_weights == WHERE_RARE


def weighed(labelled: SealedLabelled, class_weights: Any) -> SealedLabelled:
    """The rows with whole weights of their classes, where these are given as numbers."""
    if class_weights is None or is_balanced(class_weights):
        return labelled
    return replace(labelled, class_weights=whole_weights(class_weights, labelled.classes))


def whole_weights(class_weights: Any, classes: Classes) -> tuple[int, ...]:
    """Weights in thousandths of the largest, at least 1, in the order of the classes."""
    given = class_weights
    if isinstance(given, Mapping):
        strange = [name for name in given if name not in classes]
        missing = [name for name in classes if name not in given]
        if strange or missing:
            about = f"name {shown(strange[0])}" if strange else f"lack {shown(missing[0])}"
            named = ", ".join(shown(name) for name in classes[:20])
            raise ParameterError(
                f"class_weights {about}; give a weight for each of the classes {named}"
            )
        given = [given[name] for name in classes]
    if isinstance(given, str) or not isinstance(given, Sequence | np.ndarray):
        raise ParameterError(
            f"class_weights={shown(class_weights)} are not weights; give a number for each class"
        )
    if len(given) != len(classes):
        raise ParameterError(f"{len(given)} class_weights for {len(classes)} classes; give each")
    for weight in given:
        positive(class_weight=weight)
    exactly = [exact("class_weight", weight) for weight in given]
    return tuple(max(1, round(1000 * weight / max(exactly))) for weight in exactly)
