"""Which way quantiles are found: the least predicted rank error, from public numbers alone."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction

from winnow.core.checks import exact
from winnow.core.options import AUTO, Method
from winnow.core.schema import Schema
from winnow.core.workloads.tables import prefixes
from winnow.errors import ParameterError
from winnow.numbers.about import AskedColumn
from winnow.numbers.crossing.joint import most_tries
from winnow.numbers.cumulative import MOST_POINTS, CumulativeQuantiles
from winnow.numbers.expected import expected_of
from winnow.numbers.joint import JointQuantiles
from winnow.numbers.mechanism import PARTS, HalvingQuantiles
from winnow.numbers.methods import Cumulative, Halving
from winnow.numbers.request import Quantiles
from winnow.numbers.tree import QuantileTree
from winnow.privacy.sizing import rounds_accountant
from winnow.read.about import AboutTable
from winnow.release.methods import Tables
from winnow.release.request import Release
from winnow.select.mechanisms.peeling import calibrated_rounds
from winnow.select.top_k_methods import Joint

QuantileMechanism = HalvingQuantiles | JointQuantiles | CumulativeQuantiles

MOST_JOINT = 100
"""Quantiles of one list: its work grows with their square."""
_ROOM = 1.0
"""Rows between two quantiles, over ln(size)/rate: by so many the volume of the grid can move one.
Of 90 settings of made-up columns (both relations, 300 to 10,000 rows, 3 to 32 quantiles), a joint
draw was off by .3 to 1.5 times as much as halving where there is more room, and by up to 9 times
where there is less."""
_MANY_TRIES = 2.0
"""Lists proposed for one that is kept; only rounding in 10^8 rows or more asks for so many."""
_MOST_WORK = 10**8
"""Steps of the sums over gaps: some three seconds."""


@dataclass(frozen=True)
class Chosen:
    """A mechanism, and why it is taken."""

    mechanism: QuantileMechanism
    reason: str = ""


def chosen(asked: Quantiles, public: AboutTable, of: AskedColumn) -> Chosen:
    """The way that was asked for, or the one with the least predicted rank error."""
    method = asked.method
    if isinstance(method, Halving):
        return Chosen(_halving(asked, public, of))
    if isinstance(method, Joint):
        return Chosen(_joint(asked, public, of))
    if isinstance(method, Cumulative):
        return Chosen(_cumulative(asked, public, of))
    if isinstance(method, Method):
        raise ParameterError(
            f"method={method.word()} does not find quantiles; give wn.Halving(), wn.Joint() or "
            "wn.Cumulative()"
        )
    assert method == AUTO
    return _best(asked, public, of)


def _best(asked: Quantiles, public: AboutTable, of: AskedColumn) -> Chosen:
    """Halving, unless another is predicted to have a smaller error on every quantile's average."""
    taken: QuantileMechanism = _halving(asked, public, of)
    least = first = _error(taken, public, of)
    others: list[Callable[[], QuantileMechanism]] = []
    if _has_room(asked, public, of):
        others.append(lambda: _joint(asked, public, of))
    if _is_small(asked, public, of):
        others.append(lambda: _cumulative(asked, public, of))
    for other in others:
        other_choice = other()
        error = _error(other_choice, public, of)
        if error < least:
            taken, least = other_choice, error
    if isinstance(taken, HalvingQuantiles):
        return Chosen(taken)
    return Chosen(
        taken, f"predicted rank error {least:.3g} rows on average, against {first:.3g} by halving"
    )


def _error(mechanism: QuantileMechanism, public: AboutTable, of: AskedColumn) -> float:
    """On the average of all quantiles; more than all rows of a group are not between any two."""
    rows = expected_of(mechanism, public.relation)
    error = math.fsum(row.rank_error for row in rows) / len(rows)
    return error if public.rows is None else min(error, public.rows / of.groups)


