"""Audits of private linear programs on tiny instances: enumeration, fidelity, broken twins."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import product

import numpy as np
from numpy.typing import NDArray

from winnow.audit.driver import enumeration
from winnow.audit.fidelity import chi_square_p_value, fidelity_result
from winnow.audit.result import AuditResult, as_twin
from winnow.core.relation import Relation
from winnow.core.run import single_run
from winnow.core.tape import Tape
from winnow.core.utility import Utility
from winnow.lp.crossing.rows import seal_offsets, seal_rows
from winnow.lp.kernels.scalar_program import ConstraintRows
from winnow.lp.mechanisms.constraint import ConstraintPrivateLp
from winnow.lp.mechanisms.scalar import ScalarPrivateLp

Floats = NDArray[np.float64]
Laws = Sequence[Floats] | Floats
"""Log-probabilities of the first choice, then of the second for each first one."""


def log_softmax(scores: Floats) -> Floats:
    """The logs of exp(scores)/sum, of every row."""
    above = scores - scores.max(axis=-1, keepdims=True)
    return np.asarray(above - np.log(np.exp(above).sum(axis=-1, keepdims=True)))


@dataclass(frozen=True)
class ScalarModel:
    """Two rounds against rows A z <= b on the simplex."""

    exponent: float
    """What a score is multiplied with."""
    step: float
    absolute: bool = False
    """The printed mistake: |A_i z - b_i| instead of A_i z - b_i."""

    def rounds(self, matrix: Floats, b: Floats) -> list[Floats]:
        """Log-probabilities of the first row, then of the second for each first one."""
        size = matrix.shape[1]
        laws = [self._law(matrix, b, np.full(size, 1 / size))]
        for row in matrix:
            moved = np.exp(-self.step * row)
            laws.append(self._law(matrix, b, moved / moved.sum()))
        return laws

    def _law(self, matrix: Floats, b: Floats, z: Floats) -> Floats:
        score = matrix @ z - b
        return log_softmax(self.exponent * (np.abs(score) if self.absolute else score))


@dataclass(frozen=True)
class ConstraintModel:
    """Two rounds of dense multiplicative weights over private rows."""

    exponent: float
    step: float
    density: int
    dense: bool = True
    """The mistake: weights that are normalised only, so that one row can have them all."""

    def rounds(self, matrix: Floats, b: Floats, scale: Floats) -> Floats:
        """Log-probabilities of the first vertex, then of the second for each first one."""
        matrix = np.vstack([matrix, np.zeros((self.density, matrix.shape[1]))])
        b = np.append(b, np.zeros(self.density))
        moved = self.step * (scale[:, None] * matrix.T - b)
        logs = np.vstack([np.zeros(len(b)), moved])
        y = halved_projection(logs, self.density) if self.dense else np.exp(log_softmax(logs))
        return log_softmax(-self.exponent * scale * (y @ matrix))


def halved_projection(logs: Floats, density: int) -> Floats:
    """min(1, exp(L - theta))/s, of every row, with theta found by halving."""
    low = logs.min(axis=-1, keepdims=True) - 1.0
    high = logs.max(axis=-1, keepdims=True) + math.log(logs.shape[-1]) + 1.0
    for _ in range(64):
        middle = (low + high) / 2
        mass = np.exp(np.minimum(logs - middle, 0.0)).sum(axis=-1, keepdims=True)
        low, high = np.where(mass >= density, middle, low), np.where(mass >= density, high, middle)
    return np.asarray(np.exp(np.minimum(logs - low, 0.0)) / density)


def widest(some: Sequence[Laws], others: Sequence[Laws]) -> float:
    """The largest range of a log-ratio over the choices of one round, whatever came before.

    Each of some programs against each of the others; a program is the laws of its rounds.
    """
    second = np.array(others)
    return max(float(np.ptp(np.array(laws) - second, axis=-1).max()) for laws in some)


def joint(laws: Laws) -> Floats:
    """The probabilities of (first, second), as a matrix."""
    return np.asarray(np.exp(np.array([laws[0][i] + laws[1 + i] for i in range(len(laws[0]))])))


STEP = 0.8
SIDES = np.array([0.5, 0.0, 0.25, -0.25])
MATRIX = np.array([[1.0, 0.0, -1.0], [-1.0, 1.0, 0.5], [0.25, -0.5, 1.0], [0.0, 0.75, 0.25]])
"""Three variables, four rows; multiples of a small power of two, so that no grid matters."""
SENSITIVITY = 0.5
SCALAR = ScalarPrivateLp(1.5, 2)
UTILITY = Utility.declare(SENSITIVITY, relation=Relation.ADD_REMOVE)

SCALE = np.array([1.0, 0.5, 1.0])
OWNED = ConstraintPrivateLp(1.5, 2, 2, (-3, 3), (-40, 3))
_OWNED_STEP = 4.0
_HOW = {
    "dense": ", every vertex scored,",
    "lazy": ", vertices proposed under certified bounds,",
    "flat": ", vertices over an index,",
}


def scalar_model(sensitivity: float = SENSITIVITY) -> ScalarModel:
    """The model of the audited mechanism, for a sensitivity that it would take."""
    return ScalarModel(float(SCALAR.epsilon) / (2 * sensitivity), STEP)


def constraint_model(sensitivity: float | None = None) -> ConstraintModel:
    """The model where rows are people."""
    if sensitivity is None:
        sensitivity = float(OWNED.sensitivity(SCALE))
    return ConstraintModel(float(OWNED.epsilon) / (2 * sensitivity), _OWNED_STEP, OWNED.density)


def lp_enumerated(*, quick: bool = False) -> Iterator[AuditResult]:
    """No neighbour moves a round's log-probabilities over a wider range than was charged."""
    yield enumerate_scalar(scalar_model())
    for relation in Relation:
        yield enumerate_constraint(constraint_model(), relation, quick=quick)


