"""Independent noise on every answer: for few questions it is better than a hypothesis.

The number of questions is fixed and charged for beforehand. The noise of a question is drawn from
a part of the tape that the question itself names: however often it is asked, in whatever order,
before or after a crash, it has the same noise, and no two questions share any.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from threading import Lock
from typing import ClassVar, NoReturn, Protocol

from winnow.ask.crossing import PrivateCounts
from winnow.ask.kept import ELSEWHERE, Kept, Release
from winnow.ask.questions import Question
from winnow.core.checks import Real, exact, positive, set_counts
from winnow.core.key import Key
from winnow.core.noise import discrete_gaussian_of
from winnow.core.process import Owner
from winnow.core.relation import Relation
from winnow.errors import GrantError, ParameterError, SessionExhausted
from winnow.privacy import Promise, promise
from winnow.privacy.rounding import rounded_up, stated_at_most
from winnow.read.crossing import SealedTable

_LARGEST_VARIANCE = 2**100


class AnswerKeeper(Protocol):
    """Where open answers write what they must not forget."""

    def tell_ledger(self, releases: int) -> None:
        """Before a draw: so many of the questions count as answered, whatever happens."""

    def answered(self, releases: Sequence[Release]) -> None:
        """Before a release: these noisy counts."""


@dataclass(frozen=True)
class IndependentAnswers:
    """The counts of `queries` questions, each with discrete Gaussian noise of its own.

    Questions have whole values 0 .. g on the rows and may depend on all answers before. With L
    rows per person the noise on a count has the variance (noise_multiplier L g)^2 queries.

    Formal guarantees
        A count moves by at most L g, by a whole number, when one person's rows are added,
        removed or replaced: squared and divided by the variance, at most 1/(noise_multiplier^2
        queries). All answers together, chosen one after another, are one DiscreteGaussian event
        with the squared ratio 1/noise_multiplier^2; no variance is below that of g = 1.
        [Canonne-Kamath-Steinke 2020; Dong-Roth-Su 2022; ``privacy.discrete_gaussian``]
    """

    queries: int
    noise_multiplier: Real
    title: ClassVar[str] = "independent-answers"

    def __post_init__(self) -> None:
        set_counts(self, queries="max_queries")
        positive(noise_multiplier=self.noise_multiplier)

    @property
    def name(self) -> str:
        """What the receipt calls it."""
        return f"{self.title}, at most {self.queries} questions"

    @property
    def block(self) -> int:
        """So many answers are written into a ledger together, before the first of them."""
        return max(1, min(64, self.queries // 16))

    def promise(self, relation: Relation) -> Promise:
        """What all answers together are charged, and why."""
        squared = exact("noise_multiplier", self.noise_multiplier) ** 2
        return promise(
            "discrete-gaussian",
            "additive-joint",
            relation,
            squared_ratio=rounded_up(1 / squared),
            least_variance=stated_at_most(squared * self.queries),
        )

    def variance(self, rows_per_person: int, grid: int = 1) -> Fraction:
        """Of the noise on one count in grid units."""
        sensitivity = rows_per_person * grid
        return (exact("noise_multiplier", self.noise_multiplier) * sensitivity) ** 2 * self.queries

    def check(self, rows_per_person: int, grid: int = 1) -> None:
        """Refuse noise that does not fit 64 bits."""
        if self.variance(rows_per_person, grid) >= _LARGEST_VARIANCE:
            raise ParameterError(
                "the noise does not fit counts of 64 bits; ask for a larger epsilon or fewer "
                "questions, or use a coarser grid"
            )

    def open(self, table: SealedTable, key: Key, keeper: AnswerKeeper | None = None) -> OpenAnswers:
        """All answers; questions are then asked one by one."""
        return OpenAnswers(self, table, key, keeper)

    def reopen(self, table: SealedTable, key: Key, keeper: AnswerKeeper, kept: Kept) -> OpenAnswers:
        """Go on with answers that were charged before, behind everything that was written down."""
        run = OpenAnswers(self, table, key, keeper)
        run.go_on(kept.crossings)
        return run


class OpenAnswers:
    """Answers that are paid for. Threads take turns; it is neither copied nor pickled."""

    def __init__(
        self,
        mechanism: IndependentAnswers,
        table: SealedTable,
        key: Key,
        keeper: AnswerKeeper | None,
        counts: PrivateCounts | None = None,
    ) -> None:
        self._mechanism = mechanism
        self._rows_per_person = table.rows_per_person
        self._counts = PrivateCounts(table, key) if counts is None else counts
        self._tape = key.tape.child("answers")
        self._keeper = keeper
        self._lock = Lock()
        self._owner = Owner()
        self._variances: dict[int, Fraction] = {}
        self._used = 0
        self._allowed = 0

    @property
    def left(self) -> int:
        """How many questions are still paid for."""
        return self._mechanism.queries - self._used

    @property
    def used(self) -> int:
        """How many questions count as answered."""
        return self._used

    def go_on(self, used: int) -> None:
        """So many questions were answered before."""
        self._used = self._allowed = min(used, self._mechanism.queries)

    def check(self, question: Question) -> None:
        """Refuse a question that cannot be counted, before it is answered."""
        self._counts.check(question)
        self._variance(question.grid)

    def answer(self, questions: Sequence[Question]) -> list[tuple[int, int]]:
        """The number and the noisy count of each question; all different, and checked before."""
        self._owner.check("this session", ELSEWHERE)
        with self._lock:
            if len(questions) > self.left:
                raise SessionExhausted(
                    "all questions of this session were answered; open a new one"
                )
            first, last = self._used, self._used + len(questions)
            if self._keeper is not None and last > self._allowed:
                allowed = min(last + self._mechanism.block, self._mechanism.queries)
                self._keeper.tell_ledger(allowed)
                self._allowed = allowed
            self._used = last  # also when it is interrupted
            noisy = [(first + i, self._noisy(q)) for i, q in enumerate(questions)]
            if self._keeper is not None:
                self._keeper.answered(
                    [(number, q, n) for q, (number, n) in zip(questions, noisy, strict=True)]
                )
            return noisy

    def _noisy(self, question: Question) -> int:
        # Named by its scale too: one string of bits at two scales would give the count away.
        variance = self._variance(question.grid)
        own = self._tape.child(f"{question.key.hex()} {question.grid} {variance}")
        return self._counts.count(question) + discrete_gaussian_of(own, variance)

    def _variance(self, grid: int) -> Fraction:
        variance = self._variances.get(grid)
        if variance is None:
            self._mechanism.check(self._rows_per_person, grid)
            variance = self._variances[grid] = self._mechanism.variance(self._rows_per_person, grid)
        return variance

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise GrantError("open answers are not copied or pickled: they are one charge")

    def __repr__(self) -> str:
        return f"<open answers: {self.used} asked, {self.left} left>"


def answer_bound(multiplier: float, rows_per_person: int, queries: int, beta: float) -> int:
    """No noise of the session is larger, in rows, but for probability beta.

    Pr[Z >= m] <= Pr[N >= m - 1] for the continuous N of the same variance
    [Canonne-Kamath-Steinke 2020, Prop 25]. In finer grid units the bound is smaller.
    """
    from statistics import NormalDist

    quantile = -NormalDist().inv_cdf(beta / (2 * queries))
    deviation = multiplier * rows_per_person * math.sqrt(queries)
    return math.ceil(quantile * deviation * (1 + 1e-12))
