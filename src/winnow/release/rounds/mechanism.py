"""Rounds of selection and measurement of whole marginal tables.

The cells of one table are disjoint, so all of them are measured for what one costs. The
algorithm above it, multiplicative weights or a graphical model, sees what a round releases, a
set of columns and a noisy table, and answers with the tables of a new public model.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from threading import Lock
from typing import ClassVar, NoReturn

import numpy as np

from winnow.core.checks import Real, count, exact, one_of, positive, set_counts
from winnow.core.key import Key
from winnow.core.laws import Law
from winnow.core.measurement import MEASUREMENTS
from winnow.core.relation import Relation
from winnow.core.sealed import Sealed
from winnow.core.unit import counted
from winnow.core.workloads.workload import Workload
from winnow.errors import GrantError, ParameterError, SessionExhausted
from winnow.privacy import Compose, Promise, promise
from winnow.privacy.closed_plan import (
    rounds_event,
    stage_epsilon,
    stage_lengths,
    stage_multiplier,
)
from winnow.release.rounds.crossing.tables import (
    LARGEST_WEIGHT,
    STEPS,
    Counts,
    Floats,
    MeasuredTable,
    TableNoise,
    TableRounds,
    additive,
    first_event,
    first_tables,
    table_noise,
)
from winnow.select.crossing.selection import check_scale


@dataclass(frozen=True)
class MeasureMarginals:
    """`rounds` times: select a marginal table that the model gets wrong, then measure it whole.

    Candidate r has the score w_r (d_r - b_r), with d_r the l1 distance of the table's counts M_r
    from what the model says, rounded to a public grid, w_r a public whole weight and b_r a
    public penalty, the noise that measuring it would bring. A round draws r with probability ~
    exp(epsilon score_r/(2 Delta)) and releases it with M_r plus discrete Gaussian or discrete
    Laplace noise in every cell. Before the first round, some tables may be measured without a
    selection; one of no columns is the number of rows.

    Formal guarantees
        One person has at most L rows, and each lies in one cell of a table. Adding or removing
        them moves d_r by at most L either way, and M_r by at most L in the l1 and in the l2 norm
        (all rows in one cell). Replacing them moves up to L ones out of cells and L into
        others: at most 2 L in the l1 norm, and sqrt(2) L in the l2 norm. So Delta is
        L max w_r, or twice that; scores may rise or fall, so nothing is halved. The selection
        has bounded range epsilon. [McSherry-Talwar 2007; Durfee-Rogers 2019] With variance
        (noise_multiplier x l2 sensitivity)^2 a measured table has rho =
        1/(2 noise_multiplier^2) [Canonne-Kamath-Steinke 2020]; with the Laplace scale
        noise_multiplier x l1 sensitivity it is 1/noise_multiplier-DP
        [Dwork-McSherry-Nissim-Smith 2006], and every accountant counts it as such. Models,
        weights, penalties and the candidates of a round may depend on everything released
        before, so the rounds compose adaptively; their number and all parameters are fixed
        beforehand, so the whole is a closed plan, charged once, before the first draw.
        Rounds may fall into stages: in each, epsilon grows and the noise multiplier falls by
        ``STAGE_GAIN`` beside the stage before, and every round is charged for its own.
        [the loop: McKenna-Miklau-Sheldon 2021; McKenna et al. 2022]
    """

    epsilon: Real
    """Of one selection in the first stage."""
    noise_multiplier: Real
    """Of one measurement in the first stage."""
    rounds: int
    first: tuple[Real, ...] = ()
    """The noise multiplier of each table that is measured before the first round."""
    measurement: str = "gaussian"
    stages: int = 1
    title: ClassVar[str] = "measure-marginals"

    def __post_init__(self) -> None:
        positive(epsilon=self.epsilon, noise_multiplier=self.noise_multiplier)
        one_of(tuple(MEASUREMENTS), measurement=self.measurement)
        set_counts(self, rounds="rounds", stages="stages")
        for multiplier in self.first:
            positive(first=multiplier)

    @property
    def name(self) -> str:
        """What the receipt calls it."""
        rounds = counted(self.rounds, "round")
        rounds = rounds if self.stages == 1 else f"{rounds} in {self.stages} stages"
        tables = counted(len(self.first), "table")
        first = f"{tables}, then " if self.first else ""
        return (
            f"{self.title}, {first}{rounds} of the exponential mechanism over marginal tables "
            f"and discrete {self.measurement.capitalize()} noise"
        )

    def promise(self, relation: Relation) -> Promise:
        """What the whole run is charged, and why."""
        both = [self._round(stage, relation) for stage in range(self.stages)]
        first = first_event(self.first, relation, self.measurement) if self.first else None
        selection, measured = both[0]
        doubled = "" if self.stages == 1 else f"; more precise in each of {self.stages} stages"
        return Promise(
            rounds_event([Compose((s.event, m.event)) for s, m in both], self.rounds, first),
            f"McKenna-Miklau-Sheldon 2021; {selection.citation}; counts: {measured.citation}",
            f"{self.rounds} times: {selection.statement} {measured.statement}{doubled}",
        )

    def _round(self, stage: int, relation: Relation) -> tuple[Promise, Promise]:
        """Of the selection and of the measurement in one round of a stage."""
        return (
            promise(Law.GUMBEL, "argmax", relation, epsilon=stage_epsilon(self.epsilon, stage)),
            additive(self.measurement, self.multiplier(stage), relation),
        )

    def multiplier(self, stage: int) -> Real:
        """The noise multiplier in a stage."""
        return stage_multiplier(self.noise_multiplier, stage)

    def stage_of_rounds(self) -> list[int]:
        """The stage of every round."""
        lengths = stage_lengths(self.rounds, self.stages)
        return [stage for stage, length in enumerate(lengths) for _ in range(length)]

    def noise(self, multiplier: Real, relation: Relation, rows_per_person: int) -> TableNoise:
        """Of each cell: the multiplier times the sensitivity of a table in the law's norm."""
        return table_noise(self.measurement, multiplier, relation, rows_per_person)

    def exponent(
        self, relation: Relation, rows_per_person: int, heaviest: int, stage: int = 0
    ) -> Fraction:
        """What a score in grid steps is multiplied with: epsilon/(2 Delta)."""
        moved = rows_per_person * relation.people
        epsilon = exact("epsilon", stage_epsilon(self.epsilon, stage))
        return epsilon / (2 * moved * heaviest * STEPS)

    def check(self, relation: Relation, rows_per_person: int = 1) -> None:
        """Refuse what cannot be selected or measured, before anything is charged."""
        count(rows_per_person=rows_per_person)
        check_scale(self.exponent(relation, int(rows_per_person), 2**20))
        check_scale(self.exponent(relation, int(rows_per_person), 2**20, self.stages - 1))
        for multiplier in {self.noise_multiplier, *self.first}:
            if not self.noise(multiplier, relation, int(rows_per_person)).fits:
                raise ParameterError(
                    "the noise does not fit counts of 64 bits; ask for a larger epsilon or fewer "
                    "rounds"
                )

    def open(
        self,
        first: Sealed[Counts] | None,
        tables: Workload | None,
        key: Key,
        *,
        relation: Relation,
        rows_per_person: int = 1,
    ) -> MarginalRun:
        """Measure the first tables; rounds can then be started, once.

        ``first`` holds the counts of the marginals in ``tables``, one after another.
        """
        if (0 if tables is None or first is None else len(tables.parts)) != len(self.first):
            raise ParameterError(
                f"the run is for {len(self.first)} first tables; give their counts"
            )
        measured: tuple[Counts, ...] = ()
        if first is not None and tables is not None:
            noises = [self.noise(each, relation, int(rows_per_person)) for each in self.first]
            measured = first_tables(first, tables.offsets, noises, key)
        return MarginalRun(self, measured, key, relation, int(rows_per_person))


