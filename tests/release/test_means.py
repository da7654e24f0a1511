"""Means of small groups: a value and an interval for every cell, and never a bare nan.

Each statistical test allows one false alarm in a million (stated where it is checked).
"""

from __future__ import annotations

import json
import math

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom

import winnow as wn
from winnow.release.tables.intervals import Estimates, Means, Ratio
from winnow.release.tables.spread import BinSpread

SCHEMA = {"town": 40, "hours": 61}


def small_groups() -> pd.DataFrame:
    """Towns of 0 to 400 people, of which the noise hides many."""
    rng = np.random.default_rng(5)
    sizes = np.rint(400 * 0.8 ** np.arange(40)).astype(int)
    town = np.repeat(np.arange(40), sizes)
    return pd.DataFrame({"town": town, "hours": rng.binomial(60, 0.3 + 0.01 * (town % 30))})


def released(epsilon: float, seed: int, delta: float = 0.0):
    table = wn.read_table(small_groups(), schema=SCHEMA)
    return wn.tabulate(
        table, ["town"], values=["hours"], epsilon=epsilon, delta=delta, seed=seed
    ).value


@pytest.mark.parametrize("delta", [0.0, 1e-6])
@pytest.mark.parametrize("epsilon", [0.01, 0.1, 1.0, 30.0])
def test_every_cell_has_a_mean_within_the_declared_range(epsilon: float, delta: float) -> None:
    found = released(epsilon, 3, delta).table("town")
    mean = found.means["hours"]
    low, high = mean.interval()
    for numbers in (mean.estimate, mean.standard_error, low, high):
        assert np.isfinite(numbers).all()
    assert (low >= 0).all() and (high <= 60).all()
    assert (low <= mean.estimate).all() and (mean.estimate <= high).all()
    wide, narrow = mean.interval(0.99), mean.interval(0.5)
    assert (wide[0] <= low).all() and (low <= narrow[0]).all()
    assert (high <= wide[1]).all() and (narrow[1] <= high).all()
    all_low, all_high = mean.interval(simultaneous=True)
    assert (all_low <= low).all() and (high <= all_high).all()


@pytest.mark.slow
@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_intervals_of_released_means_hold_the_truth(delta: float) -> None:
    data = small_groups()
    truth = data.groupby("town").hours.mean()
    places = truth.index.to_numpy()
    held = []
    for seed in range(30):
        low, high = released(0.3, seed, delta).table("town").means["hours"].interval(0.9)
        held.append((low[places] <= truth.to_numpy()) & (truth.to_numpy() <= high[places]))
    # cells of one release share noise at most by the fixed total: as if independent
    tries = np.size(held)
    assert np.sum(held) >= binom.ppf(1e-6, tries, 0.9)


@pytest.mark.parametrize("law", ["gaussian", "laplace"])
@pytest.mark.parametrize("rows", [1, 3, 30, 3_000])
@pytest.mark.parametrize("where", [-1.0, -0.4, 0.0, 0.97])
def test_intervals_of_a_ratio_hold_at_every_size(law: str, rows: int, where: float) -> None:
    """Noise in the count is as large as the count, or a hundredth; 40,000 draws each."""
    rng = np.random.default_rng(round(1000 * rows + 10 * where) % 2**32)
    draws, half, scale = 40_000, 5.0, 10.0
    noise = (
        (lambda deviation: rng.normal(0, deviation, draws))
        if law == "gaussian"
        else (lambda deviation: rng.laplace(0, deviation / math.sqrt(2), draws))
    )
    errors = np.full(draws, scale * half), np.full(draws, scale)
    total, count = rows * where * half + noise(scale * half), rows + noise(scale)
    means = Means.of(Ratio(total, errors[0], 1.0, count, errors[1], half), law, 7.0)
    low, high = means.interval(0.95)
    truth = 7.0 + where * half
    missed = int(((truth < low - 1e-9) | (truth > high + 1e-9)).sum())
    assert missed <= binom.isf(1e-6, draws, 0.05)
    assert (means.standard_error <= half).all()


def test_noise_below_one_row_is_covered_as_well() -> None:
    """Whole numbers with noise that is mostly 0: 40,000 draws at three deviations."""
    rng = np.random.default_rng(8)
    draws, half = 40_000, 3.0
    steps = np.arange(-30, 31)
    for deviation in (0.2, 0.5, 0.9):
        law = np.exp(-(steps**2) / (2 * deviation**2))
        law /= law.sum()
        spread = math.sqrt(float(law @ steps**2))
        error = np.full(draws, spread)
        total = 4 + rng.choice(steps, draws, p=law)
        count = 2 + rng.choice(steps, draws, p=law)
        ratio = Ratio(total.astype(float), error, 1.0, count.astype(float), error, half)
        low, high = Means.of(ratio, "gaussian", 0.0).interval(0.95)
        missed = int(((low > 2 + 1e-9) | (high < 2 - 1e-9)).sum())
        assert missed <= binom.isf(1e-6, draws, 0.05)