def _has_room(asked: Quantiles, public: AboutTable, of: AskedColumn) -> bool:
    """Whether a list is moved by rows and not by the volume of large gaps, as far as is known."""
    parts, whole = asked.parts
    many = len(parts)
    if not 2 <= many <= MOST_JOINT or public.rows is None or exact("delta", asked.delta):
        return False
    target = _joint(asked, public, of).target(public.relation)
    room = public.rows / of.groups * min(part for part in target.between if part) / whole
    if most_tries(public.rows, of.grid.size * PARTS, target) > _MANY_TRIES:
        return False
    gaps = min(public.rows, of.groups * 2 * many * target.reach(of.grid.size * PARTS))
    quick = gaps * many**2 <= _MOST_WORK
    return quick and room >= _ROOM * math.log(of.grid.size) / float(target.rate)


def _is_small(asked: Quantiles, public: AboutTable, of: AskedColumn) -> bool:
    if asked.by or of.grid.size > MOST_POINTS:
        return False
    return bool(public.rows) or (public.rows is None and not public.relation.size_is_public)


def halving_rounds(asked: Quantiles, rounds: int, public: AboutTable) -> Fraction:
    """The epsilon of one selection: an equal part, or more where a delta allows it."""
    epsilon, delta = exact("epsilon", asked.epsilon), exact("delta", asked.delta)
    equal = epsilon / rounds
    if not delta:
        return equal
    accountant = rounds_accountant(asked.budget)
    per_round = calibrated_rounds(epsilon, delta, rounds, Fraction(0), public.relation, accountant)
    return max(equal, exact("epsilon", per_round.parameter))


def _halving(asked: Quantiles, public: AboutTable, of: AskedColumn) -> HalvingQuantiles:
    parts, whole = asked.parts
    tree = QuantileTree(tuple(sorted(parts)), whole)
    runs = 1 if asked.level is None else 3
    return HalvingQuantiles(
        epsilon=asked.epsilon,
        delta=asked.delta,
        per_round=halving_rounds(asked, runs * tree.levels, public),
        tree=tree,
        size=of.grid.size,
        rows_per_person=public.rows_per_person,
        groups=of.groups,
        level=asked.level,
    )


def _joint(asked: Quantiles, public: AboutTable, of: AskedColumn) -> JointQuantiles:
    parts, whole = asked.parts
    if asked.level is not None:
        raise ParameterError(
            "a joint draw has no intervals; leave out level=, or take wn.Halving()"
        )
    if exact("delta", asked.delta):
        raise ParameterError("a joint draw is pure and has no use for a delta; leave out delta=")
    if len(parts) > MOST_JOINT:
        raise ParameterError(
            f"a joint draw takes at most {MOST_JOINT} quantiles, and these are {len(parts):,}; "
            "take wn.Halving()"
        )
    return JointQuantiles(
        asked.epsilon,
        tuple(sorted(parts)),
        whole,
        of.grid.size,
        public.rows_per_person,
        of.groups,
    )


def _cumulative(asked: Quantiles, public: AboutTable, of: AskedColumn) -> CumulativeQuantiles:
    parts, whole = asked.parts
    if asked.by:
        raise ParameterError(
            "cumulative counts are those of a whole table; leave out by=, or take wn.Halving()"
        )
    if of.grid.size > MOST_POINTS:
        raise ParameterError(
            f"the column has {of.grid.size:,} numbers, and at most {MOST_POINTS:,} are counted; "
            "take wn.Halving() or wn.Joint()"
        )
    column = of.schema.columns[of.place]
    schema = Schema((column,))
    about = replace(public, schema=schema, cells=schema.cells, bound=None)
    release = Release(
        prefixes(column.name),
        epsilon=asked.epsilon,
        delta=asked.delta,
        method=Tables(),
        budget=asked.budget,
    )
    return CumulativeQuantiles(release.plan(about), tuple(sorted(parts)), whole, of.grid.size)
