"""Sums over the rows of every group, with integer noise, charged as one event."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from winnow.core.checks import Real
from winnow.core.key import Key
from winnow.core.relation import Relation
from winnow.numbers.moments.crossing import Integers, check_rows, noisy_sums
from winnow.numbers.moments.measured import PARTS, MeasuredSum
from winnow.numbers.moments.sensitivity import Exchanged, largest_move, squared_move
from winnow.privacy import Guarantee, Promise, promise
from winnow.privacy.calibration import sized_guarantee
from winnow.privacy.rounding import rounded_up
from winnow.read.crossing import SealedTable, check_planned


@dataclass(frozen=True)
class NoisySums:
    """Sums of whole polynomials of a row's codes, in every group, each with integer noise.

    A sum S of which one row moves at most its reach is rounded down to whole parts,
    Y = floor(S P/reach) with P = 2^24, and noise is added to Y.

    Formal guarantees
        A person moves S by d, so Y by at most ceil(d P/reach). In units of the reach,
        ``sensitivity`` bounds what all of a person's rows move.

        Box noise: the sums of each group get one vector x of integers with probability
        proportional to exp(-max_i |x_i|/scale), independent of other groups. Pure, with epsilon the
        most that the largest moves of all groups add up to, over the scale: by the triangle
        inequality the exponent moves by no more. One sum more does not raise it, as only the
        largest counts; alone it is discrete Laplace noise, and charged as such. For sums
        that move independently between -1 and 1 no norm's ball that holds all moves is smaller.
        [Hardt-Talwar 2010; Awan-Slavkovic 2021]

        Gaussian: one DiscreteGaussian event, whose squared ratio is the most, over neighbouring
        tables, of the sum of all squared moves, each over its variance.
        [Canonne-Kamath-Steinke 2020]

        The number of rows is not measured where it is public: under substitution with one row per
        person, or where the user declares it.
    """

    epsilon: Real
    """The total for the call."""
    measured: tuple[MeasuredSum, ...]
    law: str
    """"box" or "gaussian"."""
    noise: tuple[Fraction, ...]
    """The one scale of box noise, or the variance of each sum; in parts."""
    groups: int = 1
    rows_per_person: int = 1
    delta: Real = 0
    parts: int = PARTS

    @property
    def name(self) -> str:
        """What the receipt calls it."""
        many = len(self.measured)
        sums = f"{many} sum{'s' if many > 1 else ''}"
        if self.groups > 1:
            sums += f" in each of {self.groups:,} groups"
        law = "Gaussian" if self.law == "gaussian" else "Laplace" if many == 1 else "box"
        return f"moments, {sums} with discrete {law} noise"

    def promise(self, relation: Relation) -> Promise:
        """What one release is charged, and why."""
        who = Exchanged(relation, self.groups, self.rows_per_person)
        if self.law == "gaussian":
            precisions = [self.parts**2 / variance for variance in self.noise]
            return promise(
                "discrete-gaussian",
                "additive-joint",
                relation,
                squared_ratio=rounded_up(squared_move(self.measured, precisions, who, self.parts)),
                least_variance=min(self.noise),
            )
        moved = largest_move(self.measured, who, self.parts)
        if len(self.measured) == 1:
            return promise(
                "discrete-laplace", "additive", relation, noise_multiplier=self.noise[0] / moved
            )
        return promise("discrete-box", "additive", relation, epsilon=moved / self.noise[0])

    def guarantee(self, promised: Promise) -> Guarantee:
        """Of all sums together."""
        return sized_guarantee(promised.event, self.epsilon, self.delta)

    def check(self, table: SealedTable) -> None:
        """Refuse what cannot be released, before anything is charged."""
        check_planned(table, self.rows_per_person)
        check_rows(table)

    def drawn(self, table: SealedTable, by: tuple[int, ...], key: Key) -> Integers:
        """The noisy parts: a row for each group, a column for each sum."""
        return noisy_sums(
            table, by, self.groups, self.measured, self.law, self.noise, self.parts, key
        )
