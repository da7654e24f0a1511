"""Lazy selection over columns: the law of the exponential mechanism, and checked bounds."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from reference.audited import FALSE_ALARM, chi_square_p_value
from reference.inside import Tape
from winnow.errors import InternalError
from winnow.lp.kernels.dense_projection import project, projected
from winnow.lp.kernels.lazy_columns import LazyColumns, uniform_below
from winnow.lp.kernels.lazy_columns import _Cursor as Cursor
from winnow.lp.kernels.owned_rows import DenseRows, SparseRows

RNG = np.random.default_rng(4)
MATRIX = csr_matrix(np.where(RNG.random((60, 24)) < 0.3, RNG.uniform(-1, 2, (60, 24)), 0.0))
SCALE = RNG.uniform(0.5, 2.0, 24)
LOGS = RNG.normal(0, 1, 60)
BEFORE, AFTER = project(LOGS, 6), project(LOGS + RNG.normal(0, 0.3, 60), 6)


def _lazy(rate: Fraction) -> LazyColumns:
    return LazyColumns(SparseRows(MATRIX, -1.0, 2.0), SCALE, rate, 2.0**10)


@pytest.mark.parametrize("rate", [Fraction(1, 900), Fraction(1, 150)])
def test_columns_have_the_law_of_the_exponential_mechanism_after_the_weights_moved(rate) -> None:
    """Rejected by chance with probability FALSE_ALARM; tape and scan are fixed."""
    lazy, root = _lazy(rate), Tape.seeded(11)
    lazy.draw(BEFORE, root.child("first"))
    lazy._most = 1 << 60  # no second scan: clocks have to carry it
    observed = np.zeros(24, np.int64)
    for draw in range(400):
        observed[lazy.draw(AFTER, root.child(f"{draw}"))] += 1
    assert lazy.scans == 1
    scores = np.rint(-(AFTER @ MATRIX) * SCALE * 2.0**10) * float(rate)
    chances = np.exp(scores - scores.max())
    assert chi_square_p_value(np.append(observed, 0), chances / chances.sum()) >= FALSE_ALARM


def test_a_clock_that_stands_still_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(LazyColumns, "_advance", lambda self, y: None)
    lazy = _lazy(Fraction(1, 4))
    lazy.draw(BEFORE, Tape.seeded(1))
    with pytest.raises(InternalError, match="certified bound"):
        [lazy.draw(AFTER, Tape.seeded(draw)) for draw in range(40)]


def test_lazy_draws_scan_again_when_proposals_cost_too_much() -> None:
    lazy = _lazy(Fraction(1, 4))
    for turn in range(20):
        lazy.draw(project(RNG.normal(0, 3, 60), 6), Tape.seeded(turn))
    assert lazy.scans > 1
    assert lazy.scored > 20


def test_single_columns_have_the_sums_of_a_scan_to_the_last_bit() -> None:
    sparse, dense = SparseRows(MATRIX, -1.0, 1.0), DenseRows(MATRIX.toarray(), -1.0, 1.0)
    some = np.array([3, 3, 17, 0])
    assert sparse.sums(AFTER, some).tolist() == sparse.sums(AFTER)[some].tolist()
    np.testing.assert_allclose(sparse.sums(AFTER), dense.sums(AFTER), atol=1e-14)
    one, other = np.zeros(60), np.zeros(60)
    sparse.add_column(5, 0.5, one)
    dense.add_column(5, 0.5, other)
    assert one.tolist() == other.tolist()
    assert sparse.columns().tolist() == dense.columns().tolist()


def test_whole_numbers_below_a_bound_are_uniform() -> None:
    drawn = uniform_below(5, 4_000, Cursor(Tape.seeded(3)))
    counts = np.bincount(drawn, minlength=5)
    assert len(counts) == 5
    assert chi_square_p_value(np.append(counts, 0), np.full(5, 0.2)) >= FALSE_ALARM
    assert uniform_below(1 << 62, 3, Cursor(Tape.seeded(3))).max() < 1 << 62


def test_a_projection_from_a_threshold_nearby_is_the_projection() -> None:
    logs = RNG.normal(0, 4, 5_000)
    for near in (None, 0.0, 30.0, -400.0, 2000.0):
        found, theta = projected(logs, 200, near)
        assert np.abs(found - project(logs, 200)).sum() < 2.0**-30
    again, _ = projected(logs, 200, theta)
    assert np.abs(again - found).sum() < 2.0**-30
