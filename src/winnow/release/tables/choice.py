"""Which tables to measure, and how precisely: the choice, from public numbers only.

Plain noise on the cells of every table is always one of the strategies, and nothing is chosen
that is predicted to be worse in what was asked for: the mean squared error, the largest error, or,
between them, the largest and the mean error both.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from winnow.core.schema import Schema
from winnow.core.workloads.forms import CodeRanges
from winnow.release.tables.errors import Errors, Spread, likelihoods, predicted
from winnow.release.tables.estimates import noise_variance, precision_of
from winnow.release.tables.matrices import best_matrices
from winnow.release.tables.measured import NoisyForm, Space, SummedColumn, TableForm
from winnow.release.tables.mechanism import MeasureTables, joint_size
from winnow.release.tables.parts import TablePart
from winnow.release.tables.split import components, joint_tables, laplace_split
from winnow.release.tables.strategy import Geometry, combined
from winnow.release.tables.trees import Tree, candidates, flat
from winnow.release.terms import LARGE, ReleaseTerms

Floats = NDArray[np.float64]

OBJECTIVES = ("balanced", "mean", "max")
PLAIN = "plain noise"
_GRID = 1 << 10
"""Laplace scales are multiples of one over this."""

_REWEIGHTED, _STEP = 40, 0.1
"""How often weights are changed for the objective 'max', and how far at first: on the domains of
ADULT and of a lender's table with all 1-, 2- and 3-way tables 15 steps of it come within .1 % of
where they end, and steps of .2 overshoot."""

_SAMPLED = 2048
"""Trees are compared on so many of the ranges."""

MOST_PURE = 1_000
"""With more tables, and a delta, Laplace noise is not looked at: it grows with their number,
Gaussian noise with its root, and is less unless epsilon is in the thousands."""

_SMALLEST_GAIN = 1e-9
"""Of the largest gain: less is rounding."""
_NEARLY = 1 - Fraction(1, 2**28)
"""Of what is allowed: more than the rounding of sensitivities."""
_LEAST_SCALE = Fraction(1, 16)
"""Of Laplace noise: from here on nearly all of it is 0."""


@dataclass(frozen=True)
class Aim:
    """What a strategy has to fit into, and what it is to keep small."""

    terms: ReleaseTerms
    objective: str = "balanced"
    values: tuple[SummedColumn, ...] = ()
    joint: bool = True
    """Whether tables of several tables' columns may be measured instead."""

    @property
    def total_public(self) -> bool:
        """Whether everybody knows the number of rows."""
        return self.terms.total is not None


@dataclass(frozen=True, eq=False)
class Strategy:
    """What is measured, with its noise, and the errors that follow for the counts."""

    name: str
    geometry: Geometry
    mechanism: MeasureTables
    spreads: Sequence[Spread]
    """The standard errors of the counts of each table."""

    @cached_property
    def errors(self) -> Errors:
        """What to expect of all answers."""
        return predicted(self.spreads, self.mechanism.law)

    @cached_property
    def each(self) -> tuple[Errors, ...]:
        """What to expect of each table."""
        return tuple(predicted([one], self.mechanism.law) for one in self.spreads)


def choose(parts: tuple[TablePart, ...], aim: Aim) -> list[Strategy]:
    """All strategies, the one to take first."""
    plain = Geometry(parts, _flat_trees(parts))
    laws = aim.terms.laws
    if len(parts) > MOST_PURE and "gaussian" in laws:
        laws = ("gaussian",)
    cells = {law: _cells(plain, law, aim) for law in laws}
    noise = {law: _plain(each) for law, each in cells.items()}
    strategies = list(noise.values())
    best = min(strategies, key=lambda each: score(each, aim.objective))
    for law in laws:
        strategies.append(cells[law])
        for geometry in _geometries(plain, law, aim):
            if law == "laplace":
                strategies.append(_split(geometry, aim, ()))
                if aim.joint and (joint := joint_tables(geometry)):
                    strategies.append(_split(geometry, aim, joint))
                    strategies += _joint(geometry, aim, joint)
            else:
                strategies += _residuals(geometry, aim, noise[law])

    def key(each: Strategy) -> tuple[bool, float]:
        worse = _worse(each, best, aim.objective)
        return each.name == PLAIN or worse, score(each, aim.objective)

    return sorted(strategies, key=key)