def test_ends_of_an_interval_are_those_of_a_plain_search() -> None:
    rng = np.random.default_rng(2)
    size, half = 400, 2.0
    n, s = rng.normal(3, 6, size), rng.normal(0, 9, size)
    e, c = rng.uniform(0.01, 9, size), rng.uniform(0.01, 9, size)
    ratio = Ratio(s, e, 0.0, n, c, half)
    low, high = ratio.between(e, c)
    grid = np.linspace(-half, half, 4001)
    for i in range(size):
        positive = max(n[i], 0.0)
        cut = float(np.clip(s[i], -half * positive, half * positive))
        inside = grid[np.abs(cut - grid * positive) <= np.hypot(e[i], c[i] * grid) + 1e-12]
        assert abs(low[i] - inside[0]) < 2e-3 and abs(high[i] - inside[-1]) < 2e-3


def test_many_rows_have_the_usual_mean_and_the_usual_error() -> None:
    ratio = Ratio(
        np.array([4_000.0]), np.array([10.0]), 1.0, np.array([2_000.0]), np.array([3.0]), 5.0
    )
    means = Means.of(ratio, "gaussian", 1.0)
    assert means.estimate[0] == pytest.approx(3.0, rel=1e-5)
    assert means.standard_error[0] == pytest.approx(math.hypot(10, 2 * 3) / 2_000, rel=1e-3)


def test_no_rows_mean_the_middle_and_the_whole_range() -> None:
    for n in (-50.0, -1.0, 0.0):
        ratio = Ratio(np.array([9.0]), np.array([3.0]), 1.0, np.array([n]), np.array([2.0]), 5.0)
        means = Means.of(ratio, "gaussian", 1.0)
        assert (means.estimate, *means.interval()) == (1.0, -4.0, 6.0)
        assert means.unknown().all() and means.standard_error[0] == 5.0


def test_what_is_written_and_shown_has_no_nan(tmp_path) -> None:
    value = released(0.05, 1)
    unknown = int(value.table("town").means["hours"].unknown().sum())
    assert 0 < unknown < 40
    note = value.notes[-1]
    assert f"{unknown} of 40 means of hours" in note and "too few rows" in note
    value.save(tmp_path / "tables.csv")
    value.save(tmp_path / "tables.json")
    text = (tmp_path / "tables.csv").read_text().lower()
    assert "nan" not in text and ",," not in text
    document = json.loads((tmp_path / "tables.json").read_text())
    assert note in document["notes"]
    assert all(None not in row.values() for row in document["tables"][0]["rows"])
    assert not value.to_pandas().isna().any().any()
    for column in value.table("town").readable().values():
        assert "-" not in column.tolist() and "nan" not in column.tolist()


@pytest.mark.parametrize("scale", [0.1, 0.15, 0.2, 0.275, 0.5, 1.0, 3.0])
@pytest.mark.parametrize("missed", [0.1, 0.05, 0.01, 5e-5])
def test_intervals_of_laplace_noise_below_one_row_miss_no_more_than_stated(
    scale: float, missed: float
) -> None:
    """Exact tails: at a level of 1 - missed the interval holds all but that much of the law."""
    q = math.exp(-1 / scale)
    error = np.array([math.sqrt(2 * q) / (1 - q)])
    low, high = Estimates(np.zeros(1), error, "laplace").interval(1 - missed)
    beyond = math.floor(float(high[0])) + 1
    assert low[0] == -high[0]
    assert 2 * q**beyond / (1 + q) <= missed * (1 + 1e-9)


@pytest.mark.parametrize("place", [0.01, 0.3, 0.99])
@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_intervals_over_bins_hold_sums_and_means_of_the_values(place: float, delta: float) -> None:
    """However values lie in their bins; a miss at level 1 - 1e-9 is no accident."""
    edges, rng = [0, 10, 50, 1000], np.random.default_rng(2)
    low = rng.choice(3, 900, p=[0.8, 0.15, 0.05])
    values = np.array(edges)[low] + place * np.diff(edges)[low]
    frame = pd.DataFrame({"g": np.arange(900) % 3, "x": values})
    table = wn.read_table(frame, schema={"g": 3, "x": {"edges": edges}})
    found = wn.tabulate(table, ["g"], values=["x"], epsilon=1, delta=delta, seed=4).value
    groups = found.table("g")
    for each, truth in (
        (groups.means["x"], frame.groupby("g").x.mean()),
        (groups.sums["x"], frame.groupby("g").x.sum()),
    ):
        ends = each.interval(1 - 1e-9)
        assert (ends[0] <= truth).all() and (truth <= ends[1]).all()
    assert any("reach further" in note for note in found.notes)


@pytest.mark.parametrize("seed", range(4))
def test_no_rows_in_bins_have_a_mean_beyond_the_hulls(seed: int) -> None:
    rng = np.random.default_rng(seed)
    edges = np.cumsum(rng.exponential(1, 7)) - 2
    spread = BinSpread(tuple(edges.tolist()))
    middles = (edges[1:] + edges[:-1]) / 2
    shares = rng.dirichlet(np.full(6, 0.3), 2000)
    mean = shares @ middles
    low, high = spread.around(mean, mean)
    assert (low <= shares @ edges[:-1] + 1e-12).all()
    assert (shares @ edges[1:] <= high + 1e-12).all()
    less, more = spread.beyond(mean - 0.3, mean + 0.2)
    assert (mean - low <= less + 1e-12).all() and (high - mean <= more + 1e-12).all()


def test_no_table_with_values_points_to_moments() -> None:
    table = wn.read_table(small_groups(), schema=SCHEMA)
    with pytest.raises(wn.ParameterError, match="gives sums and means of the whole"):
        wn.tabulate(table, None, values=["hours"], epsilon=1)
