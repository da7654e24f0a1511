"""Sums of products of a row's numbers, with integer noise, charged as one event."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from winnow.core.checks import Real
from winnow.core.key import Key
from winnow.core.relation import Relation
from winnow.numbers.moments.crossing import check_rows
from winnow.numbers.regress.crossing import Integers, noisy_products
from winnow.numbers.regress.design import Design
from winnow.privacy import Guarantee, Promise, promise
from winnow.privacy.calibration import sized_guarantee
from winnow.privacy.rounding import rounded_up
from winnow.read.crossing import SealedTable, check_planned


@dataclass(frozen=True)
class NoisyProducts:
    """The sums over the rows of v v^T, v being the numbers of a row: an intercept 1, features and
    target, each between -1 and 1; with integer noise in parts of 1/one^2.

    Products that follow from others are not measured: the square of an indicator is itself, of two
    indicators of one column at least one is 0, and the square of -1 or 1 is 1. A row without a
    number in some column adds nothing anywhere.

    Formal guarantees
        Box noise on the products, where squares z^2 are measured as 2 z^2 - 1: each lies between
        -1 and 1, so a row more moves the largest by at most 1, a row replaced by at most 2, and
        L rows by L times that. The vector x of integers has probability proportional to
        exp(-max_i |x_i|/scale). [Hardt-Talwar 2010; Awan-Slavkovic 2021]

        Gaussian noise of variance s^2 on products of two numbers, and 2 s^2 on squares: the
        squared moves over their variances add up to at most |A|^2/(2 s^2), A being by how much
        v v^T moves and |A| its Frobenius norm. Let r^2 bound |v|^2: one for the intercept and for
        each column. A row more moves it by |v v^T|^2 = |v|^4 <= r^4. A row replaced moves it by
        |v|^4 + |w|^4 - 2 (v.w)^2 <= 2 r^4. By the triangle inequality L rows move |A| by at most
        L times that. What is not measured moves nothing. One DiscreteGaussian event.
        [Dwork-Talwar-Thakurta-Zhang 2014; Canonne-Kamath-Steinke 2020]

        The number of rows is not measured where it is public: under substitution with one row per
        person, or where the user declares it, and no row can be left out.
    """

    epsilon: Real
    """The total for the call."""
    design: Design
    law: str
    """"box" or "gaussian"."""
    noise: Fraction
    """The scale of box noise, or the variance of a product of two numbers; in parts."""
    rows_are_public: bool
    rows_per_person: int = 1
    delta: Real = 0

    @property
    def products(self) -> tuple[tuple[int, int], ...]:
        """What is measured."""
        return self.design.products(rows_are_public=self.rows_are_public)

    @property
    def noises(self) -> tuple[Fraction, ...]:
        """The scale of box noise, or the variance of every product."""
        if self.law == "box":
            return (self.noise,)
        return tuple(self.noise * (2 if i == j else 1) for i, j in self.products)

    @property
    def name(self) -> str:
        """What the receipt calls it."""
        law = "Gaussian" if self.law == "gaussian" else "box"
        return f"linear regression, {len(self.products)} sums with discrete {law} noise"

    def promise(self, relation: Relation) -> Promise:
        """What one release is charged, and why."""
        if self.law == "gaussian":
            return promise(
                "discrete-gaussian",
                "additive-joint",
                relation,
                squared_ratio=rounded_up(
                    squared_move(self.design, relation, self.rows_per_person) / self.noise
                ),
                least_variance=self.noise,
            )
        moved = largest_move(self.design, relation, self.rows_per_person)
        return promise("discrete-box", "additive", relation, epsilon=moved / self.noise)

    def guarantee(self, promised: Promise) -> Guarantee:
        """Of all sums together."""
        return sized_guarantee(promised.event, self.epsilon, self.delta)

    def check(self, table: SealedTable) -> None:
        """Refuse what cannot be released, before anything is charged."""
        check_planned(table, self.rows_per_person)
        check_rows(table)

    def drawn(self, table: SealedTable, key: Key) -> Integers:
        """The noisy sum of every product, in parts."""
        return noisy_products(table, self.design, self.products, self.law, self.noises, key)


def largest_move(design: Design, relation: Relation, rows_per_person: int) -> Fraction:
    """By how much a person moves the largest sum, in parts."""
    single = 1 if relation is Relation.ADD_REMOVE else 2
    return Fraction(single * rows_per_person * design.one**2)


def squared_move(design: Design, relation: Relation, rows_per_person: int) -> Fraction:
    """The most that squared moves add up to, those of squares counted half; in parts."""
    single = Fraction(1, 2) if relation is Relation.ADD_REMOVE else Fraction(1)
    return single * design.length**2 * rows_per_person**2 * design.one**4