def score(each: Strategy, objective: str) -> float:
    """What is minimised; of the mean error its root mean square, which has an optimum."""
    errors = each.errors
    if objective == "balanced":
        return math.sqrt(errors.largest * errors.mean)
    return errors.largest if objective == "max" else errors.rms


def _worse(each: Strategy, than: Strategy, objective: str) -> bool:
    """Whether what is minimised is predicted to be worse; between both errors, either of them."""
    bound = 1 + 1e-9
    if objective != "balanced":
        return score(each, objective) > bound * score(than, objective)
    return (
        each.errors.largest > bound * than.errors.largest
        or each.errors.mean > bound * than.errors.mean
    )


def _flat_trees(parts: tuple[TablePart, ...]) -> dict[int, Tree]:
    return {c: flat(part.schema.shape[c]) for part in parts for c in part.columns}


def _geometries(plain: Geometry, law: str, aim: Aim) -> Iterator[Geometry]:
    """Columns without an order, the best trees for those with ranges, and matrices of their own."""
    yield plain
    parts, trees = plain.parts, dict(plain.trees)
    ranged: dict[int, list[TablePart]] = {}
    for part in parts:
        for column, axis in zip(part.columns, part.axes, strict=True):
            if axis is not None:
                ranged.setdefault(column, []).append(_sampled(part.schema, axis))
    if not ranged:
        return
    if law == "gaussian" and not aim.values:
        weights = _weights(parts, aim.objective)
        geometry = best_matrices(plain, ranged, lambda each: _cost(each, law, aim), weights)
        if geometry is not None:
            yield geometry
            if any(len(part.columns) > 1 and not part.of_cells for part in parts):
                return  # trees are no better, and of several columns have very many subspaces
    for column, own in ranged.items():
        costs = [
            (_cost(Geometry(tuple(own), {column: tree}), law, aim), place, tree)
            for place, tree in enumerate(candidates(trees[column].size))
        ]
        trees[column] = min(costs)[2]
    if any(tree.levels > 1 for tree in trees.values()):
        yield Geometry(parts, trees)


