"""What a fit leaves of the errors that noise alone would have: from public numbers."""

from __future__ import annotations

import math
from dataclasses import replace

from winnow.release.prediction import THUMB, Prediction
from winnow.release.tables.settings import TablesSettings
from winnow.release.tables.split import components

_JOINED, _POWER, _LARGEST = 1.5, 0.6, 0.85
"""What it leaves of the errors of tables of k columns that share some of them: of the mean error of
one whose noise adds up to x times all rows 1/(1 + _JOINED sqrt(k - 1) x^_POWER), of the largest
error _LARGEST^(k - 1). Chosen on 130 generated settings (``benchmarks/choice.py``, 300 to 200,000
rows): mean errors of 1-, 2- and 3-way tables were predicted within 1.3 in .88, .77 and .55 of them,
largest in .82, .94 and .57. Most of the rest are columns that are functions of others, of which the
fit finds the empty cells: nothing public tells of them."""
_FARTHEST = 0.2
"""A distribution that is fitted to numbers which are all noise is about even, and off by such a
part of the rows at most. Chosen on 34 generated workloads of ``benchmarks/choice.py``, 300 to
30,000 rows: .84 of the choices were within 1.15 of the best, .79 where nothing was taken off."""
_ALIKE = 0.9
"""Where it leaves more than this part, the formula for noise alone is told."""


def left_of(share: float, columns: int) -> float:
    """What a fit leaves of the noise of tables of so many columns that share some of them.

    ``share`` is what the noise of one adds up to, as a part of all rows.
    """
    return float(1.0 / (1.0 + _JOINED * math.sqrt(columns - 1) * share**_POWER))


def of_tables(predicted: Prediction, settings: TablesSettings, rows: int) -> Prediction:
    """The prediction for tables with errors as they are after the fit.

    A table alone is brought to counts that are not negative and add up to all rows: of noise that
    adds up to x times these it keeps about 1/(1 + x), and of a largest error of x times all rows as
    much. Tables that share columns are fitted together, which leaves less.
    """
    joined = len(components(part.columns for part in settings.parts)) < len(settings.parts)
    means, sizes = [], [part.size for part in settings.parts]
    for part, own in zip(settings.parts, settings.strategy.each, strict=True):
        share = own.mean * part.size / rows if part.of_cells else 0.0
        together = joined and len(part.columns) > 1
        left = left_of(share, len(part.columns)) if together else 1.0 / (1.0 + share)
        means.append(own.mean * left)
    mean = sum(s * m for s, m in zip(sizes, means, strict=True)) / sum(sizes)
    if mean >= _ALIKE * (predicted.mean or 0.0) or predicted.largest is None:
        return predicted
    others = max(len(part.columns) for part in settings.parts) - 1 if joined else 0
    largest = _LARGEST**others * predicted.largest / (1 + predicted.largest / rows)
    return replace(predicted, largest=largest, mean=mean, kind=THUMB, note="after a fit")


def of_distribution(predicted: Prediction, rows: int | None) -> Prediction:
    """The prediction for numbers to which a distribution over all cells is fitted."""
    if rows is None or predicted.largest is None or predicted.mean is None:
        return predicted
    largest = predicted.largest / (1 + predicted.largest / (_FARTHEST * rows))
    if largest >= _ALIKE * predicted.largest:
        return predicted
    mean = min(predicted.mean, largest)
    return replace(predicted, largest=largest, mean=mean, kind=THUMB, note="after a fit")