class MarginalRun:
    """A run that was paid for: the first tables, and rounds that can be started once."""

    def __init__(
        self,
        mechanism: MeasureMarginals,
        first: tuple[Counts, ...],
        key: Key,
        relation: Relation,
        rows_per_person: int,
    ) -> None:
        self.first = first
        """The noisy first tables; public."""
        self._mechanism = mechanism
        self._key = key
        self._relation = relation
        self._rows_per_person = rows_per_person
        self._lock = Lock()
        self._started = False

    def start(
        self, counts: Sealed[Counts], candidates: Workload, weights: Sequence[int]
    ) -> MarginalRounds:
        """Start the rounds over these candidates, once; weights are public whole numbers.

        ``counts`` holds the counts of the candidates' tables, one after another.
        """
        if len(weights) != len(candidates.parts):
            raise ParameterError("give one weight for each candidate")
        count(**{f"weight {i}": weight for i, weight in enumerate(weights)})
        if max(weights) > LARGEST_WEIGHT:
            raise ParameterError(f"a weight exceeds {LARGEST_WEIGHT}; give smaller weights")
        if any(part.grid != 1 for part in candidates.parts):
            raise ParameterError("candidates are marginal tables; give wn.marginals(...)")
        who = self._relation, self._rows_per_person
        stages = range(self._mechanism.stages)
        scales = [self._mechanism.exponent(*who, max(weights), stage) for stage in stages]
        noises = [self._mechanism.noise(self._mechanism.multiplier(each), *who) for each in stages]
        check_scale(scales[0])
        check_scale(scales[-1])
        with self._lock:
            if self._started:
                raise GrantError("the rounds of this run were started before; they are one charge")
            self._started = True
        return MarginalRounds(
            TableRounds(
                counts,
                np.asarray(candidates.offsets, np.int64),
                np.array(weights, np.int64),
                [(scales[each], noises[each]) for each in self._mechanism.stage_of_rounds()],
                self._key,
            )
        )

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise GrantError("a run is not copied or pickled: it is one charge")

    def __repr__(self) -> str:
        return f"<run of {self._mechanism.name}>"


