"""The constraint-private bound: dense weights regret no s rows by more than it says."""

from __future__ import annotations

import math

import numpy as np
import pytest

from winnow.lp.bounds import LpSetting, bound, rounds_for
from winnow.lp.kernels.dense_projection import project


def _setting(top: float, span: float, rows: int, exceptions: int) -> LpSetting:
    return LpSetting(
        "constraint", 10, math.log(rows / exceptions), span / 2, 1e-9, 1.0, exceptions, top
    )  # fmt: skip


@pytest.mark.parametrize("top", [0.5, 2.5, 5.0, 9.5])
@pytest.mark.parametrize("rounds", [30, 300])
def test_no_adversary_beats_the_regret(top: float, rounds: int) -> None:
    """Violations in [top - 10, top], with mean 0 under y: any such sequence obeys the bound."""
    span, rows, exceptions = 10.0, 40, 4
    promised = bound(_setting(top, span, rows, exceptions), rounds, 1.0, 0.5)
    rng = np.random.default_rng(7)
    for heavy_first in (False, True):
        logs, total = np.zeros(rows), np.zeros(rows)
        for _ in range(rounds):
            y = project(logs, exceptions)
            order = np.argsort(-y if heavy_first else rng.random(rows))
            before = np.cumsum(y[order]) - y[order]
            # so many rows at the lower end that the mean is 0 or just above, the others on top
            low = before < top / span - 1e-12 - y[order]
            v = np.empty(rows)
            v[order] = np.where(low, top - span, top)
            spare = float(y @ v)
            free = order[np.flatnonzero(~low)[:1]]
            v[free] -= min(spare / y[free[0]], span) if spare > 0 else 0.0
            assert float(y @ v) <= 1e-9
            logs, total = logs + promised.step * v, total + v / rounds
        worst = float(np.sort(total)[-exceptions:].mean())
        assert worst <= promised.regret + 1e-9


def test_the_worst_case_of_the_bound_is_hoeffdings() -> None:
    middle = bound(_setting(5.0, 10.0, 400, 20), 1000, 1e9, 0.5)
    hoeffding = 5.0 * math.sqrt(2 * math.log(20) / 1000)
    assert middle.regret == pytest.approx(hoeffding, rel=2e-3)
    assert middle.regret <= hoeffding * (1 + 1e-3)
    covering = bound(_setting(0.1, 10.0, 400, 20), 1000, 1e9, 0.5)
    assert covering.regret < 0.25 * hoeffding


def test_rounds_for_alpha_bring_the_regret_below_half_of_it() -> None:
    setting = _setting(1.0, 145.0, 10_000, 500)
    rounds = rounds_for(setting, 0.5)
    assert bound(setting, rounds, 1e9, 0.5).regret <= 0.25
    assert bound(setting, rounds // 2, 1e9, 0.5).regret > 0.25
    assert rounds < 0.05 * 9 * (72.5 / 0.5) ** 2 * setting.entropy