def enumerate_scalar(model: ScalarModel) -> AuditResult:
    """All b with every entry moved by -sensitivity, 0 or +sensitivity."""
    honest = model.rounds(MATRIX, SIDES)
    shifts = list(product((-SENSITIVITY, 0.0, SENSITIVITY), repeat=len(SIDES)))
    moved = [model.rounds(MATRIX, SIDES + np.array(shift)) for shift in shifts]
    worst = widest([honest], moved)
    return _result(SCALAR, worst, f"over {len(shifts)} right-hand sides", "every round")


def enumerate_constraint(
    model: ConstraintModel, relation: Relation, *, quick: bool = False
) -> AuditResult:
    """One row more, or any row for any other."""
    worst, pairs = 0.0, 0
    for fewer, more in _programs(model, quick):
        one_side = [fewer] if relation is Relation.ADD_REMOVE else more
        worst = max(worst, widest(one_side, more))
        pairs += len(one_side) * len(more)
    return _result(OWNED, worst, f"over {pairs} pairs of programs", "every round", relation)


@lru_cache(maxsize=4)
def _programs(model: ConstraintModel, quick: bool) -> list[tuple[Floats, list[Floats]]]:
    """The laws of some rows, and with each further one: extreme entries, light and heavy."""
    ends = [np.array(row) for row in product((-3.0, 0.0, 3.0), repeat=3)]
    some = ends[::9] if quick else ends
    others = [[row] * times for row in some for times in (1, 3)] + [ends[::9], ends[::4]]
    programs = []
    for matrix in map(np.array, others):
        b = np.linspace(-1.0, 1.0, len(matrix))
        more = [
            model.rounds(np.vstack([matrix, row]), np.append(b, mine), SCALE)
            for row in ends
            for mine in (-40.0, 0.0, 3.0)
        ]
        programs.append((model.rounds(matrix, b, SCALE), more))
    return programs


def _result(
    mechanism: ScalarPrivateLp | ConstraintPrivateLp,
    worst: float,
    searched: str,
    what: str,
    relation: Relation = Relation.ADD_REMOVE,
) -> AuditResult:
    claimed = float(mechanism.epsilon)
    return enumeration(
        f"{mechanism.title}, three variables, two rounds: between neighbours the log-probabilities "
        f"of {what} move over a range of at most epsilon.",
        mechanism,
        relation,
        claimed,
        worst,
        searched,
    )


def lp_faithful(*, quick: bool = False, seed: int) -> Iterator[AuditResult]:
    """The compiled loop and the dual oracle draw the enumerated probabilities."""
    yield scalar_fidelity(scalar_model(), _draws(quick), seed)
    yield scalar_fidelity(scalar_model(), _draws(quick), seed, lazy=False)
    for selection in _HOW:
        yield constraint_fidelity(constraint_model(), _draws(quick), seed, selection)


