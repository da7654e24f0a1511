"""Everything a selection plan is about except epsilon, and what follows for each epsilon."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from winnow.core.laws import Law
from winnow.core.utility import Utility
from winnow.errors import ParameterError
from winnow.select.mechanisms.large_margin import LargeMargin
from winnow.select.mechanisms.lipschitz import LipschitzMechanism
from winnow.select.plan import bounds
from winnow.select.plan.bounds import set_chance, top_set_chance
from winnow.select.plan.chances import Floats, GapProfile, win_chances
from winnow.select.plan.margin import margin_chances

_ACCURATE = 1e-9  # below it a chance is called exact


@dataclass(frozen=True)
class Outcome:
    """What to expect on a gap profile at one epsilon."""

    chance: float
    error_quantile: float
    expected_error: float | None
    caution: str | None
    """Why the numbers are on the safe side rather than exact, if so."""


@dataclass(frozen=True)
class Bound:
    """What is guaranteed at one epsilon on any data with that many candidates."""

    error: float
    statement: str
    citation: str


@dataclass(frozen=True, eq=False)
class Setting:
    """The public question: a mechanism, its sensitivity, candidates, perhaps their gaps."""

    mechanism: LipschitzMechanism | LargeMargin
    """With any epsilon: only its other parameters are used."""
    utility: Utility
    candidates: int
    profile: GapProfile | None
    confidence: float

    @property
    def law(self) -> Law | None:
        """The noise of the Lipschitz family; None for the large margin mechanism."""
        return None if isinstance(self.mechanism, LargeMargin) else self.mechanism.noise

    @property
    def k(self) -> int:
        """How many candidates are reported."""
        return 1 if isinstance(self.mechanism, LargeMargin) else self.mechanism.kappa

    @property
    def kind(self) -> str:
        """How its chances are computed: "one", "softmax", "set" or "margin"."""
        if isinstance(self.mechanism, LargeMargin):
            return "margin"
        if self.k > 1:
            return "set"
        return "softmax" if self.law is Law.GUMBEL else "one"

    @property
    def best(self) -> int:
        """How many candidates share the best score: one, unless the gaps say more."""
        return 1 if self.profile is None else self.profile.best

    @property
    def sensitivity(self) -> float:
        """What shift-invariant selection pays for [Canonical, Thm A.15]."""
        return float(self.utility.half_width)

    def scale(self, epsilon: float) -> float:
        """The c of c * score + noise: epsilon/(2 k sensitivity)."""
        return epsilon / (2.0 * self.k * self.sensitivity)

    def outcome(self, epsilon: float) -> Outcome | None:
        """The chance of the true answer and the law of the error, where gaps are given."""
        profile = self.profile
        if profile is None:
            return None
        if self.k > 1:
            return self._set_outcome(profile, epsilon)
        chances, missed = self._winners(profile, epsilon)
        wanted = self.confidence * (1.0 - 1e-12)  # more than the rounding of a sum
        index = int(np.searchsorted(np.cumsum(chances), wanted))
        caution = None
        if missed > _ACCURATE:
            caution = (
                f"not all ranks were visited: the chance is a lower bound, too low by {missed:.1e} "
                "at most, and the errors are upper bounds"
            )
        return Outcome(
            float(chances[0]),
            float(profile.values[min(index, chances.size - 1)]),
            float(chances @ profile.values),
            caution,
        )

    def success(self, epsilon: float, error: float) -> float:
        """Pr[the error is at most this] on the profile; for k > 1 a lower bound."""
        profile = self.profile
        assert profile is not None
        if self.k == 1:
            chances, _ = self._winners(profile, epsilon)
            return float(chances[profile.values <= error].sum())
        exact = self._set_chance(profile, epsilon)
        if error == 0.0:
            return exact
        beyond = int(np.searchsorted(profile.values, profile.kth_gap(self.k) + error, "right"))
        return max(exact, self._beats(profile, epsilon, beyond))

    def bound(self, epsilon: float) -> Bound:
        """The bound of a theorem on the error at the confidence."""
        miss = 1.0 - self.confidence
        if isinstance(self.mechanism, LargeMargin):
            return self._margin_bound(self.mechanism, epsilon, miss)
        error = self._bound_multiple / self.scale(epsilon)
        data = f"for any data with |OPT| = {self.best:,}" if self.best > 1 else "for any data"
        if self.k == 1 and self.law in (Law.GUMBEL, Law.EXPONENTIAL):
            citation = "FastMWEM, Thm 2.3; Canonical, Lemma A.19"
            if self.law is Law.EXPONENTIAL:
                citation += "; permute-and-flip is never worse: McKenna-Sheldon 2020"
            ratio = "d" if self.best == 1 else "d/|OPT|"
            return Bound(
                error, f"2 Delta/epsilon (ln({ratio}) + ln(1/{miss:.6g})), {data}", citation
            )
        pairs, data = ("(d - |OPT|)", data) if self.k == 1 else ("k (d - k)", "for any data")
        return Bound(
            error,
            f"{pairs} Pr[Z - Z' >= epsilon error/(2 k Delta)] = {miss:.6g}, {data}",
            "union bound, proved in winnow.select.plan.bounds",
        )

    def worst_case(self, epsilon: float) -> float | None:
        """The least error bound that holds for all data (see winnow.select.plan.bounds)."""
        if self.law is None:
            return None
        return self._worst_multiple / self.scale(epsilon)

    def epsilon_for_bound(self, error: float) -> float:
        """The smallest epsilon whose theorem bound, on any data, is at most this error."""
        if self.law is None:
            return self._margin_everybody * self.sensitivity / error
        return self._bound_multiple * 2.0 * self.k * self.sensitivity / error

    def epsilon_for_success(self, chance: float, error: float) -> float:
        """The smallest epsilon with Pr[error at most this] >= chance on the profile.

        The probability grows with epsilon for the Lipschitz family (a larger epsilon moves
        good candidates up and bad ones down). For the large margin mechanism that is not
        proven: the result reaches the target, and a smaller epsilon might too. 0 means
        that a blind draw reaches it.
        """
        profile = self.profile
        assert profile is not None
        reference = error if self.k == 1 else error + profile.kth_gap(self.k)
        beyond = profile.values[profile.values > reference] - reference
        if beyond.size == 0:
            return 0.0
        start = 2.0 * self.k * self.sensitivity / float(beyond[0])
        return _smallest(lambda epsilon: self.success(epsilon, error) >= chance, start)

    @cached_property
    def _bound_multiple(self) -> float:
        assert self.law is not None
        miss = 1.0 - self.confidence
        if self.k == 1 and self.law in (Law.GUMBEL, Law.EXPONENTIAL):
            return bounds.exponential_mechanism(self.candidates, self.best, miss)
        return bounds.union(self.law, self.candidates, self.best, self.k, miss)

    @cached_property
    def _worst_multiple(self) -> float:
        assert self.law is not None
        miss = 1.0 - self.confidence
        return bounds.worst_case(self.law, self.candidates, self.best, self.k, miss)

    @property
    def _margin_everybody(self) -> float:
        """epsilon times the bound of the large margin mechanism when l* is everybody."""
        return 6.0 * math.log(2.0 * self.candidates / (1.0 - self.confidence))

    def _margin_bound(self, mechanism: LargeMargin, epsilon: float, miss: float) -> Bound:
        bound = bounds.large_margin(
            self.candidates,
            self.profile,
            self.sensitivity,
            epsilon,
            float(mechanism.delta),
            mechanism.thresholds,
            miss,
        )
        if bound.margin is None:
            condition = f"l* = {bound.rank:,}: all candidates, so for any data"
        else:
            condition = (
                f"l* = {bound.rank:,}, for data whose candidate l* + 1 lies more than "
                f"{bound.margin * self.sensitivity:.6g} behind the best, as it does here"
            )
        return Bound(
            bound.error * self.sensitivity,
            f"6 Delta/epsilon ln(2 l*/{miss:.6g}) with {condition}",
            "LMM, Thm 3, with ln(3/eta) for the printed ln(3/n)",
        )

    def _winners(self, profile: GapProfile, epsilon: float) -> tuple[Floats, float]:
        """The chance of every distinct gap, and by how much the first may be too low."""
        if isinstance(self.mechanism, LargeMargin):
            chances = margin_chances(
                profile,
                self.sensitivity,
                epsilon,
                float(self.mechanism.delta),
                self.mechanism.thresholds,
            )
            return chances.chances, chances.missed
        scores, counts = self._scaled(profile, epsilon)
        return win_chances(self.mechanism.noise, scores, counts), 0.0

    def _scaled(self, profile: GapProfile, epsilon: float) -> tuple[Floats, Floats]:
        with np.errstate(over="ignore"):
            gaps = np.minimum(self.scale(epsilon) * profile.values, 1e300)
        return -gaps, profile.counts.astype(np.float64)

    def _set_chance(self, profile: GapProfile, epsilon: float) -> float:
        assert self.law is not None
        return top_set_chance(self.law, *self._scaled(profile, epsilon), self.k)

    def _beats(self, profile: GapProfile, epsilon: float, beyond: int) -> float:
        """The chance that the k best beat all of the groups from ``beyond`` on."""
        assert self.law is not None
        if beyond >= profile.values.size:
            return 1.0
        scores, counts = self._scaled(profile, epsilon)
        last = int(np.searchsorted(np.cumsum(counts), self.k))
        inside = counts[: last + 1].copy()
        inside[last] = self.k - counts[:last].sum()
        return set_chance(
            self.law, (scores[: last + 1], inside), (scores[beyond:], counts[beyond:])
        )

    def _set_outcome(self, profile: GapProfile, epsilon: float) -> Outcome:
        chance = self._set_chance(profile, epsilon)
        low = int(np.searchsorted(np.cumsum(profile.counts), self.k))
        kth, high = float(profile.values[low]), profile.values.size - 1
        if chance >= self.confidence:
            high = low
        while low < high:
            middle = (low + high) // 2
            if self._beats(profile, epsilon, middle + 1) >= self.confidence:
                high = middle
            else:
                low = middle + 1
        caution = "for k > 1 the error quantile is an upper bound, and no expected error is given"
        return Outcome(chance, float(profile.values[high]) - kth, None, caution)


def _smallest(reached: Callable[[float], bool], start: float) -> float:
    """The least epsilon that reaches the target, to about 1e-10; 0 if every one does."""
    low, high = start, start
    for _ in range(64):
        if reached(high):
            break
        low, high = high, 2.0 * high
    else:
        raise ParameterError(
            f"no epsilon up to {high:.1e} reaches the target; lower the target or the confidence"
        )
    if low == high:
        for _ in range(64):
            low /= 2.0
            if not reached(low):
                break
            high = low
        else:
            return 0.0
    for _ in range(34):
        middle = math.sqrt(low * high)
        if reached(middle):
            high = middle
        else:
            low = middle
    return high
