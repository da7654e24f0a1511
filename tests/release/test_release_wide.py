"""Wide releases: the dependence is found, the model fits what was measured, nothing warns."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import winnow as wn
from winnow.audit.replay.compare import replay
from winnow.audit.replay.coverage import replays

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
    found = wn.release(
        table,
        wn.marginals(2, columns=["c0", "c1", "c2", "c3"]).over(table.schema)
        + wn.marginals(1).over(table.schema),
        epsilon=20,
        delta=1e-6,
        seed=1,
        method=wn.Graphical(rounds=2),
        run=wn.Run(progress=lambda a, b: done.append((a, b))),
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


def test_rounds_become_more_precise_from_stage_to_stage_where_noise_is_weak() -> None:
    table = wn.read_table(pd.DataFrame(rows()), schema=SCHEMA)
    released = wn.release(
        table, wn.marginals(2), epsilon=20, delta=1e-6, seed=1, method=wn.Graphical(rounds=10)
    )
    sigmas = [each.sigma for each in released.value.marginals if len(each.columns) > 1]
    assert len(set(sigmas)) == 5 and sigmas == sorted(sigmas, reverse=True)
    assert sigmas[0] / sigmas[-1] == pytest.approx(1.4**4, rel=1e-3)
    assert "10 rounds in 5 stages" in released.receipt.mechanism


def test_the_receipt_names_the_whole_plan(released: wn.Released[wn.WideSynthetic]) -> None:
    assert released.receipt.mechanism.startswith("graphical model; measure-marginals")
    assert "2 rounds" in released.receipt.mechanism
    assert released.guarantee.epsilon <= 20 and released.receipt.randomness == "seeded"
    assert "McKenna" in released.receipt.citation


def test_a_private_number_of_rows_comes_out_of_the_first_tables() -> None:
    frame = pd.DataFrame(rows())[["c0", "c1"]]
    table = wn.read_table(frame, schema={"c0": 3, "c1": 3})
    found = wn.release(
        table.under("add-remove"),
        wn.marginals(2),
        epsilon=5,
        delta=1e-6,
        seed=2,
        method=wn.Graphical(rounds=1),
    )
    assert 3900 < found.value.total < 4100


def test_the_result_carries_the_certificate_of_its_fit(
    released: wn.Released[wn.WideSynthetic],
) -> None:
    model = released.value
    assert model.fit is not None
    assert 0 <= model.fit.gap < model.fit.objective and model.fit.pull > 0
    loss = 0.0
    for each in model.marginals:
        off = model.total * model.marginal(*each.columns) - each.counts
        loss += 0.5 * float(np.sum(off**2)) / each.sigma**2
    assert model.fit.loss <= loss * (1 + 1e-9)  # the same, but for tables measured twice


def test_the_same_seed_gives_the_same_bits() -> None:
    frame = pd.DataFrame(rows())[["c0", "c1", "c2"]]
    table = wn.read_table(frame, schema={"c0": 3, "c1": 3, "c2": 3})
    found = [
        wn.release(
            table, wn.marginals(2), epsilon=2, delta=1e-6, seed=4, method=wn.Graphical(rounds=2)
        ).value
        for _ in range(2)
    ]
    assert found[0].to_dict() == found[1].to_dict()


def test_neighbours_differ_in_the_released_tables_and_what_follows_from_them() -> None:
    """Under one tape the fit sees nothing else of the people."""
    found = [entry for entry in replays() if "graphical model" in entry.variant]
    assert found
    for entry in found:
        result = replay(replace(entry, groups=(1, 1)), quick=False, seed=1)
        assert result.passed, result.detail
