"""The compiled loop of the scalar-private solver draws the exponential mechanism, round by round.

Each test has a false-alarm rate of 1e-6 and a fixed seed.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from scipy.stats import kstest

from reference.constraint_loop import laws
from winnow.kernels.constraint_solver import ConstraintLoop, Rows, Shapes, words_for
from winnow.kernels.tape_words import TapeWords
from winnow.random.tape import Tape

POWER = -12
FALSE_ALARM = 1e-6


def _program(rows: int, columns: int, seed: int):
    rng = np.random.default_rng(seed)
    matrix = rng.standard_normal((rows, columns)) * rng.uniform(0.2, 2.0, (rows, 1))
    offsets = np.rint((matrix @ rng.dirichlet(np.ones(columns)) + 0.05) * 2**-POWER)
    return matrix, offsets.astype(np.int64)


def _run(matrix, offsets, scale, *, rate, step, rounds, classes=4, seed=1):
    rows = Rows.of(matrix)
    loop = ConstraintLoop(
        rows, Shapes.of(rows, scale), scale, offsets, power=POWER, rate=Fraction(rate), step=step,
        rounds=rounds, classes=classes,
    )  # fmt: skip
    mean = loop.finish(words_for(Tape.seeded(seed), rounds))
    return loop, mean


@pytest.mark.parametrize(
    ("rate", "step", "classes"), [(0.5, 0.02, 4), (40, 0.02, 4), (800, 0.05, 2), (4000, 0.02, 1)]
)
def test_every_round_of_a_long_run_has_the_exact_law(
    rate: float, step: float, classes: int
) -> None:
    """Transformed by the law of its round, each choice is uniform: flat or peaked."""
    matrix, offsets = _program(700, 6, 3)
    scale = np.ones(6)
    per_step = rate * 2.0**POWER
    loop, mean = _run(matrix, offsets, scale, rate=per_step, step=step, rounds=800, classes=classes)
    rng = np.random.default_rng(0)
    uniform, points = [], []
    for row, (law, z) in zip(
        loop.chosen,
        laws(matrix, offsets, scale, loop.chosen, power=POWER, rate=per_step, step=step),
        strict=True,
    ):
        before = law[:row].sum()
        uniform.append(before + rng.random() * law[row])
        points.append(z)
    assert kstest(uniform, "uniform").pvalue > FALSE_ALARM
    np.testing.assert_allclose(mean, np.mean(points, axis=0), atol=1e-9)


def test_sparse_rows_and_left_over_coordinates_give_what_dense_rows_give() -> None:
    """The same tape and the same numbers: the same rows are chosen."""
    matrix, offsets = _program(300, 5, 4)
    matrix[np.abs(matrix) < 0.7] = 0.0
    scale = np.append(np.full(5, 2.0), 0.0)
    options = {"rate": 30 * 2.0**POWER, "step": 0.05, "rounds": 300}
    dense, one = _run(matrix, offsets, scale, **options)
    sparse, other = _run(csr_matrix(matrix), offsets, scale, **options)
    assert dense.chosen.tolist() == sparse.chosen.tolist()
    np.testing.assert_allclose(one, other, atol=1e-12)


def test_work_that_is_saved_changes_no_law() -> None:
    """First rows of many short runs, drawn under bounds that were never looked at before."""
    matrix, offsets = _program(8, 3, 5)
    scale = np.ones(3)
    rate = 20 * 2.0**POWER
    [(law, _)] = laws(matrix, offsets, scale, [0], power=POWER, rate=rate, step=0.1)
    counts = np.zeros(8)
    for seed in range(2000):
        loop, _ = _run(matrix, offsets, scale, rate=rate, step=0.1, rounds=1, seed=seed)
        counts[loop.chosen[0]] += 1
    expected = 2000 * law
    keep = expected >= 5
    chi = float(((counts - expected) ** 2 / expected)[keep].sum())
    assert chi < 60  # 7 degrees of freedom: below 1e-9


def test_the_size_of_the_word_buffer_has_no_influence() -> None:
    matrix, offsets = _program(200, 4, 6)
    rows, scale = Rows.of(matrix), np.ones(4)
    chosen = []
    for size in (3, 64, 5000):
        loop = ConstraintLoop(
            rows, Shapes.of(rows, scale), scale, offsets, power=POWER,
            rate=Fraction(100 * 2.0**POWER), step=0.05, rounds=120,
        )  # fmt: skip
        loop.finish(TapeWords(Tape.seeded(9), size))
        chosen.append(loop.chosen.tolist())
    assert chosen[0] == chosen[1] == chosen[2]


def test_what_the_filter_leaves_open_is_decided_exactly(monkeypatch: pytest.MonkeyPatch) -> None:
    """A filter that never decides: the exact comparison gives the same rows."""
    import winnow.kernels.constraint_solver as module

    matrix, offsets = _program(50, 3, 7)
    options = {"rate": 50 * 2.0**POWER, "step": 0.05, "rounds": 60}
    usual, _ = _run(matrix, offsets, np.ones(3), **options)
    asked = []
    exact = module.exact_acceptance
    monkeypatch.setattr(module, "exact_acceptance", lambda *a: asked.append(a) or exact(*a))

    class Open(ConstraintLoop):
        def __init__(self, *args, **kwargs):
            super().__init__(*args, **kwargs)
            # A rate of the filter so large that its error margin leaves every test open.
            changed = list(self._arguments)
            changed[8] = float("1e30")
            self._arguments = tuple(changed)

    rows = Rows.of(matrix)
    loop = Open(rows, Shapes.of(rows, np.ones(3)), np.ones(3), offsets, power=POWER,
                rate=Fraction(options["rate"]), step=0.05, rounds=60)  # fmt: skip
    loop.finish(words_for(Tape.seeded(1), 60))
    assert len(asked) >= 60
    assert loop.chosen.tolist() == usual.chosen.tolist()


def test_small_programs_are_measured_as_large_ones_are(monkeypatch: pytest.MonkeyPatch) -> None:
    """Norms, ranges and largest entries do not depend on which code takes them."""
    import winnow.kernels.constraint_solver as module

    matrix, _ = _program(60, 5, 8)
    rows, scale = Rows.of(csr_matrix(np.where(matrix > 0, matrix, 0.0))), np.append(np.ones(5), 0.0)
    plain = Shapes.of(rows, scale)
    monkeypatch.setattr(module, "_SMALL", 0)
    compiled = Shapes.of(rows, scale)
    np.testing.assert_allclose(plain.lengths, compiled.lengths, rtol=1e-9)
    np.testing.assert_allclose(plain.halves, compiled.halves, rtol=1e-12)
    np.testing.assert_array_equal(plain.tops, compiled.tops)
    assert plain.largest == compiled.largest
