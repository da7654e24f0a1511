"""The compiled loop of the scalar-private solver draws the exponential mechanism, round by round.

Each test has a false-alarm rate of 1e-6 and a fixed seed.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from scipy.stats import kstest

from reference.inside import Tape
from reference.scalar_loop import laws
from winnow.core.kernels.draw_state import BEGIN, DRAWING, PHASE
from winnow.core.kernels.envelope import LN2
from winnow.core.noisy_top.proposals import TapeWords
from winnow.lp.kernels.scalar_program import ConstraintRows, Shapes
from winnow.lp.kernels.scalar_solver import STAGES, ScalarLoop, words_for

pytestmark = pytest.mark.extras  # half a minute of compiling, of loops for large programs alone
POWER = -12
FALSE_ALARM = 1e-6


def _program(rows: int, columns: int, seed: int):
    rng = np.random.default_rng(seed)
    matrix = rng.standard_normal((rows, columns)) * rng.uniform(0.2, 2.0, (rows, 1))
    offsets = np.rint((matrix @ rng.dirichlet(np.ones(columns)) + 0.05) * 2**-POWER)
    return matrix, offsets.astype(np.int64)


def _run(matrix, offsets, scale, *, rate, step, rounds, classes=4, seed=1, stages=STAGES):
    rows = ConstraintRows.of(matrix)
    loop = ScalarLoop(
        rows, Shapes.of(rows, scale), scale, offsets, power=POWER, rate=Fraction(rate), step=step,
        rounds=rounds, classes=classes, stages=stages,
    )  # fmt: skip
    mean = loop.finish(words_for(Tape.seeded(seed), rounds))
    return loop, mean


def _uniform(loop, matrix, offsets, scale, *, rate, step):
    """Each choice, transformed by the law of its round, and the points."""
    rng = np.random.default_rng(0)
    uniform, points = [], []
    for row, (law, z) in zip(
        loop.chosen,
        laws(matrix, offsets, scale, loop.chosen, power=POWER, rate=rate, step=step),
        strict=True,
    ):
        uniform.append(law[:row].sum() + rng.random() * law[row])
        points.append(z)
    return uniform, points


@pytest.mark.parametrize(
    ("rate", "step", "classes", "stages"),
    [
        (0.5, 0.02, 4, STAGES),
        (0.5, 0.02, 4, ("bucketed",)),
        (40, 0.02, 4, STAGES),
        (800, 0.05, 2, ("bucketed",)),
        (4000, 0.02, 1, ("bucketed",)),
        (0.5, 0.02, 4, ("quantised",)),
        (40, 0.02, 2, ("quantised",)),
        (800, 0.05, 4, STAGES),
        (4000, 0.02, 1, ("quantised",)),
    ],
)
def test_every_round_of_a_long_run_has_the_exact_law(
    rate: float, step: float, classes: int, stages: tuple[str, ...]
) -> None:
    """Transformed by the law of its round, each choice is uniform, in every stage."""
    matrix, offsets = _program(700, 6, 3)
    scale = np.ones(6)
    options = {"rate": rate * 2.0**POWER, "step": step}
    loop, mean = _run(
        matrix, offsets, scale, rounds=800, classes=classes, stages=stages, **options
    )  # fmt: skip
    uniform, points = _uniform(loop, matrix, offsets, scale, **options)
    assert kstest(uniform, "uniform").pvalue > FALSE_ALARM
    np.testing.assert_allclose(mean, np.mean(points, axis=0), atol=1e-9)


def test_a_run_goes_on_to_the_stage_that_suits_it() -> None:
    matrix, offsets = _program(700, 6, 3)
    taken = [
        _run(matrix, offsets, np.ones(6), rate=rate * 2.0**POWER, step=0.05, rounds=300)[0]._stage
        for rate in (0.05, 4000)
    ]
    assert taken == ["uniform", "quantised"]


@pytest.mark.parametrize("kind", ["sizes", "ties", "tiny", "far", "level"])
def test_quantised_rows_of_any_size_have_the_exact_law(kind: str) -> None:
    """Rows of -1e6 or 1e6 beside rows of 1e-6, equal scores, entries that codes cannot hold."""
    matrix, offsets = _program(600, 5, 11)
    rate, step = 60.0, 0.05
    if kind == "sizes":
        matrix *= 10.0 ** np.random.default_rng(1).integers(-6, 7, (600, 1))
        matrix = np.minimum(matrix, 3.0)  # large entries are far below the others
        offsets = np.rint(matrix.max(axis=1) * 2**-POWER).astype(np.int64) // 2
        step = 1e-7
    elif kind == "ties":
        matrix = np.repeat(matrix[:3], 200, axis=0)
        offsets = np.repeat(offsets[:3], 200)
        rate = 800.0
    elif kind == "tiny":
        matrix[100:300] = 0.0
        matrix[300:400] *= 1e-300
        matrix[400:500, 1:] *= 1e-9  # one entry takes the whole code
    elif kind == "far":
        offsets[::2] += 2**40  # met by every point
        rate = 800.0
    else:
        matrix[::2] += 1e6  # the same for all points: codes say nothing of these rows
        offsets[::2] += int(1e6 * 2**-POWER)
        step = 1e-8
    options = {"rate": rate * 2.0**POWER, "step": step}
    loop, _ = _run(matrix, offsets, np.ones(5), rounds=400, stages=("quantised",), **options)
    uniform, _ = _uniform(loop, matrix, offsets, np.ones(5), **options)
    assert kstest(uniform, "uniform").pvalue > FALSE_ALARM


def test_codes_of_one_byte_bound_every_score() -> None:
    """Whole bounds of all rows that are read are at least the exponents, and close to them."""
    from winnow.lp.kernels.scalar_blocks import BLOCK
    from winnow.lp.kernels.scalar_quantised import BASE

    matrix, offsets = _program(2000, 7, 12)
    matrix[:500] *= 10.0 ** np.random.default_rng(2).integers(-300, 3, (500, 1))
    rows, scale = ConstraintRows.of(matrix), np.ones(7)
    rate = 2000 * 2.0**POWER
    loop = ScalarLoop(
        rows, Shapes.of(rows, scale), scale, offsets, power=POWER, rate=Fraction(rate), step=0.02,
        rounds=30, stages=("quantised",),
    )  # fmt: skip
    loop.finish(words_for(Tape.seeded(3), 30))
    _, _, blocks, _, envelope = loop._records
    z = [z for _, z in laws(matrix, offsets, scale, loop.chosen, power=POWER, rate=rate, step=0.02)]
    exponents = rate / LN2 * (np.rint(matrix @ z[-1] * 2.0**-POWER) - offsets)
    checked = 0
    for c, end in enumerate(envelope.unread):
        for block in range(blocks.first[c], end):
            mine = blocks.order[block, : blocks.sizes[block]]
            bounds = envelope.bounds[block, : len(mine)] + loop._state[BASE]
            assert (bounds >= exponents[mine]).all()
            size = np.abs(matrix[mine]).max(axis=1)
            assert (bounds <= exponents[mine] + 4 + 0.1 * size * 2000).all()
            checked += len(mine)
    assert checked >= BLOCK


def test_sparse_rows_and_left_over_coordinates_give_what_dense_rows_give() -> None:
    """The same tape and the same numbers: the same rows are chosen."""
    matrix, offsets = _program(300, 5, 4)
    matrix[np.abs(matrix) < 0.7] = 0.0
    scale = np.append(np.full(5, 2.0), 0.0)
    for rate, stage in ((0.3, "uniform"), (30, "bucketed")):
        options = {"rate": rate * 2.0**POWER, "step": 0.05, "rounds": 300, "stages": (stage,)}
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


@pytest.mark.parametrize("stage", STAGES)
def test_the_size_of_the_word_buffer_has_no_influence(stage: str) -> None:
    matrix, offsets = _program(200, 4, 6)
    rows, scale = ConstraintRows.of(matrix), np.ones(4)
    chosen = []
    for size in (3, 64, 5000):
        loop = ScalarLoop(
            rows, Shapes.of(rows, scale), scale, offsets, power=POWER,
            rate=Fraction((0.1 if stage == "uniform" else 100) * 2.0**POWER), step=0.05, rounds=120,
            stages=(stage,),
        )  # fmt: skip
        loop.finish(TapeWords(Tape.seeded(9), size))
        chosen.append(loop.chosen.tolist())
    assert chosen[0] == chosen[1] == chosen[2]


@pytest.mark.parametrize("stage", STAGES)
def test_what_the_filter_leaves_open_is_decided_exactly(
    stage: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A filter that never decides: the exact comparison gives the same rows."""
    import winnow.core.kernels.draw_state as module

    matrix, offsets = _program(50, 3, 7)
    rate = (0.1 if stage == "uniform" else 50) * 2.0**POWER
    options = {"rate": rate, "step": 0.05, "rounds": 60, "stages": (stage,)}
    usual, _ = _run(matrix, offsets, np.ones(3), **options)
    asked = []
    exact = module.exact_acceptance
    monkeypatch.setattr(module, "exact_acceptance", lambda *a: asked.append(a) or exact(*a))

    class Open(ScalarLoop):
        def _next_stage(self):
            super()._next_stage()
            # A rate of the filter so large that its error margin leaves every test open.
            self._program = self._program._replace(beta=1e30)

    rows = ConstraintRows.of(matrix)
    loop = Open(rows, Shapes.of(rows, np.ones(3)), np.ones(3), offsets, power=POWER,
                rate=Fraction(rate), step=0.05, rounds=60, stages=(stage,))  # fmt: skip
    loop.finish(words_for(Tape.seeded(1), 60))
    assert len(asked) >= 60
    assert loop.chosen.tolist() == usual.chosen.tolist()


