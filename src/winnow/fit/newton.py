"""One fit to noisy numbers, ended by a certificate in units of noise.

Measured are fractions y_i = (A p)_i + s_i z_i, A linear in a distribution p. The fit minimises

    F(p) = tau KL(p | q) + sum over i of ((A p)_i - y_i)^2 / (2 s_i^2)

over all distributions. The minimiser is p ~ q exp(A' mu), and mu is that of the dual

    D(mu) = log sum q exp(A' mu) - mu.y + tau/2 sum of s_i^2 mu_i^2,    g = A p - y + tau s^2 mu,

which has no constraints and is strongly convex, whatever the numbers say: tables may contradict
each other, and have cells that nobody is in.

Certificate. tau D is minus the dual objective, so by weak duality, with p from mu,

    F(p) - min F <= F(p) + tau D(mu) = sum of g_i^2 / (2 s_i^2).

The fit is ended when that gap is at most ``PART`` of the sum of m/(m + tau s^2), about the number
of cells that the numbers determine against the pull. F is strongly convex in A p / s with modulus
1, so the fitted numbers are then proven to lie within sqrt(2 PART) = 0.1 standard errors of the
best ones, root mean square over these cells.

Newton's method, H = Cov + tau s^2 by conjugate gradients (a product is one pass through the model),
preconditioned by the diagonal. Tables overlap: of all mu that are the same function the one of
least weight is kept (``Overlaps.lightest``). A sweep of softened proportional fitting, each table
solved exactly with the others fixed, comes first, after a new pull, and after a short step: it
revives cells of probability near 0, where Newton's model of D is wrong. D only falls.

The pull tau is set by the evidence [MacKay 1992]: in a Gaussian approximation tau KL(p | q) is a
prior under which KL has the mean d/(2 tau), d the number of parameters that the numbers determine.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

PART = 0.005
"""Of the gap: answers within 0.1 standard errors of the best."""
FIRST_PULL = 1000.0
"""tau before anything is known; the first sweep gives the next."""
WEAK = 0.02
"""The least pull, times the largest standard error s. A pull moves a cell by tau s log(m/q)
standard errors, so by 0.02 for each nat between model and start. With a weaker one, cells that
nobody is in, measured below 0, have log probabilities by the thousand, and steps are short. Chosen
on two generated tables (functions of columns; structural zeros), one draw each at noise of .2 to 10
rows, among .003 (did not end in 300 steps on the first), .01 (about twice the time there) and .03;
errors hardly differed."""
_MOST_PULL = 1e7
_SMALLEST = 1e-300
"""Probabilities below it are 0 in floating point."""
_LEAST_DIVERGENCE = 0.01
_SETTLED, _PULLS, _NEAR = 1.2, 6, 20.0
"""A pull that changes by less than this factor stays; it is set anew at most so often, at first and
whenever the gap is within so many times its goal."""
_FIRST_PRODUCTS, _MOST_PRODUCTS = 20, 1000
"""Of conjugate gradients in one step; doubled after each whole step."""
_SHORT = 0.3
"""A step that is shorter calls for a sweep."""
_ARMIJO, _BACKTRACKS, _ROUNDING = 1e-4, 40, 1e-13
_MOST_STEPS = 300
WORK = 3 * 10**9
"""The most cells that all passes of a fit go through, 10 to 20 seconds: it ends there, certified
for what it is. A number of cells and not of seconds, so that the same tables give the same fit."""


class NoisyNumbers(Protocol):
    """Noisy numbers as functions of a model p ~ q exp(A' mu)."""

    observed: Floats
    """y."""
    variances: Floats
    """s^2."""
    joint: Floats
    """By how much each number tells of what q does not: its share of a parameter."""
    visited: int
    """The cells that a pass goes through."""
    tables: tuple[slice, ...]
    """The numbers that are the cells of one table, which a sweep can solve for: noise is alike."""

    def propagate(self, mu: Floats) -> tuple[float, Floats]:
        """log of the sum of q exp(A' mu), and A p."""

    def tangent(self, direction: Floats) -> Floats:
        """How A p moves with mu, about the last ``propagate``."""

    def spread(self, numbers: Floats) -> Floats:
        """About the variance of each number's function under the model with these numbers."""

    def lightest(self, x: Floats) -> Floats:
        """Of all x that are one function A' x, that with the least sum of s^2 x^2."""


@dataclass(frozen=True, eq=False)
class Fitted:
    """Where a fit ended; the model is that of the last ``propagate``."""

    mu: Floats
    numbers: Floats
    """A p."""
    loss: float
    divergence: float
    gap: float
    goal: float
    pull: float
    steps: int

    @property
    def ended(self) -> bool:
        """Whether the gap reached its goal."""
        return self.gap <= self.goal

    @property
    def objective(self) -> float:
        """F."""
        return self.loss + self.pull * self.divergence


@dataclass(frozen=True, eq=False)
class _Point:
    mu: Floats
    value: float
    numbers: Floats
    gradient: Floats


class Newton:
    """Minimises D for some numbers."""

    def __init__(self, measured: NoisyNumbers, mu: Floats, tau: float | None, work: int) -> None:
        from winnow.fit.kernels.tree_passes import dot

        self._dot = dot
        self._measured = measured
        self._tau = FIRST_PULL if tau is None else tau
        self._left = work
        self._least = WEAK / math.sqrt(float(measured.variances.max(initial=_SMALLEST)))
        self._log_q = self._pass(np.zeros_like(mu))[0]
        self._mu = mu

    def run(self, *, part: float, pulls: int) -> Fitted:
        """Until the gap is at most ``part`` of the cells determined; ``pulls``: how often tau is
        set anew by the evidence."""
        steps, most = 0, _FIRST_PRODUCTS
        point = self._swept(self._mu)
        left = waiting = pulls
        early = bool(self._measured.tables)
        while True:
            gap = self._gap(point.gradient)
            goal = part * float(self._known(point.numbers).sum())
            if waiting and (early or gap <= _NEAR * goal):
                pull = self._evidence(point)
                waiting = waiting if early else 0
                early = False
                if max(pull, self._tau) > _SETTLED * min(pull, self._tau):
                    self._tau, left = pull, left - 1
                    waiting = left
                    point, most = self._swept(point.mu), _FIRST_PRODUCTS
                    continue
            if gap <= goal or steps >= _MOST_STEPS or self._left <= 0:
                break
            direction = self._solved(point, max(goal, gap) / 4.0, most)
            length, moved_to = self._searched(point, direction)
            if moved_to is None:
                break  # rounding hides every gain
            steps += 1
            most = min(_MOST_PRODUCTS, 2 * most) if length == 1.0 else _FIRST_PRODUCTS
            point = self._swept(moved_to.mu) if length < _SHORT else moved_to
        log_z, numbers = self._measured.propagate(point.mu)
        away = numbers - self._measured.observed
        return Fitted(
            point.mu,
            numbers,
            0.5 * self._dot(away, away / self._measured.variances),
            max(0.0, self._dot(point.mu, numbers) - log_z + self._log_q),
            gap,
            goal,
            self._tau,
            steps,
        )

    def _pass(self, mu: Floats) -> tuple[float, Floats]:
        self._left -= self._measured.visited
        return self._measured.propagate(mu)

    def _at(self, mu: Floats) -> _Point:
        given, soft = self._measured, self._tau * self._measured.variances * mu
        log_z, numbers = self._pass(mu)
        value = log_z - self._log_q - self._dot(mu, given.observed) + 0.5 * self._dot(mu, soft)
        return _Point(mu, value, numbers, numbers - given.observed + soft)

    def _gap(self, gradient: Floats) -> float:
        return 0.5 * float(self._dot(gradient, gradient / self._measured.variances))

    def _known(self, numbers: Floats) -> Floats:
        """For each cell, how much of what is known of it comes from the numbers."""
        spread = np.maximum(self._measured.spread(numbers), 0.0)
        return np.asarray(spread / (spread + self._tau * self._measured.variances))

    def _evidence(self, point: _Point) -> float:
        """The pull under which a divergence of this size is what to expect."""
        known = float(self._dot(self._measured.joint, self._known(point.numbers)))
        if known <= 0.0:
            return self._tau
        log_z = (
            point.value
            + self._dot(point.mu, self._measured.observed)
            - 0.5 * self._tau * (self._dot(point.mu, self._measured.variances * point.mu))
        )
        divergence = self._dot(point.mu, point.numbers) - log_z
        return pull_of(known, divergence, self._least)

    def _swept(self, mu: Floats) -> _Point:
        """Each table in turn: its block of the dual solved exactly."""
        given, mu = self._measured, mu.copy()
        for place in given.tables:
            y, soft = given.observed[place], self._tau * float(given.variances[place][0])
            numbers = self._pass(mu)[1][place]
            others = np.log(np.maximum(numbers, _SMALLEST)) - mu[place]
            mu[place] = (y - softened(y, others, soft)) / soft
        return self._at(given.lightest(mu))

    def _solved(self, point: _Point, goal: float, most: int) -> Floats:
        """About -H^-1 g, until the gap of what is left is below the goal."""
        given, soft = self._measured, self._tau * self._measured.variances
        diagonal = given.spread(point.numbers) + soft
        step, left, along, before = np.zeros_like(soft), -point.gradient, np.zeros_like(soft), 0.0
        for _ in range(most):
            ahead = given.lightest(left / diagonal)
            now = self._dot(left, ahead)
            along = ahead + (now / before if before > 0.0 else 0.0) * along
            curved = given.tangent(along) + soft * along
            self._left -= given.visited
            bend = self._dot(along, curved)
            if not (now > 0.0 and bend > 0.0):
                break
            step = step + (now / bend) * along
            left = left - (now / bend) * curved
            before = now
            if self._gap(left) <= goal or self._left <= 0:
                break
        return step

    def _searched(self, point: _Point, direction: Floats) -> tuple[float, _Point | None]:
        """A point along the direction that is lower in Armijo's sense, and how far it is."""
        slope, length = self._dot(point.gradient, direction), 1.0
        if not slope < 0.0:
            return 0.0, None
        for _ in range(_BACKTRACKS):
            tried = self._at(point.mu + length * direction)
            allowed = _ARMIJO * length * slope + _ROUNDING * (1.0 + abs(point.value))
            if tried.value <= point.value + allowed:
                return length, tried
            there = self._dot(tried.gradient, direction)
            secant = slope / (slope - there) if there > slope else 0.5
            length *= min(0.5, max(0.3, secant))
        return 0.0, None


_SOFTENED_STEPS, _SOFTENED = 60, 1e-13


def pull_of(known: float, divergence: float, least: float) -> float:
    """The pull under which so many parameters diverge so much, in nats; at least ``least``."""
    pull = known / (2.0 * max(divergence, _LEAST_DIVERGENCE))
    return float(min(max(pull, least), _MOST_PULL))


def softened(y: Floats, log_q: Floats, g: float) -> Floats:
    """The positive m of sum 1 with m + g log(m / q) = y - l for one l in all cells.

    That is the least of g KL(m | q) + |m - y|^2 / 2. Each cell is a Wright omega function of l;
    their sum is convex and falls in l, so Newton's method from below goes up to the root.
    """
    from scipy.special import wrightomega  # takes a while to load

    base = y / g + log_q - math.log(g)
    level = float(base.max()) - 1.0 / g + math.log(g)  # one cell alone has the sum 1 there
    for _ in range(_SOFTENED_STEPS):
        w = wrightomega(base - level)
        over = g * float(w.sum()) - 1.0
        if over <= _SOFTENED:
            break
        level += over / (g * float((w / (1.0 + w)).sum()))
    return np.asarray(w / w.sum())


def fitted(
    measured: NoisyNumbers,
    *,
    start: Floats | None = None,
    tau: float | None = None,
    part: float = PART,
    pulls: int | None = None,
    work: int = WORK,
) -> Fitted:
    """The fit, from coordinates ``start``; ``tau``: the pull to start from, or to keep where
    ``pulls`` is 0; ``pulls``: how often the evidence may set it anew."""
    mu = np.zeros(len(measured.observed)) if start is None else start
    return Newton(measured, mu, tau, work).run(part=part, pulls=_PULLS if pulls is None else pulls)
