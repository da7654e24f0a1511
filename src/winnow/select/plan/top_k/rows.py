"""One mechanism on public scores: its chances, its bounds, and its simulated errors."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from winnow.core.noisy_top.filter import Scores
from winnow.core.noisy_top.grid import Grid
from winnow.core.utility import Utility
from winnow.select import errors as topk_error
from winnow.select.counts_margin import counts_margin
from winnow.select.crossing.selection import Selection
from winnow.select.methods import PickMethod
from winnow.select.plan.top_k.known import chances_of, simplest, top_k_bound
from winnow.select.plan.top_k.probabilities import epsilon_for_top
from winnow.select.plan.top_k.subsets import good, great

_METRICS: dict[str, Callable[[Any, Any], NDArray[Any]]] = {
    name: getattr(topk_error, name) for name in topk_error.METRICS
}


@dataclass(frozen=True)
class SimulatedError:
    """An error over the simulated draws."""

    mean: float
    median: float
    upper: float
    """What the share ``confidence`` of the draws did not exceed."""

    @classmethod
    def of(cls, errors: NDArray[Any], confidence: float) -> SimulatedError:
        """The summary of one error per draw."""
        median, upper = np.quantile(errors, (0.5, confidence), method="higher")
        return cls(float(errors.mean()), float(median), float(upper))


@dataclass(frozen=True)
class TopKRow:
    """What to expect of one mechanism. None: not known, not asked for, or without meaning."""

    method: str
    """The word for ``method=``."""
    name: str
    """The mechanism with its public parameters."""
    epsilon: float
    guarantee: str
    ordered: bool
    """Whether a list in order is released; otherwise a set."""
    top_chance: float | None
    """Exactly: that the released items are k of the highest scores, ties included."""
    sequence_chance: float | None
    """Exactly: that the list is in their order, ties included."""
    great_chance: float | None
    good_chance: float | None
    """GREAT-k and GOOD-k of Canonical, by rank; exactly, for canonical."""
    signed_quantile: float | None
    """Exactly: what max_i (c_i - c_{s_i}) does not exceed at the confidence (joint)."""
    tail_quantile: float | None
    """Exactly: how far the worst item lies behind the k-th best at most (canonical)."""
    signed_bound: float | None
    """For any data: a bound on max_i (c_i - c_{s_i}) at the confidence."""
    tail_bound: float | None
    """For any data: a bound on how far the worst item lies behind the k-th best."""
    bound_statement: str
    simulated: dict[str, SimulatedError] | None
    """l_infinity, l_1, k_relative and signed_maximum over the draws."""
    simulated_top: float | None
    """The share of draws that were the top k as a set."""
    simulated_great: float | None
    simulated_good: float | None
    """The shares that were GREAT and GOOD, up to ties."""
    epsilon_for_target: float | None
    for_list: bool
    """Whether that is the epsilon for the list in order, because no chance of the set is known."""
    citation: str
    counts_margin: int | None = None
    """Within what the noise of each released count lies at the confidence, for any data."""
    _made: PickMethod | None = field(default=None, repr=False, compare=False)
    """The method with its options."""

    @property
    def typical_error(self) -> tuple[float, float]:
        """Median and mean of the simulated l_infinity error; it must have been simulated."""
        assert self.simulated is not None
        simulated = self.simulated["l_infinity"]
        return simulated.median, simulated.mean

    def to_dict(self) -> dict[str, Any]:
        """The row as plain data, ready for JSON."""
        plain = {f.name: getattr(self, f.name) for f in fields(self) if f.name[0] != "_"}
        if self.simulated is not None:
            plain["simulated"] = {name: vars(error) for name, error in self.simulated.items()}
        return plain


@dataclass(frozen=True, eq=False)
class PlanQuestion:
    """What all rows of a plan have in common."""

    scores: Scores
    utility: Utility
    k: int
    confidence: float
    target_chance: float | None
    draws: int
    seed: int
    as_lists: bool
    """Whether errors are those of the list in its order; otherwise of the set."""

    def row(self, method: PickMethod, mechanism: Selection, epsilon: float) -> TopKRow:
        """What to expect of the mechanism of a method."""
        scores, utility = self.scores, self.utility
        promised = mechanism.promise(utility.relation)
        grid = Grid.of(utility, scores)
        step = grid.step
        rounding = step if grid.rounds(scores) or grid.utility != utility else 0.0
        bound = top_k_bound(mechanism, len(scores), utility, 1.0 - self.confidence, rounding)
        exactly = chances_of(mechanism, scores, utility)
        signed = exactly.signed_quantile(self.confidence)
        tail = exactly.tail_quantile(self.confidence)
        simulated, shares = self._simulate(mechanism)
        target = self.epsilon_for_target(mechanism)
        return TopKRow(
            method=method.word(),
            name=mechanism.name,
            epsilon=epsilon,
            guarantee=str(mechanism.guarantee(promised)),
            ordered=mechanism.ordered,
            top_chance=exactly.top,
            sequence_chance=exactly.sequence,
            great_chance=exactly.great,
            good_chance=exactly.good,
            signed_quantile=None if signed is None else signed * step,
            tail_quantile=None if tail is None else tail * step,
            signed_bound=bound.signed,
            tail_bound=bound.tail,
            bound_statement=bound.statement,
            simulated=simulated,
            simulated_top=shares[0],
            simulated_great=shares[1],
            simulated_good=shares[2],
            epsilon_for_target=target,
            for_list=target is not None and exactly.top is None,
            citation=f"{promised.citation}; bound: {bound.citation}",
            counts_margin=counts_margin(mechanism, utility, self.confidence),
            _made=method,
        )

    def epsilon_for_target(self, mechanism: Selection) -> float | None:
        """The epsilon that reaches the target chance, where there is a target."""
        if self.target_chance is None:
            return None
        return epsilon_for_top(
            mechanism, self.scores, self.k, self.target_chance, utility=self.utility
        )

    def _simulate(
        self, mechanism: Selection
    ) -> tuple[dict[str, SimulatedError] | None, tuple[float | None, ...]]:
        if self.draws == 0:
            return None, (None, None, None)
        rows = simplest(mechanism).simulate(self.scores, self.utility, self.draws, self.seed)
        if not self.as_lists:
            rows = topk_error.best_order(self.scores, rows)
        errors = {
            name: SimulatedError.of(metric(self.scores, rows), self.confidence)
            for name, metric in _METRICS.items()
        }
        right = [topk_error.is_top_set(self.scores, rows)]
        ranks = (great(self.k), good(self.k))
        right += [topk_error.is_near_top(self.scores, rows, *within) for within in ranks]
        return errors, tuple(float(each.mean()) for each in right)


def shown_chance(exactly: float | None, simulated: float | None) -> str:
    """The exact chance, or the simulated share marked as such."""
    if exactly is None:
        return "-" if simulated is None else f"~{simulated:.3g}"
    if 0 < 1.0 - exactly < 1e-5:
        return f"1 - {1.0 - exactly:.2g}"
    return f"{exactly:.4g}"


def shown_number(value: float | None) -> str:
    """Six digits, or a dash where there is no number."""
    return "-" if value is None else f"{value:.6g}"