class MarginalRounds:
    """Open rounds: ask for the next one with the tables of the current public model.

    They cannot be copied or pickled (a copy would answer again with the same noise), and
    threads that share them take turns.
    """

    def __init__(self, rounds: TableRounds) -> None:
        self._rounds = rounds
        self._lock = Lock()

    @property
    def left(self) -> int:
        """How many rounds are still paid for."""
        return self._rounds.left

    def look(self, candidate: int, table: Floats) -> None:
        """From now on a candidate is compared with this table of the model, until the next one.

        It must be public, as must the choice of the candidates that are compared anew.
        """
        with self._lock:
            if not 0 <= candidate < self._rounds.candidates:
                raise ParameterError(f"there are {self._rounds.candidates} candidates, from 0 on")
            self._rounds.look(int(candidate), table)

    def draw(
        self, allowed: Sequence[int] | Counts, penalties: Sequence[float] | Floats
    ) -> MeasuredTable:
        """One more round among the allowed candidates, each as the model last said.

        ``penalties`` are in rows; both must be public.
        """
        with self._lock:
            places = self._open(allowed, penalties)
            return self._rounds.draw(places, penalties)

    def next(
        self, allowed: Sequence[int], tables: Sequence[Floats], penalties: Sequence[float]
    ) -> MeasuredTable:
        """The next round, with the tables of all allowed candidates: the model's counts, public."""
        with self._lock:
            places = self._open(allowed, penalties)
            if len(places) != len(tables):
                raise ParameterError("give one table and one penalty for each allowed candidate")
            for place, table in zip(places, tables, strict=True):
                self._rounds.look_once(int(place), table)
            return self._rounds.draw(places, penalties)

    def _open(self, allowed: Sequence[int] | Counts, penalties: Sequence[float] | Floats) -> Counts:
        if self._rounds.left <= 0:
            raise SessionExhausted(
                "all rounds of this run were drawn; open a new run with a new charge"
            )
        places = self._places(allowed)
        if len(places) != len(penalties):
            raise ParameterError("give one table and one penalty for each allowed candidate")
        return places

    def _places(self, allowed: Sequence[int] | Counts) -> Counts:
        places = np.array(allowed, np.int64)
        if not len(places) or len(np.unique(places)) != len(places):
            raise ParameterError("no candidate is allowed, or one is named twice")
        if places.min() < 0 or places.max() >= self._rounds.candidates:
            raise ParameterError(f"there are {self._rounds.candidates} candidates, from 0 on")
        return places

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise GrantError("measured rounds are not copied or pickled: they are one charge")

    def __repr__(self) -> str:
        return f"<rounds over marginal tables: {self.left} left>"