def _sampled(schema: Schema, axis: CodeRanges) -> TablePart:
    """Some of the ranges of one column, as a part of its own."""
    step = -(-len(axis.starts) // _SAMPLED)
    some = CodeRanges(axis.column, axis.starts[::step], axis.stops[::step])
    return TablePart(schema, (axis.column,), (some,))


def _cost(geometry: Geometry, law: str, aim: Aim) -> float:
    """The weighted sum of variances that the best strategy on these trees has, up to a factor."""
    gains = _gains(geometry, _weights(geometry.parts, aim.objective), aim)
    if law == "gaussian":
        return sum(math.sqrt(gain * geometry.price(space)) for space, gain in gains.items()) ** 2
    split = laplace_split(geometry, gains)
    precision = combined(geometry, {place: e * e for place, e in split.items()})
    return sum(gain / precision[space] for space, gain in gains.items())


def _gains(geometry: Geometry, weights: Floats, aim: Aim) -> dict[Space, float]:
    """What each subspace is worth; a public total is worth nothing."""
    gains = geometry.gains(weights)
    if aim.total_public:
        del gains[()]
    least = _SMALLEST_GAIN * max(gains.values(), default=1.0)
    return {space: max(gain, least) for space, gain in gains.items()}


def _weights(parts: tuple[TablePart, ...], objective: str) -> Floats:
    """How much the variance of one answer of each table counts."""
    power = 0.0 if objective == "mean" else -0.5
    return np.array([part.size**power for part in parts])


Entry = tuple[TableForm, float]
"""A table of counts, and its relative precision (Gaussian) or inverse scale (Laplace)."""


def _fitted(geometry: Geometry, entries: list[Entry], law: str, aim: Aim) -> MeasureTables:
    """The least noise, in these proportions, that the budget allows; values get equal shares."""
    layers: list[list[tuple[TableForm, Fraction, int | None]]] = []
    layers.append([(table, Fraction(weight), None) for table, weight in entries])
    for place, values in enumerate(aim.values):
        wanted = dict.fromkeys(part.place for part in geometry.parts)
        tables = [TableForm(each, False, values.reach, signed=True) for each in wanted]
        layers.append([(table, Fraction(1, table.reach), place) for table in tables])

    def size(layer: list[tuple[TableForm, Fraction, int | None]]) -> Fraction:
        tables, weights, _ = zip(*layer, strict=True)
        where = (aim.terms.relation, aim.terms.rows_per_person)
        return joint_size(law, tables, geometry.trees, weights, *where)

    together = layers[0]
    if len(layers) > 1:
        together = []
        for layer in layers:
            own = size(layer)
            together += [(table, weight / own, values) for table, weight, values in layer]
    whole = size(together)

    def measured(target: Fraction) -> tuple[NoisyForm, ...]:
        grid = 1 if law == "gaussian" else _GRID
        top, bottom = (whole / target * grid).as_integer_ratio()
        steps = [-(-top * w.denominator // (bottom * w.numerator)) for _, w, _ in together]
        noise = [Fraction(step, grid) for step in steps]
        if law == "laplace":  # below it, noise is nearly always 0 and its variance no float
            noise = [max(each, _LEAST_SCALE) for each in noise]
        pairs = zip(together, noise, strict=True)
        return tuple(NoisyForm(table, each, values) for (table, _, values), each in pairs)

    if law == "laplace":
        mechanism = measured(aim.terms.exact_epsilon)
    else:  # the larger the least variance, the more is allowed; and that lowers the variances
        mechanism = measured(aim.terms.squared_ratio(Fraction(1)))
        least = min(each.noise for each in mechanism)
        lowered = least * aim.terms.squared_ratio(Fraction(1)) / aim.terms.squared_ratio(LARGE)
        target = aim.terms.squared_ratio(max(Fraction(1), Fraction(math.floor(lowered))))
        mechanism = measured(target)
        if size([(each.table, 1 / each.noise, each.values) for each in mechanism]) > target:
            mechanism = measured(target * _NEARLY)  # rounding up twice went past it
    trees = tuple(sorted(geometry.trees.items()))
    return MeasureTables(trees, mechanism, law, aim.values, aim.terms.rows_per_person)


def _strategy(name: str, geometry: Geometry, entries: list[Entry], law: str, aim: Aim) -> Strategy:
    mechanism = _fitted(geometry, entries, law, aim)
    precision = precisions(geometry, mechanism, total_public=aim.total_public)
    return Strategy(name, geometry, mechanism, geometry.spreads(precision, law))


def precisions(
    geometry: Geometry, mechanism: MeasureTables, *, total_public: bool, values: int | None = None
) -> dict[Space, float]:
    """The precision of every subspace that a mechanism gives."""
    own = [each for each in mechanism.measured if each.values == values]
    sums = [each for each in own if not each.table.residual]
    law = mechanism.law
    by_space = combined(
        geometry, {each.table.place: 1 / noise_variance(each.noise, law) for each in sums}
    )
    for each in own:
        if each.table.residual:
            for space, precision in precision_of(geometry, each, law).items():
                by_space[space] += precision
    if total_public and values is None:
        by_space[()] = math.inf
    return by_space


def _leaves(geometry: Geometry) -> list[Space]:
    return list(dict.fromkeys(part.place for part in geometry.parts))


def _cells(geometry: Geometry, law: str, aim: Aim) -> Strategy:
    """The cells of every table that is asked for, with the same noise."""
    entries = [(TableForm(place, False), 1.0) for place in _leaves(geometry)]
    return _strategy(f"cells, {law} noise", geometry, entries, law, aim)


def _split(geometry: Geometry, aim: Aim, joint: Sequence[Space]) -> Strategy:
    """Sums of blocks: all tables and levels in the best proportions, with joint tables or not."""
    weights = _weights(geometry.parts, aim.objective)
    shares = laplace_split(geometry, _gains(geometry, weights, aim), joint)
    entries = [(TableForm(place, False), share) for place, share in shares.items()]
    title = _title(geometry) + (", also joint tables" if joint else "")
    return _strategy(f"{title}, laplace noise", geometry, entries, "laplace", aim)


def _joint(geometry: Geometry, aim: Aim, joint: Sequence[Space]) -> Iterator[Strategy]:
    """One table of all columns for each group of tables that share columns."""
    groups = components(part.columns for part in geometry.parts)
    places = [tuple((column, 0) for column in columns) for columns in groups]
    if set(places) <= {*joint, *_leaves(geometry)}:
        entries = [(TableForm(place, False), 1.0) for place in places]
        yield _strategy("joint cells, laplace noise", geometry, entries, "laplace", aim)


def _title(geometry: Geometry) -> str:
    deep = any(tree.levels > 1 for tree in geometry.trees.values())
    return f"{'blocks' if deep else 'cells'} with the best shares of the budget"


def _plain(cells: Strategy) -> Strategy:
    """Noise on each cell of each table, the same everywhere, and nothing made of it."""
    geometry, law = cells.geometry, cells.mechanism.law
    noise = {each.table.place: noise_variance(each.noise, law)
             for each in cells.mechanism.measured if each.values is None}  # fmt: skip
    spreads = []
    for part in geometry.parts:
        variance = noise[part.place]
        if part.of_cells:
            spreads.append(Spread(np.array([math.sqrt(variance)]), part.size))
            continue
        own = Geometry((part,), geometry.trees)
        precision = combined(own, {part.place: 1 / variance})
        largest = geometry.largest(part, precision, law)
        variances = own.variance(0, precision).ravel()
        spreads.append(Spread.of_variances(variances, part.size // len(variances), largest))
    return Strategy(PLAIN, geometry, cells.mechanism, spreads)


def _residuals(geometry: Geometry, aim: Aim, plain: Strategy) -> Iterator[Strategy]:
    """Residual tables in the best proportions, and nearer to plain noise while that is better."""
    spaces = [space for space in geometry.spaces if space or not aim.total_public]
    if not spaces:  # columns of one code: only the number of rows could be told
        return
    gains = _optimal(geometry, aim)
    price = dict(zip(geometry.spaces, geometry.prices.tolist(), strict=True))
    wanted = {space: math.sqrt(gains[space] / price[space]) for space in spaces}
    if not all(isinstance(basis, Tree) for basis in geometry.trees.values()):
        entries = [(TableForm(s, True), _in_integers(geometry, s, wanted[s])) for s in spaces]
        yield _strategy("residuals of matrices, gaussian noise", geometry, entries, "gaussian", aim)
        return
    even = combined(geometry, dict.fromkeys(_leaves(geometry), 1.0))
    top = max(sum(wanted[s] * price[s] for s in spaces), 1e-300)
    base = max(sum(even[s] * price[s] for s in spaces), 1e-300)
    title = "residuals of trees" if "blocks" in _title(geometry) else "residuals"
    for part in (0.0, 0.25, 0.5, 0.75):
        mixed = {s: (1 - part) * wanted[s] / top + part * even[s] / base for s in spaces}
        entries = [(TableForm(s, True), _in_integers(geometry, s, mixed[s])) for s in spaces]
        strategy = _strategy(f"{title}, gaussian noise", geometry, entries, "gaussian", aim)
        yield strategy
        if not _worse(strategy, plain, aim.objective):
            return


def _in_integers(geometry: Geometry, space: Space, precision: float) -> float:
    """The precision of whole residuals that gives one of orthonormal coordinates."""
    return precision / math.prod(geometry.trees[column].scale(level) for column, level in space)


def _optimal(geometry: Geometry, aim: Aim) -> Mapping[Space, float]:
    """The gains for the objective; for 'max', weights follow where the largest error may be."""
    weights = _weights(geometry.parts, aim.objective)
    best = gains = _gains(geometry, weights, aim)
    if aim.objective != "max" or len(geometry.parts) == 1:
        return gains
    sizes = [_independent(part, geometry) for part in geometry.parts]
    price = dict(zip(geometry.spaces, geometry.prices.tolist(), strict=True))
    least, step = math.inf, _STEP
    for _ in range(_REWEIGHTED):
        precision = {s: math.sqrt(g / price[s]) for s, g in gains.items()}
        cost = sum(precision[s] * price[s] for s in precision)
        precision = {s: p / cost for s, p in precision.items()}
        if aim.total_public:
            precision[()] = math.inf
        worst = np.sqrt(geometry.worst(precision))
        spreads = [Spread(worst[i : i + 1], size) for i, size in enumerate(sizes)]
        largest = predicted(spreads, "gaussian").largest
        if not largest:
            break
        if largest < least:
            least, best = largest, gains
        else:  # too far
            step /= 2
        weights = (weights / weights.max()) ** (1 - step) * likelihoods(worst, largest) ** step
        gains = _gains(geometry, weights, aim)
    return best


def _independent(part: TablePart, geometry: Geometry) -> int:
    """How many independent answers have about the largest error of a part's."""
    return min(part.size, math.prod(geometry.trees[column].size for column in part.columns))
