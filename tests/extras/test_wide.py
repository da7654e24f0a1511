"""The fit of wide releases beside that of mbi."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
import pytest

from winnow.fit.tables import NoisyTable, TreeFit, fit

pytestmark = pytest.mark.extras

SHAPE, TOTAL = (3, 4, 2, 5, 3), 1000
SETS = [(0,), (1,), (2,), (3,), (4,), (0, 1), (1, 2, 3), (0, 3), (1, 3), (2, 4)]


def released(sigma: float) -> list[NoisyTable]:
    generator = np.random.default_rng(5)
    joint = generator.dirichlet(np.full(360, 0.3)).reshape(SHAPE)
    found = []
    for columns in SETS:
        table = TOTAL * np.einsum(joint, list(range(5)), list(columns))
        counts = np.rint(table + generator.normal(0, sigma, table.shape)).astype(np.int64)
        found.append(NoisyTable(columns, counts, sigma))
    return found


def by_mbi(tables: list[NoisyTable], steps: int) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        mbi = pytest.importorskip("mbi", exc_type=ImportError)
        jax = pytest.importorskip("jax")
        with jax.enable_x64(True):
            measured = [
                mbi.LinearMeasurement(t.counts.ravel().astype(float), t.columns, stddev=t.sigma)
                for t in tables
            ]
            model = mbi.estimation.MirrorDescent().estimate(
                mbi.Domain(range(len(SHAPE)), SHAPE),
                measured,
                known_total=float(TOTAL),
                iters=steps,
            )
            return {c: np.asarray(model.project(c).datavector(flatten=False)) for c in SETS}


@pytest.mark.parametrize("sigma", [1.0, 9.0])
def test_no_model_of_mbi_is_better_by_more_than_the_certified_gap(sigma: float) -> None:
    tables = released(sigma)
    ours: TreeFit = fit(SHAPE, tables, TOTAL, tau=0.01, pulls=0, part=1e-5)
    theirs = by_mbi(tables, 2000)
    loss = sum(0.5 * float(np.sum((theirs[t.columns] - t.counts) ** 2)) / sigma**2 for t in tables)
    pulled = 0.01 * math.log(math.prod(SHAPE))  # the pull is small, and not 0
    assert ours.quality.loss <= loss + ours.quality.gap + pulled
    assert ours.quality.loss <= loss * 1.001 + 0.01 + pulled
    far = max(np.abs(TOTAL * ours.model.marginal(c) - theirs[c]).max() for c in SETS)
    assert far < 1.5 * sigma
