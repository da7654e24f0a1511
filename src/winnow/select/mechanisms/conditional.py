"""Selection that first asks whether the data allow it, and may answer 'none'."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from winnow.core.checks import Real, exact, positive, set_counts
from winnow.core.laws import Law
from winnow.core.noisy_top.draw import noisy_top
from winnow.core.noisy_top.laplace_tests import LaplaceTests
from winnow.core.noisy_top.log_counts import LogCounts
from winnow.core.noisy_top.universe import Drawn, InClasses, Universe, in_classes
from winnow.core.relation import Relation
from winnow.core.tape import Tape
from winnow.core.utility import Utility
from winnow.privacy import Promise, promise
from winnow.select.crossing.selection import Pick, check_delta, check_scale

_ROUND_UP = 1 + 2.0**-40


@dataclass(frozen=True)
class DistanceToInstability(Pick):
    """Release the best candidate if it would stay the best after many people changed, else none.

    The distance to instability is the gap s(1) - s(2) in units of the utility's width w; with
    Z ~ Lap(1/epsilon) the best candidate is released if  gap/w + Z > 1 + ln(1/(2 delta))/epsilon.
    [Smith-Thakurta 2013, the stability mechanism]

    Formal guarantees
        (epsilon, delta)-DP under the relation of the utility.

        Proof. Between neighbours all counts move within one interval of length w, so the gap
        moves by at most w, and whether the test passes is epsilon-DP by the Laplace mechanism.
        If neighbours have the same best candidate, the answer is that outcome, renamed. If
        not, the best of one was overtaken by another, so its gap is at most w, and it passes
        with probability at most Pr[Z > ln(1/(2 delta))/epsilon] = delta; the same holds for the
        other. So every set of answers without 'none' has probability at most delta, and 'none'
        is epsilon-DP. Equal counts have gap 0 <= w, whichever of them comes first.

        It needs no list of items: candidates that nobody has are dummies of count 0, and a
        dummy is released as 'none'.
    """

    epsilon: Real
    delta: Real
    title: ClassVar[str] = "distance-to-instability"
    endless: ClassVar[bool] = True

    def __post_init__(self) -> None:
        positive(epsilon=self.epsilon)
        check_delta(self.delta)

    @property
    def name(self) -> str:
        """What the receipt calls it."""
        return self.title

    def promise(self, relation: Relation) -> Promise:
        """What one release is charged, and why."""
        return promise(
            Law.LAPLACE, "distance-to-instability", relation, epsilon=self.epsilon, delta=self.delta
        )

    def check_public(self, utility: Utility, total: int | None) -> None:
        """Refuse what cannot be released, before anything is charged."""
        check_scale(exact("epsilon", self.epsilon) / utility.width)

    def threshold(self) -> float:
        """In units of the width, rounded up: a higher one is at least as private."""
        epsilon, delta = float(exact("epsilon", self.epsilon)), float(exact("delta", self.delta))
        return (1.0 + max(0.0, math.log(0.5 / delta)) / epsilon) * _ROUND_UP

    def _draw(self, universe: Universe, utility: Utility, tape: Tape) -> Drawn:
        """The best candidate, if the test passes."""
        listed = in_classes(universe)
        if listed.total != 1:
            gap = _gap(listed, int(min(2.0**62, 2 * self.threshold() * float(utility.width))))
            if not _passes(
                Fraction(gap) / utility.width - Fraction(self.threshold()),
                1 / exact("epsilon", self.epsilon),
                tape.child("test"),
            ):
                return Drawn([])
        return Drawn(listed.take([listed.top()], tape.child("member").stream()))


@dataclass(frozen=True)
class Choosing(Pick):
    """The choosing mechanism for bounded growth: draw among the candidates that somebody has.

    One person more raises at most `growth` counts. With w the utility's width, m the largest
    count over w, e = epsilon/2 and g = growth (twice that under substitution): release nothing
    unless  m + Lap(1/e) > 1 + ln(g/delta)/e;  then draw a candidate of count 1 or more with
    probability proportional to exp(e count/w). [Beimel-Nissim-Stemmer 2013, the choosing
    mechanism; threshold and constants as proved here]

    Formal guarantees
        (epsilon, delta)-DP under the relation of the utility, for counts to which one person
        contributes as declared.

        Proof. Let q = count/w, D and D' neighbours, G and G' their candidates of count 1 or
        more, P and P' the last step's laws, Z >= e^(e m) the sum of the weights for D. All q
        move within one interval [a, b] of length 1: [0, 1], [-1, 0], or [-1/2, 1/2]. At most g
        candidates are in only one of G and G', and these have q <= b there, or q' <= b. For f
        in both, P(f)/P'(f) = e^(e (q - q')) Z'/Z <= e^(-e a) (e^(e b) Z + g' e^(e b))/Z
        = e^e (1 + g'/Z), with g' the number that enter; those that leave have together at most
        g'' e^e/Z. So P(S) <= e^e P'(S) + B(m) with B(m) = g e^(e (1 - m)), as g' + g'' <= g.
        m moves by at most 1, so the probability pi(m) of passing changes by at most e^e, and for
        S without 'none'  pi(m) P(S) <= e^(2e) pi(m') P'(S) + pi(m) min(1, B(m)).
        With T = 1 + ln(g/delta)/e: where m > T, B(m) <= delta; where m <= T, pi(m) =
        e^(-e (T - m))/2, whose product with min(1, B(m)) is at most g e^(e (1 - T))/2 <= delta.
        'none' itself is e-DP. If nobody has any candidate in D, its answer is 'none' even where
        the test passes: that adds pi(0) = e^(-e T)/2 <= delta to 'none', and all else is 0.
    """

    epsilon: Real
    delta: Real
    growth: int
    title: ClassVar[str] = "choosing"
    endless: ClassVar[bool] = True
    counts_people: ClassVar[bool] = True

    def __post_init__(self) -> None:
        positive(epsilon=self.epsilon)
        check_delta(self.delta)
        set_counts(self, growth="growth")

    @property
    def name(self) -> str:
        """What the receipt calls it."""
        return f"{self.title}, growth {self.growth}"

    def promise(self, relation: Relation) -> Promise:
        """What one release is charged, and why."""
        return promise(
            Law.GUMBEL, "bounded-growth", relation, epsilon=self.epsilon, delta=self.delta
        )

    def check_public(self, utility: Utility, total: int | None) -> None:
        """Refuse what cannot be released, before anything is charged."""
        check_scale(self.scale(utility))

    def scale(self, utility: Utility) -> Fraction:
        """The factor of the counts in the exponent: e/w."""
        return exact("epsilon", self.epsilon) / (2 * utility.width)

    def threshold(self, utility: Utility) -> float:
        """T, rounded up."""
        half = float(exact("epsilon", self.epsilon)) / 2
        growth = self.growth * utility.relation.people
        wanted = math.log(growth) - math.log(float(exact("delta", self.delta)))
        return (1.0 + wanted / half) * _ROUND_UP

    def _draw(self, universe: Universe, utility: Utility, tape: Tape) -> Drawn:
        """The test, then the exponential mechanism among those that somebody has."""
        listed = in_classes(universe)
        top = listed.top()
        offset = Fraction(top) / utility.width - Fraction(self.threshold(utility))
        passed = _passes(offset, 2 / exact("epsilon", self.epsilon), tape.child("test"))
        if not passed or top == 0:
            return Drawn([])
        listed.lower(1)
        counts, sizes = listed.classes()
        place = noisy_top(
            counts, tape.child("choice"), Law.GUMBEL, self.scale(utility),
            log_counts=log_counts(sizes),
        )[0]  # fmt: skip
        return Drawn(listed.take([int(counts[place])], tape.child("member").stream()))


def _gap(ranked: InClasses, reach: int) -> int:
    """The largest count minus the next one."""
    top = ranked.top(reach)
    while True:
        counts, sizes = ranked.classes()
        if not len(counts) or sizes[0] > 1:
            return 0
        if len(counts) > 1:
            return top - int(counts[1])
        if ranked.floor == 1:
            return top
        ranked.lower(max(1, ranked.floor // 2))


def _passes(offset: Fraction, scale: Fraction, tape: Tape) -> bool:
    """Whether offset + Laplace noise of this scale is positive, exactly."""
    tests = LaplaceTests(tape, (), scale)
    value = float(offset)
    error = np.array([2.0**-50 * abs(value)])
    return bool(tests.outcomes(0, np.array([value]), error, lambda _: offset)[0])


def log_counts(sizes: list[int]) -> LogCounts:
    """ln of class sizes with a bound on the error, and the integers themselves."""
    approx = np.array([math.log(size) for size in sizes])
    return LogCounts(approx, 2.0**-48 * (1.0 + np.abs(approx)), tuple(sizes))
