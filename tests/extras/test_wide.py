"""Wide releases through mbi: the model fits what was measured, and nothing warns."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import winnow as wn
from winnow.wide.rounds import Estimator, NoisyTable

pytestmark = pytest.mark.extras
pytest.importorskip("mbi", exc_type=ImportError)
jax = pytest.importorskip("jax")

SCHEMA = {f"c{i}": 3 for i in range(25)}
"""3^25 cells: more than a table of weights holds."""


def rows(count: int = 4000) -> dict[str, np.ndarray]:
    generator = np.random.default_rng(0)
    table = {name: generator.integers(0, 3, count) for name in SCHEMA}
    table["c1"] = np.where(generator.random(count) < 0.9, table["c0"], table["c1"])
    return table


@pytest.fixture(scope="module")
def released() -> wn.Released[wn.WideSynthetic]:
    table = wn.read_table(pd.DataFrame(rows()), schema=SCHEMA)
    done: list[tuple[int, int]] = []
    found = wn.release_wide(
        table,
        wn.marginals(2, columns=["c0", "c1", "c2", "c3"]).over(table.schema)
        + wn.marginals(1).over(table.schema),
        epsilon=20,
        delta=1e-6,
        rounds=2,
        seed=1,
        progress=lambda a, b: done.append((a, b)),
    )
    assert done == [(1, 2), (2, 2)]
    return found


def test_the_dependence_is_found_and_kept(released: wn.Released[wn.WideSynthetic]) -> None:
    model = released.value
    assert ("c0", "c1") in {each.columns for each in model.marginals}
    table = rows()
    true = np.histogram2d(table["c0"], table["c1"], bins=3)[0] / 4000
    assert 0.5 * np.abs(model.marginal("c0", "c1") - true).sum() < 0.02
    drawn = model.sample(2000, seed=3)
    assert len(drawn) == 25 and 0.85 < np.mean(drawn["c0"] == drawn["c1"]) < 0.98


def test_the_receipt_names_the_whole_plan(released: wn.Released[wn.WideSynthetic]) -> None:
    assert "mbi" in released.receipt.mechanism and "2 rounds" in released.receipt.mechanism
    assert released.guarantee.epsilon <= 20 and released.receipt.randomness == "seeded"
    assert "McKenna" in released.receipt.citation


def test_a_private_number_of_rows_comes_out_of_the_first_tables() -> None:
    frame = pd.DataFrame(rows())[["c0", "c1"]]
    table = wn.read_table(frame, schema={"c0": 3, "c1": 3})
    found = wn.release_wide(
        table, wn.marginals(2), epsilon=5, delta=1e-6, rounds=1, relation="add-remove", seed=2
    )
    assert 3900 < found.value.total < 4100


def test_the_models_tables_equal_those_of_mbi() -> None:
    generator = np.random.default_rng(5)
    shape = (3, 4, 2, 3)
    sets = [(0, 1), (1, 2), (2, 3), (0,)]
    tables = [NoisyTable(s, generator.integers(20, 200, [shape[i] for i in s]), 5.0) for s in sets]
    estimator = Estimator(shape, 1000)
    model = estimator.fit(tables, 50)
    for columns in [(0,), (0, 1), (0, 3), (3, 0, 2)]:
        with jax.enable_x64(True):
            theirs = np.asarray(estimator._model.project(columns).datavector(flatten=False))
        assert np.allclose(1000 * model.marginal(columns), theirs, atol=1e-6)