def test_small_programs_are_measured_as_large_ones_are(monkeypatch: pytest.MonkeyPatch) -> None:
    """Norms, ranges and largest entries do not depend on which code takes them."""
    from winnow.lp.kernels import scalar_program as module

    matrix, _ = _program(60, 5, 8)
    rows, scale = (
        ConstraintRows.of(csr_matrix(np.where(matrix > 0, matrix, 0.0))),
        np.append(np.ones(5), 0.0),
    )
    plain = Shapes(rows, scale)
    np.testing.assert_array_equal(plain.lengths, Shapes.of(rows, scale).lengths)
    monkeypatch.setattr(module, "_SMALL", 0)
    compiled = Shapes(rows, scale)
    np.testing.assert_allclose(plain.lengths, compiled.lengths, rtol=1e-9)
    np.testing.assert_allclose(plain.halves, compiled.halves, rtol=1e-12)
    np.testing.assert_array_equal(plain.tops, compiled.tops)
    assert plain.largest == compiled.largest


def test_a_stage_begins_afresh_whatever_the_one_before_left_behind() -> None:
    """Found in review: the groups believed that their weights were set, and drew for ever."""
    matrix, offsets = _program(50, 3, 7)
    rows = ConstraintRows.of(matrix)
    how = {"rate": Fraction(1, 20), "step": 0.05, "rounds": 5, "stages": ("uniform", "bucketed")}
    loop = ScalarLoop(rows, Shapes.of(rows, np.ones(3)), np.ones(3), offsets, power=POWER, **how)
    loop._state[PHASE] = DRAWING  # as after an undecided proposal that was rejected
    loop._next_stage()
    assert loop._state[PHASE] == BEGIN
    loop.finish(words_for(Tape.seeded(1), 5))
    assert len(loop.chosen) == 5
