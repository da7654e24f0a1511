"""Private multiplicative weights, the private part: is a public guess far from the data?

Each round puts noise on one count once. If the noisy count is near a public guess, the round
says only that; otherwise it releases the noisy count, and the algorithm above it improves its
guesses. The run ends with the `updates`-th such release.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from math import isfinite
from threading import Lock
from typing import ClassVar, NoReturn, Protocol

import numpy as np
from numpy.typing import NDArray

from winnow.ask.crossing import PrivateCounts
from winnow.ask.independent_answers import IndependentAnswers, OpenAnswers
from winnow.ask.kept import ELSEWHERE, Kept, Release
from winnow.ask.questions import Question
from winnow.core.checks import Real, exact, positive, set_counts
from winnow.core.key import Key
from winnow.core.noise import discrete_gaussian_array, discrete_laplace_array
from winnow.core.process import Owner
from winnow.core.relation import Relation
from winnow.errors import GrantError, ParameterError, SessionExhausted
from winnow.privacy import Compose, Promise, promise
from winnow.read.crossing import SealedTable

_LARGEST_NOISE = 2**50
_AHEAD = 256
"""Noise is computed for so many rounds at a time; each round has its own place on the tape."""

RESERVED = 64
"""Rounds whose places are written down together, before the first of them is drawn."""


@dataclass(frozen=True)
class Crossing:
    """What one round releases: its number, and the noisy count if the guess was far off."""

    number: int
    count: int | None


class Keeper(Protocol):
    """Where an open run writes what it must not forget."""

    @property
    def noise(self) -> str:
        """The part of the tape that belongs to this opening of the run alone."""

    def reserve(self, rounds: int) -> None:
        """Before a draw: no later run may use the places of the first `rounds` rounds."""

    def crossed(self, releases: Sequence[Release], size: int = 0) -> None:
        """Before a release: these rounds released these counts.

        What is written has at least `size` bytes, so that a public size tells of no release.
        """

    def fell_back(self, answers: Sequence[Release]) -> None:
        """Before they are shown: independent answers after the rounds."""


@dataclass(frozen=True)
class WeightsRounds:
    """Rounds that compare a noisy count with a public guess, until `updates` were far off.

    Round t takes a question with whole values 0 .. g on the rows, adds discrete Laplace noise
    of scale L g/epsilon to its count (L rows per person), and releases the noisy count if it
    is further than a public threshold from a public guess, else only that it is not. Questions,
    guesses and thresholds may depend on everything released before.

    Formal guarantees
        One person has at most L rows, so under add/remove and under substitution alike a
        count moves by at most L g, and by a whole number: the noisy count is epsilon-DP
        [Canonne-Kamath-Steinke 2020], and so is the round, test and answer being functions of
        it. Ending after `updates` releases, any number of rounds is a CappedRounds event
        [target charging, after Cohen-Lyu 2023; proved in ``privacy.capped``]. It is charged
        whole, before the first draw, and nothing is refunded. [PMW, Fig 1] has the same
        rounds; its privacy proof needs the errata.

        Other releases may come between the rounds, those of other sessions too: the proof
        splits the run into single epsilon-DP accesses and parts that do not look at the data,
        and bounds the lost mass whatever happened before each access. So the sums of a
        privacy filter hold access by access, in any order.

        With a prior, the counts of all tables of prior_ways columns are released first, with
        discrete Gaussian noise of standard deviation prior_multiplier x l2 sensitivity. A row is
        in one cell of each of the t tables, so that is L sqrt(t) under add/remove, L sqrt(2 t)
        under substitution.

        With a fallback, questions that are no longer tested are answered by ``IndependentAnswers``.
        These have a number and a noise of their own, fixed beforehand: one more event, charged
        with the rounds. Which questions it is asked depends on what was released only, so the
        events compose adaptively, whatever made the rounds end.
    """

    updates: int
    epsilon: Real
    """Of one round."""
    steps: int
    """What the run is charged for; a matter of accounting only."""
    prior_multiplier: Real | None = None
    prior_ways: int = 1
    fallback: IndependentAnswers | None = None
    """What answers when no round is left."""
    title: ClassVar[str] = "private-multiplicative-weights"

    def __post_init__(self) -> None:
        set_counts(self, updates="updates", steps="steps", prior_ways="prior_ways")
        positive(epsilon=self.epsilon)
        if self.prior_multiplier is not None:
            positive(prior_multiplier=self.prior_multiplier)

    @property
    def name(self) -> str:
        """What the receipt calls it."""
        words = {1: "one-way counts", 2: "counts of all pairs of columns"}
        said = words.get(self.prior_ways, f"{self.prior_ways}-way counts")
        first = f"{said}, then " if self.prior_multiplier is not None else ""
        last = "" if self.fallback is None else f", then {self.fallback.name}"
        return f"{self.title}, {first}at most {self.updates} updates{last}"

    def promise(self, relation: Relation) -> Promise:
        """What the whole run is charged, and why."""
        rounds = promise(
            "discrete-laplace", "capped-rounds", relation, epsilon=self.epsilon,
            updates=self.updates, steps=self.steps,
        )  # fmt: skip
        others = []
        if self.prior_multiplier is not None:
            others.append(promise(
                "discrete-gaussian", "additive", relation, noise_multiplier=self.prior_multiplier
            ))  # fmt: skip
        if self.fallback is not None:
            others.append(self.fallback.promise(relation))
        if not others:
            return rounds
        events = tuple(each.event for each in others)
        cited = "; ".join(dict.fromkeys(each.citation for each in others))
        return Promise(
            Compose((events[0] if len(events) == 1 else Compose(events), rounds.event)),
            f"{rounds.citation}; counts: {cited}",
            " ".join([*(each.statement for each in others), rounds.statement]),
        )

    def noise_scale(self, rows_per_person: int, grid: int = 1) -> Fraction:
        """The scale of the noise on counts in grid units."""
        return rows_per_person * grid / exact("epsilon", self.epsilon)

    def check(self, rows_per_person: int, grid: int = 1) -> None:
        """Refuse noise that does not fit 64 bits."""
        if self.noise_scale(rows_per_person, grid) > _LARGEST_NOISE:
            raise ParameterError(
                "the noise does not fit counts of 64 bits; ask for a larger epsilon or fewer "
                "updates, or use a coarser grid"
            )
        if self.fallback is not None:
            self.fallback.check(rows_per_person, grid)

    def open(self, table: SealedTable, key: Key, keeper: Keeper | None = None) -> OpenRounds:
        """The whole run; rounds are then asked for one by one."""
        return OpenRounds(self, table, key, keeper)

    def reopen(self, table: SealedTable, key: Key, keeper: Keeper, kept: Kept) -> OpenRounds:
        """Go on with a run that was charged before, behind everything that was written down."""
        run = OpenRounds(self, table, key, keeper)
        run._position = run._reserved = kept.rounds
        run._left = max(0, self.updates - kept.crossings)
        if run.fallback is not None:
            run.fallback.go_on(kept.answers)
        return run


class OpenRounds:
    """An open run. Threads that share it take turns; it is neither copied nor pickled."""

    def __init__(
        self,
        mechanism: WeightsRounds,
        table: SealedTable,
        key: Key,
        keeper: Keeper | None,
    ) -> None:
        self._mechanism = mechanism
        self._rows_per_person = table.rows_per_person
        self._relation = table.relation
        self._counts = PrivateCounts(table, key)
        self._rounds_tape = key.tape.child("rounds" if keeper is None else keeper.noise)
        self._prior_tape = key.tape.child("prior")
        self._keeper = keeper
        self._lock = Lock()
        self._owner = Owner()
        self._grids: set[int] = set()
        self._noise: dict[int, tuple[int, NDArray[np.int64]]] = {}
        self._position = 0
        self._reserved = 0
        self._left = mechanism.updates
        self._broken = False
        self._together: _Together | None = None
        self.fallback: OpenAnswers | None = None
        """Independent answers for questions that are not tested any more."""
        if mechanism.fallback is not None:
            kept = None if keeper is None else _FallbackKeeper(self)
            self.fallback = OpenAnswers(mechanism.fallback, table, key, kept, self._counts)

    @property
    def left(self) -> int:
        """How many updates are still paid for."""
        return self._left

    @property
    def whole(self) -> bool:
        """Whether everything that was released is written down."""
        return not self._broken

    @property
    def rounds(self) -> int:
        """How many places of the tape are used up."""
        return self._position

    def check(self, question: Question) -> None:
        """Refuse a question that cannot be counted, before a round is spent on it."""
        self._check_whole()
        self._counts.check(question)
        if question.grid not in self._grids:
            self._mechanism.check(self._rows_per_person, question.grid)
            self._grids.add(question.grid)

    def ask(self, question: Question, guess: float, threshold: float) -> Crossing:
        """One round; the guess and the threshold are public, in grid units."""
        if not (isfinite(guess) and isfinite(threshold)):
            raise ParameterError("the guess or the threshold of a round is not a number")
        self._owner.check("this session", ELSEWHERE)
        with self._lock:
            self._check_whole()
            if self._left <= 0:
                raise SessionExhausted("all updates of this run were released; open a new run")
            number = self._position
            if self._keeper is not None and number >= self._reserved:
                ahead = RESERVED if self._together is None else self._together.ahead()
                self._keeper.reserve(number + ahead)
                self._reserved = number + ahead
            if self._together is not None:
                self._together.rounds += 1
            self._position = number + 1  # also when it is interrupted: its noise may be known
            noisy = self._counts.count(question) + self._noise_at(number, question.grid)
            if abs(noisy - guess) <= threshold:
                return Crossing(number, None)
            self._left -= 1
            if self._together is not None:
                self._together.releases.append((number, question, noisy))
            elif self._keeper is not None:
                self._write([(number, question, noisy)], 0)
            return Crossing(number, noisy)

    @contextmanager
    def together(self, questions: Sequence[Question]) -> Iterator[None]:
        """The rounds of these questions are written down together; show nothing before the end.

        What is written, and told to the ledger, has the same size whatever was released: that it
        could not be written tells nothing. All of it is written after an error, too.
        """
        if self._keeper is None or any(each.codes is None for each in questions):
            yield  # a query cell by cell is long, and written down alone
            return
        self._together = part = _Together(questions, self._left)
        try:
            yield
        finally:
            self._together = None
            if part.rounds:
                self._write(part.releases, part.size)
            if part.answers:
                self._write_answers(part.answers)

    def _check_whole(self) -> None:
        if self._broken:  # guesses, too, may follow from what is not on the disk
            raise GrantError(
                "what this run released could not be written down; go on from its state file"
            )

    def _write(self, releases: list[Release], size: int) -> None:
        assert self._keeper is not None
        self._broken = True  # until it is on the disk
        self._keeper.crossed(releases, size)
        self._broken = False

    def _fell_back(self, answers: Sequence[Release]) -> None:
        if self._together is not None:
            self._together.answers += answers
        else:
            self._write_answers(answers)

    def _write_answers(self, answers: Sequence[Release]) -> None:
        assert self._keeper is not None
        self._broken = True
        self._keeper.fell_back(answers)
        self._broken = False

    def _noise_at(self, number: int, grid: int) -> int:
        first, drawn = self._noise.get(grid, (0, _NOTHING))
        if not first <= number < first + len(drawn):
            scale = self._mechanism.noise_scale(self._rows_per_person, grid)
            first = number
            drawn = discrete_laplace_array(self._rounds_tape, _AHEAD, scale, first)
            self._noise[grid] = (first, drawn)
        return int(drawn[number - first])

    def prior(self) -> list[NDArray[np.int64]]:
        """The noisy counts of all tables; the same whenever they are asked for."""
        multiplier = self._mechanism.prior_multiplier
        if multiplier is None:
            raise GrantError("no counts beforehand were charged for")
        with self._lock:
            tables = self._counts.tables(self._mechanism.prior_ways)
            variance = prior_variance(
                multiplier, self._rows_per_person, len(tables), self._relation
            )
            return [
                counted
                + discrete_gaussian_array(self._prior_tape.child(f"{i}"), len(counted), variance)
                for i, counted in enumerate(tables)
            ]

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise GrantError("open rounds are not copied or pickled: they are one charge")

    def __repr__(self) -> str:
        return f"<open rounds: {self.rounds} asked, {self.left} updates left>"


_ENTRY = 96
"""More than a line of the state file takes beside its question: names, two numbers of 64 bits."""


class _Together:
    """Rounds that are written down together."""

    def __init__(self, questions: Sequence[Question], most: int) -> None:
        self._questions, self._most = questions, most
        self.rounds = 0
        self.releases: list[Release] = []
        self.answers: list[Release] = []

    def ahead(self) -> int:
        """How many places of the tape to reserve: for all of them at once."""
        return max(RESERVED, len(self._questions) - self.rounds)

    @property
    def size(self) -> int:
        """The bytes of as many releases as there could be: a public number."""
        sizes = sorted((each.written for each in self._questions), reverse=True)
        return sum(sizes[: self._most]) + _ENTRY * (1 + min(self._most, len(sizes)))


class _FallbackKeeper:
    """Writes down what a run answers after its rounds; the ledger hears of all of it."""

    def __init__(self, run: OpenRounds) -> None:
        self._run = run

    def tell_ledger(self, releases: int) -> None:
        """Not beforehand: after each answer the ledger has a head that no older file has."""

    def answered(self, releases: Sequence[Release]) -> None:
        """Before they are shown."""
        self._run._fell_back(releases)


def prior_variance(
    multiplier: Real, rows_per_person: int, tables: int, relation: Relation
) -> Fraction:
    """The variance of the noise on the counts of so many tables."""
    squared = rows_per_person**2 * tables * relation.people
    return exact("prior_multiplier", multiplier) ** 2 * squared


_NOTHING = np.zeros(0, np.int64)
