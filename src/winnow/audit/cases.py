"""What is audited: every selection of the guarantee table, on small score vectors."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations_with_replacement, product
from math import ceil
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from winnow.audit.comparison_model import LargeMarginModel, SparseVectorModel
from winnow.audit.neighbours import Declared, declarations
from winnow.audit.probabilities import Model, Scores, model_of
from winnow.audit.selection_model import NoisyTopModel
from winnow.domain.neighbours import Relation
from winnow.domain.utility import Utility
from winnow.mechanisms import LargeMargin, LipschitzMechanism, SparseVector
from winnow.privacy import Promise
from winnow.random.laws import Law

Integers = NDArray[np.int64]

EPSILON = 1.0
MARGIN_PARAMETERS = ((0.2, 0.9), (4.0, 0.05))
"""(epsilon, delta) of the large margin mechanism: a loose pair, at which a tiny instance
comes nearest to its delta, and one whose thresholds lie at small integers."""


class Mechanism(Protocol):
    """What audits ask of a mechanism."""

    @property
    def name(self) -> str:
        """What the receipt calls it."""

    def promise(self, relation: Relation) -> Promise:
        """What one release is charged, and why."""

    def simulate(
        self, scores: Scores, utility: Utility, draws: int, seed: int
    ) -> NDArray[np.int64]:
        """Draws on made-up scores, a row for each."""


class UnorderedGumbel(LipschitzMechanism):
    """Oneshot Gumbel noise that releases the set only, as a row of the table has it."""

    @property
    def ordered(self) -> bool:
        """Whether the order is part of the release: never for a set."""
        return self.kappa == 1

    @property
    def name(self) -> str:
        """What audits call it."""
        return f"{super().name}, as a set"


@dataclass(frozen=True)
class Case:
    """A mechanism, and what was declared about its scores."""

    mechanism: Mechanism
    declared: Declared

    @property
    def model(self) -> Model:
        """Its exact output distribution."""
        return model_of(self.mechanism, self.declared.utility)

    @property
    def promise(self) -> Promise:
        """What it promises under the declared relation."""
        return self.mechanism.promise(self.declared.relation)


def selections(epsilon: float = EPSILON) -> list[Mechanism]:
    """One mechanism or more for every selection row of the guarantee table."""
    found: list[Mechanism] = [LipschitzMechanism(epsilon, law) for law in Law]
    for kappa in (2, 3):
        found += [LipschitzMechanism(epsilon, law, kappa) for law in Law]
        found.append(UnorderedGumbel(epsilon, Law.GUMBEL, kappa))
    found += [SparseVector(epsilon, 0, cutoff) for cutoff in (1, 2)]
    for parameters in MARGIN_PARAMETERS:
        found += [LargeMargin(*parameters, thresholds) for thresholds in ("tight", "printed")]
    return found


def all_cases() -> list[Case]:
    """Every selection, for counts, general and asymmetric scores, under both relations."""
    return [Case(mechanism, declared) for mechanism in selections() for declared in declarations()]


def instances(
    model: Model, declared: Declared, *, quick: bool
) -> Iterator[tuple[Integers, Integers]]:
    """Score vectors and the moves to their neighbours, for the kind of the model."""
    match model:
        case NoisyTopModel():
            yield from _for_selection(model, declared, quick)
        case SparseVectorModel():
            yield from _for_thresholds(model, declared, quick)
        case LargeMarginModel():
            yield from _for_margins(model, declared, quick)
        case _:
            yield from _nearby(declared)


def _for_selection(
    model: NoisyTopModel, declared: Declared, quick: bool
) -> Iterator[tuple[Integers, Integers]]:
    """All sorted vectors of small scores with ties, and far-off scores where losses peak."""
    far = ceil(12 / model.scale)
    for d in (4,) if quick else (3, 4, 5):
        if d > model.kappa:
            moves = declared.moves(d)
            yield _sorted_vectors((0, 1, 2, 3) if d < 5 and not quick else (0, 1, 2), d), moves
            yield _sorted_vectors((0, far, 2 * far) if d == 3 else (0, far), d), moves


def _for_thresholds(
    model: SparseVectorModel, declared: Declared, quick: bool
) -> Iterator[tuple[Integers, Integers]]:
    """All orders of near and far values; then reports that a neighbour finds hardest.

    Those are: far below the threshold and yet reported above, after values far above that
    are all reported below.
    """
    far = ceil(12 * model.value_scale)
    if not quick:
        yield _vectors((-1, 0, 1), 3), declared.moves(3)
        yield _vectors((-far, 0, far), 3), declared.moves(3)
    yield _vectors((-far, far), 4), declared.moves(4)
    planted = [-far] * (model.cutoff - 1) + [far] * 4 + [-far]
    moves = declared.moves(len(planted))
    same = moves[:, model.cutoff - 1 : -1]
    yield np.array([planted]), moves[np.all(same == same[:, :1], axis=1)]


def _for_margins(
    model: LargeMarginModel, declared: Declared, quick: bool
) -> Iterator[tuple[Integers, Integers]]:
    """Gaps at ties, at 2 sensitivities and around the thresholds; the leader first or last."""
    raw = model.thresholds(np.arange(1, 4)) * model.sensitivity
    near = sorted({0, 1, 2, 3, 4})
    for d in (3,) if quick else (3, 4):
        around = (-1, 0, 2) if d == 3 else (1,)
        gaps = sorted(
            {*near[: 5 if d == 3 else 3], *(int(t) + s for t in raw[: d - 1] for s in around)}
        )
        bases = -_sorted_vectors(tuple(gaps), d - 1)
        bases = np.hstack([np.zeros((len(bases), 1), np.int64), bases])
        wide = isinstance(declared.sensitivity, tuple)
        yield np.vstack([bases, bases[:, ::-1]]), declared.moves(d, inside=not (wide and d > 3))


def _nearby(declared: Declared) -> Iterator[tuple[Integers, Integers]]:
    yield _vectors((0, 1, 2, 3, 4, 5, 6), 3), declared.moves(3)


def _sorted_vectors(values: tuple[int, ...], d: int) -> Integers:
    return np.array(list(combinations_with_replacement(sorted(values, reverse=True), d)), np.int64)


def _vectors(values: tuple[int, ...], d: int) -> Integers:
    return np.array(list(product(values, repeat=d)), np.int64)
