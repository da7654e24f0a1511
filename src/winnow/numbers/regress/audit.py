"""Audits of regression: what people can move, written out; the law of the noise; broken twins."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations_with_replacement, product

import numpy as np
from numpy.typing import NDArray

from winnow.audit.driver import NoiseCharge, enumeration, farthest, of_moves
from winnow.audit.fidelity import chi_square_p_value, fidelity_result
from winnow.audit.result import AuditResult, as_twin
from winnow.core.number_grid import NumberGrid
from winnow.core.relation import Relation
from winnow.core.tape import Tape
from winnow.numbers.regress.crossing import gaussian_noise, measured
from winnow.numbers.regress.design import Design, DesignColumn
from winnow.numbers.regress.mechanism import NoisyProducts

Integers = NDArray[np.int64]

_TOP = 2
_ONE = 2


def number(name: str, place: int, *, optional: bool = False) -> DesignColumn:
    """Three numbers in steps of one."""
    grid = NumberGrid(Fraction(0), Fraction(_TOP), Fraction(1))
    return DesignColumn(name, place, grid, optional=optional)


def made(
    *features: DesignColumn, law: str = "box", rows: int = 1, public: bool = False, one: int = _ONE
) -> NoisyProducts:
    """A target that is explained by some features, in quarters of what a row adds."""
    design = Design((*features, number("y", len(features))), one)
    noise = Fraction(7 if law == "box" else 40) * one**2 / _ONE**2
    return NoisyProducts(1, design, law, noise, public, rows, 0 if law == "box" else 1e-3)


@dataclass(frozen=True)
class RegressionModel:
    """A mechanism, and who may stand in the place of whom."""

    mechanism: NoisyProducts
    relation: Relation
    charged_for: float = 1.0
    """How much of what it charges it would charge; a twin says less."""

    def moves(self) -> list[Integers]:
        """By how much one person moves what is measured."""
        columns = self.mechanism.design.columns
        codes = [
            range(len(c.labels) or _TOP + 1 + c.optional) for c in columns
        ]  # a code after the numbers: a missing one
        row = list(product(*codes))
        most = self.mechanism.rows_per_person
        sized = self.relation is Relation.SUBSTITUTION and most == 1
        people = [
            own
            for size in range(most if sized else 0, most + 1)
            for own in combinations_with_replacement(row, size)
        ]
        instead = [()] if self.relation is Relation.ADD_REMOVE else people
        sums = {own: self._measured(own) for own in {*people, *instead}}
        vectors: dict[bytes, Integers] = {}
        for one, other in product(people, instead):
            moved = sums[one] - sums[other]
            if moved.any():
                vectors[np.abs(moved).tobytes()] = moved
        return list(vectors.values())

    def _measured(self, rows: tuple[tuple[int, ...], ...]) -> Integers:
        design = self.mechanism.design
        codes = np.array(rows, np.int32).reshape(-1, len(design.columns)).T
        weights = np.ones(len(rows), np.int64)
        return measured(design, self.mechanism.products, self.mechanism.law, list(codes), weights)


def models() -> Iterator[tuple[str, RegressionModel]]:
    """Both laws and relations; values, missing numbers, two rows of a person."""
    x, odd = number("x", 0), number("x", 0, optional=True)
    town = DesignColumn("town", 0, None, ("a", "b", "c"))
    for relation in Relation:
        known = relation is Relation.SUBSTITUTION
        for law in ("box", "gaussian"):
            yield "a number", RegressionModel(made(x, law=law, public=known), relation)
            yield "values", RegressionModel(made(town, law=law, public=known), relation)
            yield "missing numbers", RegressionModel(made(odd, law=law), relation)
            two = made(x, number("z", 1), law=law, public=known)
            yield "two numbers", RegressionModel(two, relation)
            yield "two rows", RegressionModel(made(town, law=law, rows=2), relation)


def regression_enumerated(*, quick: bool = False) -> Iterator[AuditResult]:
    """No neighbours are told apart by noisy products more than was charged."""
    for title, model in list(models())[:: 3 if quick else 1]:
        yield enumerate_products(title, model)


def enumerate_products(title: str, model: RegressionModel) -> AuditResult:
    """One result over all that a person can do."""
    mechanism, moves = model.mechanism, model.moves()
    event = mechanism.promise(model.relation).event
    if mechanism.law == "box":
        charge = NoiseCharge.of(event, "laplace")
        # The outcome at which one table's sums lie tells as much as any: |x| - |x - m| <= |m|.
        worst = max(float(np.abs(moved).max()) for moved in moves) / float(mechanism.noise)
        claimed = charge.claimed * model.charged_for
    else:
        charge = NoiseCharge.of(event, "gaussian")
        noises = list(mechanism.noises)
        pairs = (
            pair
            for moved in moves
            for pair in of_moves(noises, "gaussian", [[np.atleast_1d(each) for each in moved]])
        )
        worst = charge.measured(farthest(pairs, charge.epsilon * model.charged_for))
        claimed = charge.claimed
    return enumeration(
        f"Regression, {title}: {charge.text}.",
        mechanism,
        model.relation,
        claimed,
        worst,
        f"over {len(moves)} moves",
    )


def regression_faithful(*, quick: bool = False, seed: int) -> Iterator[AuditResult]:
    """Noise on products and on squares has the variance that was charged."""
    yield faithful_noise(20_000 if quick else 60_000, seed)


def faithful_noise(draws: int, seed: int, of_squares: Fraction = Fraction(2)) -> AuditResult:
    """The noise on squares, against discrete Gaussian noise of twice the variance.

    A twin draws it with another variance, relative to that of products.
    """
    base, reach = Fraction(3), 12
    noise = gaussian_noise([base, *[base * of_squares] * draws], Tape.seeded(seed))[1:]
    points = np.arange(-reach, reach + 1)
    law = np.exp(-(points**2) / float(4 * base))
    every = np.arange(-200, 201)
    law /= math.fsum(np.exp(-(every**2) / float(4 * base)))
    inside = np.abs(noise) <= reach
    seen = np.bincount(noise[inside] + reach, minlength=len(points))
    return fidelity_result(
        "Regression: noise on squares has twice the variance of that on products.",
        "discrete Gaussian noise",
        "",
        chi_square_p_value(
            np.array([*seen, draws - int(inside.sum()), 0]), np.append(law, max(0, 1 - law.sum()))
        ),
        f"{draws} draws",
        relation="both",
    )


def regression_twins(*, seed: int) -> Iterator[AuditResult]:
    """Wrong sensitivities, and a wrong law, are caught."""
    x = number("x", 0)
    replaced = RegressionModel(made(x, public=True), Relation.SUBSTITUTION, 0.5)
    yield as_twin("a row that is replaced moves as one that comes", "Enumeration",
                  enumerate_products("a number", replaced))  # fmt: skip
    target = RegressionModel(made(x, law="gaussian"), Relation.ADD_REMOVE, 2 / 3)
    yield as_twin("the target is not counted among the numbers of a row", "Enumeration",
                  enumerate_products("a number", target))  # fmt: skip
    second = RegressionModel(made(x, rows=2), Relation.ADD_REMOVE, 0.5)
    yield as_twin("a second row is forgotten", "Enumeration",
                  enumerate_products("two rows", second))  # fmt: skip
    broken = faithful_noise(20_000, seed, of_squares=Fraction(1))
    yield as_twin("squares get the noise of products", "Fidelity", broken)
