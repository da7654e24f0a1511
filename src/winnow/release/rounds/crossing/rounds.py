"""Rounds of selection and measurement: a query that the distribution answers badly, then its count.

This is the only part of query release that touches private counts. The algorithm above it
sees what a round releases, a query, a sign and a noisy count, and answers with a new public
distribution.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from threading import Lock
from typing import ClassVar, NoReturn

import numpy as np
from numpy.typing import NDArray

from winnow.core.checks import Real, count, exact, one_of, positive, set_counts
from winnow.core.key import Key
from winnow.core.laws import Law
from winnow.core.measurement import MEASUREMENTS
from winnow.core.relation import Relation
from winnow.core.sealed import Sealed
from winnow.core.tape import BitStream, Tape
from winnow.core.unit import counted
from winnow.core.workloads.workload import Workload
from winnow.errors import GrantError, ParameterError, SessionExhausted
from winnow.inner_product.crossing import IndexedExponential, IndexedSelection, SlackExponential
from winnow.privacy import AnyOf, Compose, Event, Promise, Repeat, promise
from winnow.release.rounds.crossing.lazy_selection import (
    IndexedSelector,
    LazySelector,
    Selector,
)
from winnow.release.rounds.crossing.run_parts import (
    Measurement,
    RowsChoice,
    Task,
    event_before,
    with_rounds,
)
from winnow.release.rounds.crossing.tables import (
    Counts,
    TableNoise,
    additive,
    first_tables,
    table_noise,
)
from winnow.release.rounds.kernels.distribution import Distribution

_LARGEST_NOISE = 2**50


@dataclass(frozen=True)
class SelectAndMeasure:
    """`rounds` times: select a badly answered query privately, then measure its count.

    A round draws one of the 2 m signed queries (i, s) with probability ~
    exp(epsilon s (h_i - N g_i a_i)/(2 Delta_i)) and releases it with h_i + Z, where h_i is the
    query's count in grid units, N a_i what the distribution says, g_i the grid, and Z an
    integer from the discrete Gaussian law with sigma = noise_multiplier x Delta_i, or from
    the discrete Laplace law of that scale.

    Formal guarantees
        One person has at most L rows and a query gives each row 0 .. g_i grid units, so under
        add/remove and under substitution alike h_i moves by at most Delta_i = L g_i, and by a
        whole number. Every signed exponent moves by at most epsilon/2 either way: the
        selection has bounded range epsilon. [FastMWEM, Alg 1; McSherry-Talwar 2007;
        Durfee-Rogers 2019] The measurement has rho = 1/(2 noise_multiplier^2), or pure
        privacy 1/noise_multiplier. [Canonne-Kamath-Steinke 2020] Hypotheses may depend on
        everything released before, so the rounds compose adaptively; their number and all
        parameters are fixed beforehand, so the whole is a closed plan, charged once, before
        the first draw. No monotone halving: -h_i falls where h_i rises.

        Before the first round, whole tables may be measured, one for each multiplier in
        ``first``. A row lies in one cell of a table, so a person's rows move it by at most L in
        the l1 and in the l2 norm when they are added or removed, and by 2 L and sqrt(2) L when
        they are replaced; the noise of a cell is the multiplier times that (``table_noise``). Each
        table has rho = 1/(2 multiplier^2), or pure privacy 1/multiplier, and the rounds come
        after it. [Dwork-McSherry-Nissim-Smith 2006; Canonne-Kamath-Steinke 2020]

        With ``by_rows`` the number of rounds and their parameters follow the noisy number of
        rows: a public table, fixed beforehand, says which. Given that number, which was released
        before, the rounds are one of the choices; each conditional law costs at most what the
        dearest choice does, and adaptive composition asks for no more (``AnyOf``; for rho
        [Bun-Steinke 2016, Lemma 2.3], for sums [Dwork-Roth 2014, Thm 3.16]). So the whole is
        charged with the number of rows and the dearest choice, once, before the first draw.
    """

    epsilon: Real
    """Of one selection."""
    noise_multiplier: Real
    rounds: int
    """Of all tasks together."""
    measurement: str = "gaussian"
    total_multiplier: Real | None = None
    """Noise of the number of rows, measured first; None: that number is public."""
    index: str | None = None
    """Which index over the queries proposes them; None: bounds on tables and blocks of queries."""
    slack: Real = 0
    """How far an index is trusted, in nats: a selection then runs at epsilon - 2 slack."""
    first: tuple[Real, ...] = ()
    """The noise multiplier of each whole table that is measured before the first round."""
    by_rows: tuple[RowsChoice, ...] = ()
    """What to run from how many noisy rows on, the fewest first; empty: always the same."""
    title: ClassVar[str] = "select-and-measure"

    def __post_init__(self) -> None:
        positive(epsilon=self.epsilon, noise_multiplier=self.noise_multiplier)
        if self.by_rows and self.total_multiplier is None:
            raise ParameterError("rounds follow the number of rows only where that is measured")
        if list(self.by_rows) != sorted(self.by_rows, key=lambda each: each.least_rows):
            raise ParameterError("the choices by rows are in the order of their rows")
        if self.total_multiplier is not None:
            positive(total_multiplier=self.total_multiplier)
        for multiplier in self.first:
            positive(first=multiplier)
        one_of(tuple(MEASUREMENTS), measurement=self.measurement)
        set_counts(self, rounds="rounds")
        if self.index is None and exact("slack", self.slack) != 0:
            raise ParameterError(
                f"slack={self.slack} is for an index; leave it out or name an index"
            )
        self.searched()

    def searched(self) -> IndexedSelection:
        """The law of a selection over an index."""
        if exact("slack", self.slack) == 0:
            return IndexedExponential(self.epsilon, signed=True)
        return SlackExponential(self.epsilon, signed=True, slack=self.slack)

    def selector(self, task: Task, rows_per_person: int, key: Key | None = None) -> Selector:
        """What selects among the queries of a task; without a key it only checks."""
        if task.search is None:
            return LazySelector(task.counts, task.workload, self.epsilon, rows_per_person, key)
        return IndexedSelector(task.search, task.workload, self.searched(), rows_per_person, key)

    @property
    def name(self) -> str:
        """What the receipt calls it."""
        rounds = counted(self.rounds, "round")
        if self.by_rows:
            rounds = f"{sum(self.by_rows[0].rounds)} to {sum(self.by_rows[-1].rounds)} rounds"
        how = "lazy" if self.index is None else f"over an index: {self.index}"
        if exact("slack", self.slack) != 0:
            how += f", slack {float(exact('slack', self.slack)):g}"
        first = "the number of rows, then " if self.total_multiplier is not None else ""
        if self.first:
            first += f"{counted(len(self.first), 'table')}, then "
        return (
            f"{self.title}, {first}{rounds} of the exponential mechanism (signed, {how}) and "
            f"discrete {self.measurement.capitalize()} noise"
        )

    def promise(self, relation: Relation) -> Promise:
        """What the whole run is charged, and why."""
        if self.by_rows:
            return self._promise_by_rows(relation)
        selection = promise(Law.GUMBEL, "argmax", relation, epsilon=self.epsilon)
        if self.index is not None:
            selection = self.searched().promise(relation)
        measured = additive(self.measurement, self.noise_multiplier, relation)
        event: Event = Repeat(Compose((selection.event, measured.event)), self.rounds)
        before = event_before(self.total_multiplier, self.first, relation, self.measurement)
        if before is not None:
            event = Compose((before, event))
        return Promise(
            event,
            f"FastMWEM, Alg 1; {selection.citation}; counts: {measured.citation}",
            f"{self.rounds} times: {selection.statement} {measured.statement}",
        )

    def _promise_by_rows(self, relation: Relation) -> Promise:
        loops = [self.taken(each.least_rows)._loop().promise(relation) for each in self.by_rows]
        before = event_before(self.total_multiplier, self.first, relation, self.measurement)
        assert before is not None
        return Promise(
            Compose((before, AnyOf(tuple(each.event for each in loops)))),
            f"{loops[0].citation}; rounds by a released number: Bun-Steinke 2016",
            f"the noisy number of rows says how many rounds follow; at most: {loops[-1].statement}",
        )

    def taken(self, rows: int) -> SelectAndMeasure:
        """What is run where the noisy number of rows is this."""
        if not self.by_rows:
            return self
        last = [each for each in self.by_rows if each.least_rows <= rows][-1:]
        choice = (last or self.by_rows)[0]
        return replace(
            self,
            epsilon=choice.epsilon,
            noise_multiplier=choice.noise_multiplier,
            rounds=sum(choice.rounds),
            by_rows=(),
        )

    def rounds_of(self, rows: int) -> tuple[int, ...]:
        """The rounds of each task where the noisy number of rows is this; empty: as planned."""
        last = [each.rounds for each in self.by_rows if each.least_rows <= rows][-1:]
        return (last or [each.rounds for each in self.by_rows] or [()])[0]

    def _loop(self) -> SelectAndMeasure:
        """The rounds alone, without what comes before them."""
        return replace(self, total_multiplier=None, first=())

    def noise_scale(self, sensitivity: int) -> Fraction:
        """Sigma, or the Laplace scale, for counts that one person moves by at most this."""
        return exact("noise_multiplier", self.noise_multiplier) * sensitivity

    def total_scale(self, rows_per_person: int) -> Fraction:
        """The scale of the noise on the number of rows; 0 where it is public."""
        return exact("total_multiplier", self.total_multiplier or 0) * rows_per_person

    def table_noises(self, relation: Relation, rows_per_person: int) -> list[TableNoise]:
        """Of each table that is measured first."""
        return [
            table_noise(self.measurement, each, relation, rows_per_person) for each in self.first
        ]

    def check(
        self, tasks: Sequence[Task], rows_per_person: int = 1, total: int | None = None
    ) -> None:
        """Refuse what cannot be selected or measured, before anything is charged.

        ``total`` is the public number of rows, where it is known beforehand.
        """
        count(rows_per_person=rows_per_person)
        if self.by_rows:
            for choice in self.by_rows:
                own = self.taken(choice.least_rows)
                own.check(with_rounds(tasks, choice.rounds), rows_per_person, total)
            return
        for task in tasks:
            count(rounds=task.rounds)
        if sum(task.rounds for task in tasks) != self.rounds:
            raise ParameterError(f"the tasks do not have {self.rounds} rounds together")
        grids = [part.grid for task in tasks for part in task.workload.parts]
        for scale in (
            self.noise_scale(max(grids) * int(rows_per_person)),
            self.total_scale(int(rows_per_person)),
            2 * max((exact("first", each) for each in self.first), default=0) * rows_per_person,
        ):
            if scale > _LARGEST_NOISE:
                raise ParameterError(
                    "the noise does not fit counts of 64 bits; ask for a larger epsilon or fewer "
                    "rounds, or use a coarser grid"
                )
        for task in tasks:
            if (task.search is None) is not (self.index is None):
                raise ParameterError(
                    "give an index over the queries where one is named, only there"
                )
            self.selector(task, int(rows_per_person)).check(total or 1)

    def open(
        self,
        tasks: Sequence[Task],
        key: Key,
        *,
        relation: Relation,
        rows_per_person: int = 1,
        total: Sealed[NDArray[np.int64]] | None = None,
        first: Sealed[NDArray[np.int64]] | None = None,
        tables: Workload | None = None,
    ) -> OpenRun:
        """Measure what comes first; rounds are then asked for one by one.

        ``total`` holds the number of rows, where it is measured first; ``first`` the counts of
        the marginals in ``tables``, one after another, where these are.
        """
        if (total is None) is not (self.total_multiplier is None):
            raise ParameterError(
                "give the sealed number of rows where it is measured, and only there"
            )
        if (0 if tables is None or first is None else len(tables.parts)) != len(self.first):
            raise ParameterError(
                f"the run is for {len(self.first)} first tables; give their counts"
            )
        tape, noisy_rows = key.tape, None
        if total is not None:
            noise = self._noise(tape.child("total").stream(), self.total_scale(rows_per_person))
            noisy_rows = int(key.open(total)[0]) + noise
        measured: tuple[Counts, ...] = ()
        if first is not None and tables is not None:
            noises = self.table_noises(relation, int(rows_per_person))
            measured = first_tables(first, tables.offsets, noises, key)
        chosen = self.taken(noisy_rows or 0)
        if self.by_rows:
            tasks = with_rounds(tasks, self.rounds_of(noisy_rows or 0))
        runs = tuple(
            MeasuredRounds(
                _RoundsRun(chosen, task, key, tape.child(f"task-{i}"), int(rows_per_person))
            )
            for i, task in enumerate(tasks)
        )
        return OpenRun(runs, noisy_rows, measured)

    def _noise(self, stream: BitStream, scale: Fraction) -> int:
        return MEASUREMENTS[self.measurement].draw(stream, scale)


@dataclass(frozen=True)
class OpenRun:
    """A run that was paid for: rounds to be asked for, and the noisy total."""

    tasks: tuple[MeasuredRounds, ...]
    total: int | None
    """The number of rows with noise, where it was measured; public, and perhaps below 0."""
    first: tuple[Counts, ...] = ()
    """The noisy tables that were measured before the first round; public."""


class MeasuredRounds:
    """An open run: ask for the next round with the current public distribution.

    One run is one charge: it cannot be copied or pickled (a copy would answer again with the
    same noise), and threads that share it take turns.
    """

    def __init__(self, run: _RoundsRun) -> None:
        self._run = run
        self._lock = Lock()

    @property
    def left(self) -> int:
        """How many rounds are still paid for."""
        return self._run.left

    def next(self, distribution: Distribution) -> Measurement:
        """One more round against this distribution, which must be public."""
        with self._lock:
            if self._run.left <= 0:
                raise SessionExhausted(
                    "all rounds of this run were drawn; open a new run with a new charge"
                )
            if distribution.size != self._run.size:
                raise ParameterError(
                    f"the distribution answers {distribution.size} queries and the run has "
                    f"{self._run.size}; make it for the same workload"
                )
            return self._run.draw(distribution)

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise GrantError("measured rounds are not copied or pickled: they are one charge")

    def __repr__(self) -> str:
        return f"<measured rounds: {self.left} left>"


class _RoundsRun:
    """True counts, the selector's keys and the place on the tape. Private."""

    def __init__(
        self, mechanism: SelectAndMeasure, task: Task, key: Key, tape: Tape, rows_per_person: int
    ) -> None:
        self.left = task.rounds
        self.size = task.workload.size
        self._mechanism = mechanism
        self._counts = key.open(task.counts)
        self._selector = mechanism.selector(task, rows_per_person, key)
        self._offsets = [int(offset) for offset in task.workload.offsets]
        self._scales = [
            mechanism.noise_scale(rows_per_person * part.grid) for part in task.workload.parts
        ]
        self._selections = tape.child("selection")
        self._measurements = tape.child("measurement").stream()

    def draw(self, distribution: Distribution) -> Measurement:
        """One round."""
        self.left -= 1  # also when it is interrupted: its noise may have been seen
        query, sign = self._selector.draw(distribution, self._selections)
        scale = self._scales[bisect_right(self._offsets, query) - 1]
        noise = self._mechanism._noise(self._measurements, scale)
        return Measurement(query, sign, int(self._counts[query]) + noise)
