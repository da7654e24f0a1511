"""Whether a graphical model can answer a workload."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from winnow.release.graphical.at_once import AtOnce
from winnow.release.graphical.candidates import column_sets
from winnow.release.graphical.rules import (
    UNSEEN,
    mean_distance,
    model_cells,
    rounds_seconds,
    schedule,
)
from winnow.release.graphical.settings import at_once, situation_of, wide_settings
from winnow.release.graphical.situation import noise_of_pair, rows_of
from winnow.release.graphical.whole_workload import MOST_WEIGHED, pairs_of
from winnow.release.prediction import EXACT, THUMB, Prediction
from winnow.release.terms import ReleaseTerms

if TYPE_CHECKING:
    from winnow.release.methods import Graphical

_NOTE = "the errors of a model depend on the data"
_ALONE = "each column alone: errors depend on the data"

LARGEST = 0.05
"""The largest error of rounds is taken to be so much of the rows, times the third root of the noise
of a pair. On six generated wide tables, pairs and triples, epsilon .1 to 10, .44 to 1.7 times that
was seen; .1 had been read off two tables, and let tables win that erred more.
Where a weight on each cell fits, ``UNSEEN`` is taken."""
DEPENDENT = 1.5
"""By how much the mean error of a model is above its rule of thumb where a weight on each cell
fits. Chosen on 61 generated settings (``benchmarks/choice.py``, pairs and triples, 300 to 200,000
rows), in which it was .3 to 2.4 of the rule; near variants chose as well."""


def predict_graphical(method: Graphical, terms: ReleaseTerms) -> Prediction | str:
    """The prediction, or why it cannot run."""
    sets = column_sets(terms)
    if not sets:
        return "it is for workloads of marginal tables"
    pairs = pairs_of(sets)
    if not pairs:
        return "no table of the workload has two columns"
    nu = noise_of_pair(terms, pairs)
    far = mean_distance(nu, map(len, sets))
    wide = terms.schema.cells > MOST_WEIGHED
    if wide and isinstance(known := _at_once(method, terms), Prediction):
        return known
    bound = model_cells(nu)
    columns = len(terms.schema.shape)
    rounds = schedule(columns, nu, pure=terms.pure).rounds
    seconds = rounds_seconds(rounds, cells=terms.workload.size, model_cells=bound)
    mean = _mean(terms, far)
    if wide:
        largest = LARGEST * rows_of(terms) * nu ** (1 / 3)
        if not rounds:  # each column alone
            largest, mean = UNSEEN * rows_of(terms), _mean(terms, UNSEEN)
        note = _NOTE if rounds else _ALONE
        return Prediction("graphical", largest, mean, None, seconds, THUMB, note)
    return _narrow(method, terms, Prediction("graphical", None, mean, None, seconds, THUMB, _NOTE))


def least_in_rounds(terms: ReleaseTerms) -> float:
    """The score of rounds where a weight on each cell fits; 0: it takes more work to know.

    All tables at once have no less: the method "tables" measures those of the workload alone.
    """
    sets = column_sets(terms)
    pairs = pairs_of(sets)
    if terms.total is None or terms.schema.cells > MOST_WEIGHED or not pairs:
        return 0.0
    far = mean_distance(noise_of_pair(terms, pairs), map(len, sets))
    rounds = Prediction("", UNSEEN * terms.total, DEPENDENT * _mean(terms, far), None, 0.0, THUMB)
    return rounds.capped(terms.total).score


def _mean(terms: ReleaseTerms, far: float) -> float:
    """The mean error of an answer, in rows, where tables are so far from the truth."""
    return 2.0 * rows_of(terms) * far * len(terms.workload.parts) / terms.workload.size


def _narrow(method: Graphical, terms: ReleaseTerms, prediction: Prediction) -> Prediction:
    """The prediction where a weight on each cell fits, too; of a private number of rows none.

    Where the model would measure all tables at once, its errors are those of these tables, and
    tables that are measured for the workload itself have less.
    """
    assert prediction.mean is not None
    if terms.total is None:
        return prediction
    near = "pure" if terms.pure else "zcdp"  # quick, and near enough for the size of noise
    planned = wide_settings(method, replace(terms, accountant=near))
    if isinstance(planned, AtOnce) and any(len(p.columns) > 1 for p in planned.tables.parts):
        errors = planned.tables.strategy.errors
        numbers = errors.largest, errors.mean, errors.rms
        return Prediction("graphical", *numbers, prediction.seconds, EXACT, "all tables at once")
    return replace(prediction, largest=UNSEEN * terms.total, mean=DEPENDENT * prediction.mean)


def _at_once(method: Graphical, terms: ReleaseTerms) -> Prediction | None:
    """The prediction where all tables are measured at once."""
    planned = at_once(method, situation_of(method, terms)[0])
    if planned is None or all(len(part.columns) == 1 for part in planned.tables.parts):
        return None
    errors = planned.tables.strategy.errors
    some = "" if planned.some is None else ", and a model of some"
    note = f"all tables at once{some}"
    numbers = errors.largest, _mean(terms, planned.distance), errors.rms
    return Prediction("graphical", *numbers, planned.seconds, THUMB, note)
