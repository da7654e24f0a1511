"""How far one person moves measured sums, in units of what one row adds to each at most.

A person has at most L rows. Every way to exchange them is at most L steps, of three kinds:
- *single*: a row comes or goes; it moves sum i of its group by at most 1.
- *pair*: a row is replaced inside of its group: sum i moves by at most s_i, its spread (2 where
  values lie on both sides of 0, none where every row adds the same).
- *moved*: a row leaves one group and enters another: two singles.
Under add-remove there are singles only; under substitution with one row each there is no single,
but that a row without a value may get one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from winnow.core.relation import Relation
from winnow.numbers.moments.measured import MeasuredSum


@dataclass(frozen=True)
class Exchanged:
    """Who may be exchanged for whom."""

    relation: Relation
    groups: int = 1
    rows_per_person: int = 1


def spread_of(each: MeasuredSum) -> Fraction:
    """By how much a row moves a sum that is replaced by another one with a value."""
    return Fraction(each.high - each.low, each.reach)


def largest_move(measured: Sequence[MeasuredSum], who: Exchanged, parts: int) -> int:
    """The most, in whole parts, that all groups together move, by the largest sum of each.

    A sum that is measured ``times`` as finely moves by as many times more. Rounded down, a sum
    moves by at most its exact move, rounded up.
    """
    single = max(Fraction(each.times) for each in measured)
    moves = [Fraction(0)]
    if who.relation is Relation.ADD_REMOVE:
        moves.append(single)
    else:
        moves += [spread_of(each) * each.times for each in measured]
        moves += [Fraction(each.times) for each in measured if each.optional]
        if who.rows_per_person > 1:
            moves.append(single)
        if who.groups > 1:
            moves.append(2 * single)
    whole = max(moves) * parts * who.rows_per_person
    return -(-whole.numerator // whole.denominator)


def squared_move(
    measured: Sequence[MeasuredSum], precisions: Sequence[Fraction], who: Exchanged, parts: int
) -> Fraction:
    """The most that all squared moves add up to, each times its precision; never too low.

    Between two rows with z and w, let a = |z - w|. Then 2 z^2 - 1 moves by 2 a |z + w|, at most
    2 a (2 - a). With precisions p of z and q of 2 z^2 - 1 that adds up to at most 4 max(p, 3q/2):
    for q = 2p/3 it is p a^2 (1 + 8/3 (2 - a)^2), which is 4 at a = 2 and no more before.

    Rounding down to parts moves each sum by up to one part more: the root of what is added is at
    most 1/parts of the root of all singles, in the two groups that a row leaves and enters
    sqrt(2) times that; what is returned before is never less. But for totals of values that lie
    near each other and far from 0: replaced inside of a group these move by far less than a single,
    perhaps by less than a part, and count as the whole parts that they move by at most.
    """
    pairs = list(zip(measured, precisions, strict=True))
    singles = sum((own * each.times**2 for each, own in pairs), Fraction(0))
    if who.relation is Relation.ADD_REMOVE:
        worst = singles
    else:
        columns: dict[object, list[tuple[MeasuredSum, Fraction]]] = {}
        for each, own in pairs:
            columns.setdefault(each.column, []).append((each, own * each.times**2))
        worst = sum((_pair(own, parts) for own in columns.values()), Fraction(0))
        if who.rows_per_person > 1:
            worst = max(worst, singles)
        if who.groups > 1:
            worst = max(worst, 2 * singles)
    return worst * who.rows_per_person**2 * (1 + Fraction(1, parts)) ** 2


def _pair(column: Sequence[tuple[MeasuredSum, Fraction]], parts: int) -> Fraction:
    """The squared move of one column's sums, where a row's value is replaced."""
    by_kind = {each.kind: own for each, own in column}
    move = sum(
        (
            own * _whole_move(each, parts) ** 2
            for each, own in column
            if each.kind in ("total", "present")
        ),
        Fraction(0),
    )
    if "first" in by_kind:
        move += 4 * max(by_kind["first"], Fraction(3, 2) * by_kind.get("second", Fraction(0)))
    if any(each.optional for each, _ in column):  # a value comes or goes
        move = max(move, sum((own for _, own in column), Fraction(0)))
    return move


def _whole_move(each: MeasuredSum, parts: int) -> Fraction:
    """The spread of a sum in whole parts, rounded up."""
    fine = parts * each.times
    return Fraction(math.ceil(spread_of(each) * fine), fine)
