"""What lazy selection needs to know: a proposed head, exact scores, a bound on the rest."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from winnow.core.checks import Real, exact
from winnow.core.utility import Utility
from winnow.inner_product.index.prepared import PreparedVectors, largest_outside
from winnow.inner_product.kernels.exact_dot import MOST_STEPS

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

_FINENESS = 10


class LazyProblem(Protocol):
    """Candidates 0 .. size - 1 with integer scores that are computed on demand."""

    @property
    def size(self) -> int:
        """The number of candidates."""
        ...

    def propose(self, count: int, taken: Integers) -> tuple[Integers, int | None]:
        """Distinct candidates that were not taken, and a bound on the scores of the others.

        The bound holds for every candidate that is neither proposed nor taken. None: nothing
        is known.
        """
        ...

    def scores(self, ids: Integers) -> Integers:
        """The scores of some candidates."""
        ...

    def all_scores(self) -> Integers:
        """The scores of all candidates."""
        ...


class InnerProductProblem:
    """Inner products of vectors with a query, on a grid of 2^power; signed ones on demand.

    With `signed`, candidate i + m stands for the negative of vector i: the head is the top of
    +v and of -v on the m vectors, as the errata of [FastMWEM, Alg 2] has it.
    """

    def __init__(
        self,
        vectors: PreparedVectors,
        query: Floats,
        power: int,
        *,
        signed: bool = False,
        upper_bounds: Floats | None = None,
    ) -> None:
        self._vectors, self._query, self._power = vectors, query, power
        self._signs = (1, -1) if signed else (1,)
        self._keys = upper_bounds
        self._products = vectors.against(query, power)

    @property
    def size(self) -> int:
        """The number of candidates."""
        return self._vectors.size * len(self._signs)

    def propose(self, count: int, taken: Integers) -> tuple[Integers, int | None]:
        """The index's answer for either sign, and the least of the certified bounds."""
        rows = self._vectors.size
        heads, bound = [], -math.inf
        for side, sign in enumerate(self._signs):
            used = taken[taken // rows == side] - side * rows
            query = self._query if sign > 0 else -self._query
            ids, known = self._vectors.proposed(query, count + len(used))
            out = np.union1d(ids, used)
            known = min(known, self._vectors.bound_outside(query, out))
            if self._keys is not None:
                known = min(known, largest_outside(self._keys, out))
            bound = max(bound, known if len(out) < rows else -math.inf)
            heads.append(ids[~np.isin(ids, used)] + side * rows)
        return np.concatenate(heads), self._step(bound)

    def scores(self, ids: Integers) -> Integers:
        """Exactly, a block of rows at a time."""
        rows = self._vectors.size
        result = np.empty(len(ids), np.int64)
        for side, sign in enumerate(self._signs):
            places = np.flatnonzero(ids // rows == side)
            result[places] = self._products.steps(ids[places] - side * rows, sign)
        return result

    def all_scores(self) -> Integers:
        """Exactly, of all candidates."""
        if len(self._signs) == 1:
            return self._products.steps()
        return np.concatenate(self._products.both())

    def _step(self, bound: float) -> int | None:
        """The largest step that a real number up to the bound can have."""
        if not math.isfinite(bound):
            return None
        step = (Fraction(bound) / Fraction(2) ** self._power + Fraction(1, 3)).__floor__()
        return max(-MOST_STEPS, min(step, MOST_STEPS))  # scores are clipped likewise


def fineness_for(epsilon: Real) -> int:
    """So fine that a step is worth less than a nat, also at an epsilon that hides nothing.

    Lazy bounds are exact to about a step: with steps of many nats hardly a proposal would be
    accepted, and a draw would take for ever.
    """
    return max(_FINENESS, math.ceil(exact("epsilon", epsilon)).bit_length() + 1)


@dataclass(frozen=True)
class InnerProductGrid:
    """A public step 2^power, and the utility of scores counted in such steps."""

    power: int
    utility: Utility

    @classmethod
    def of(cls, utility: Utility, *, signed: bool, fineness: int = _FINENESS) -> InnerProductGrid:
        """Steps of about a thousandth (2^-fineness) of what one person can change.

        Inner products that move by -down to +up have steps that move by -ceil(down/u) to
        +ceil(up/u): exact, and part of the noise. With both signs a candidate moves either
        way by what any moves in one way.
        """
        down, up = utility.down, utility.up
        if signed:
            down = up = utility.one_sided
        smallest = min(part for part in (down, up) if part > 0)
        power = smallest.numerator.bit_length() - smallest.denominator.bit_length() - fineness
        unit = Fraction(2) ** power
        return cls(
            power, Utility(utility.relation, Fraction(-(-down // unit)), Fraction(-(-up // unit)))
        )