def _draws(quick: bool) -> int:
    return 300 if quick else 2_000


def scalar_fidelity(model: ScalarModel, draws: int, seed: int, *, lazy: bool = True) -> AuditResult:
    """Pairs of rows from the compiled loop, or from the plain one, against a model."""
    how = "" if lazy else ", every row scored,"
    exact = joint(model.rounds(MATRIX, SIDES))
    return _fidelity(SCALAR, _chosen_rows(draws, seed, lazy), exact, draws, how)


@lru_cache(maxsize=4)
def _chosen_rows(draws: int, seed: int, lazy: bool) -> NDArray[np.int64]:
    """How often each pair of rows was drawn: for the mechanism and for its broken twin."""
    rows, scale = ConstraintRows.of(MATRIX), np.ones(3)
    root = Tape.seeded(seed)
    observed = np.zeros((4, 4), np.int64)
    for draw in range(draws):
        offsets = seal_offsets(SIDES, 4, UTILITY)
        key, _ = single_run(SCALAR, offsets.relation, root.child(f"draw-{draw}"))
        run = SCALAR.drawn(offsets, key)
        _, chosen, _ = run.solve(rows, scale, STEP, lazy=lazy)
        observed[chosen[0], chosen[1]] += 1
    return observed


def constraint_fidelity(
    model: ConstraintModel, draws: int, seed: int, selection: str = "dense"
) -> AuditResult:
    """How often each vertex was drawn in two rounds, against a model."""
    mechanism = replace(OWNED, selection=selection)
    root = Tape.seeded(seed)
    observed = np.zeros((3, 3), np.int64)
    for draw in range(draws):
        key, _ = single_run(mechanism, Relation.ADD_REMOVE, root.child(f"draw-{draw}"))
        run = mechanism.drawn(seal_rows(MATRIX, SIDES), key)
        times, _ = run.solve(SCALE, _OWNED_STEP)
        observed[int(times.argmax()), 2 - int(times[::-1].argmax())] += 1
    exact = joint(model.rounds(MATRIX, SIDES, SCALE))
    exact = np.triu(exact) + np.tril(exact, -1).T  # the order is not released
    return _fidelity(mechanism, observed, exact, draws, _HOW[selection])


def _fidelity(
    mechanism: ScalarPrivateLp | ConstraintPrivateLp,
    observed: NDArray[np.int64],
    exact: Floats,
    draws: int,
    how: str = "",
) -> AuditResult:
    chances = exact.ravel() / exact.sum()
    p_value = chi_square_p_value(np.append(observed.ravel(), 0), chances)
    return fidelity_result(
        f"{mechanism.title}: two rounds{how} draw the exact probabilities.",
        mechanism.name,
        mechanism.promise(Relation.ADD_REMOVE).citation,
        p_value,
        f"{draws} draws of two rounds",
    )


def lp_twins(*, quick: bool = False, seed: int) -> Iterator[AuditResult]:
    """The mistakes of the printed algorithms are caught."""
    yield as_twin(
        "the right-hand sides are taken to move half as far",
        "Enumeration",
        enumerate_scalar(scalar_model(SENSITIVITY / 2)),
    )
    absolute = replace(scalar_model(), absolute=True)
    yield as_twin(
        "absolute scores are taken for signed ones",
        "Fidelity",
        scalar_fidelity(absolute, _draws(quick), seed),
    )
    loose = replace(constraint_model(), dense=False)
    yield as_twin(
        "the weights of rows are not projected to dense ones",
        "Enumeration",
        enumerate_constraint(loose, Relation.ADD_REMOVE, quick=True),
    )
    honest = float(OWNED.sensitivity(SCALE))
    for fault, factor, relation in (
        ("the weights are taken to move by 1/s and not by 2/s", 0.5, Relation.ADD_REMOVE),
        ("a replaced row is taken to move half of what it does", 0.5, Relation.SUBSTITUTION),
        ("the sensitivity lacks the factor A_max", 1 / 3, Relation.ADD_REMOVE),
    ):
        yield as_twin(
            fault,
            "Enumeration",
            enumerate_constraint(constraint_model(honest * factor), relation, quick=True),
        )
