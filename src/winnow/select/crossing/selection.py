"""Draws from sealed scores: what every selection mechanism has in common, and a stream.

``SparseVectorStream`` asks value after value under one charge.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from threading import Lock
from typing import Any, ClassVar, NoReturn, Protocol

import numpy as np
from numpy.typing import NDArray

from winnow.core.checks import Real, exact, positive, probability, set_counts
from winnow.core.key import Key
from winnow.core.noisy_top.draw import LARGEST_SCALE, SMALLEST_SCALE
from winnow.core.noisy_top.filter import Scores
from winnow.core.noisy_top.given import GivenRanks
from winnow.core.noisy_top.in_memory import InMemory
from winnow.core.noisy_top.laplace_tests import LaplaceTests
from winnow.core.noisy_top.universe import Drawn, Universe
from winnow.core.process import Owner
from winnow.core.relation import Relation
from winnow.core.released import Receipt, Released
from winnow.core.sealed import PublicFact
from winnow.core.tape import BitStream, Tape
from winnow.core.utility import Utility
from winnow.errors import GrantError, ParameterError, SessionExhausted
from winnow.foreign import guarded
from winnow.privacy import Guarantee, Promise, guarantee_of
from winnow.read.classes import SealedClasses
from winnow.read.kept import KeptCounts, held
from winnow.read.scores import SealedScores, seal_scores
from winnow.select.lists import CountedItems


class Pick(ABC):
    """A mechanism that draws candidates from a universe, and releases nothing else about it.

    It has one draw, for scores in memory, counts in an engine, given classes and itemsets alike.
    """

    title: ClassVar[str]
    endless: ClassVar[bool] = False
    """Whether the universe may be unknown: countably many candidates of count 0."""
    counts_people: ClassVar[bool] = False
    """Whether a count of 0 has to mean that nobody has the candidate."""
    reads_baskets: ClassVar[bool] = False
    """Whether it looks at baskets themselves, and not at counts of candidates alone."""

    @property
    @abstractmethod
    def name(self) -> str:
        """What the receipt calls it."""

    @property
    def ordered(self) -> bool:
        """Whether the order of the released candidates is part of the release."""
        return True

    @abstractmethod
    def promise(self, relation: Relation) -> Promise:
        """What one release is charged, and why."""

    @abstractmethod
    def check_public(self, utility: Utility, total: int | None) -> None:
        """Refuse what public numbers rule out, before anything is charged.

        ``total`` is how many candidates there are; None: nobody knows.
        """

    @abstractmethod
    def _draw(self, universe: Universe, utility: Utility, tape: Tape) -> Drawn:
        """What is selected; fewer than asked for where the mechanism may fail."""

    def of_scores(self, scores: Scores, utility: Utility, tape: Tape) -> Drawn:
        """A draw from scores in memory, whose members are positions."""
        return self._draw(InMemory(scores), utility, tape)

    def one_of_scores(self, scores: Scores, utility: Utility, tape: Tape) -> int:
        """The position that is drawn, of a mechanism that selects one."""
        return int(self.of_scores(scores, utility, tape).members[0])

    def guarantee(self, promised: Promise) -> Guarantee:
        """What the release states about itself."""
        return guarantee_of(promised.event)


class Selection(Pick):
    """A pick from a public list of candidates."""

    pairs: ClassVar[type[list[Any]]] = CountedItems
    """What a list with numbers beside its labels is."""

    def check(self, scores: SealedScores) -> None:
        """Refuse what cannot be released, before anything is charged."""
        self.check_public(scores.utility, scores.size)

    def drawn(self, scores: SealedScores, key: Key) -> list[Any]:
        """The selected labels, with their noisy counts where these are released.

        A set is listed in the candidates' own order: the order of the noisy scores is not
        covered by its theorem and must not leave.
        """
        chosen, counts = self._selected(key.open(scores.values), scores.utility, key.tape)
        labels = [scores.label(position) for position in chosen]
        return labels if counts is None else self.pairs(zip(labels, counts, strict=True))

    def _selected(
        self, content: Scores | KeptCounts, utility: Utility, tape: Tape
    ) -> tuple[list[int], list[Any] | None]:
        """The selected positions as they may be listed, and their noisy counts, if released."""
        chosen, noisy = opened(content, lambda universe: self._draw(universe, utility, tape))
        if self.ordered:
            return chosen, noisy
        order = np.argsort(chosen).tolist()
        listed = None if noisy is None else [noisy[place] for place in order]
        return [int(chosen[place]) for place in order], listed

    def simulate(
        self, scores: Scores, utility: Utility, draws: int, seed: int
    ) -> NDArray[np.int64]:
        """Draws on public or made-up scores, for audits and plans: a row of positions each."""
        root = Tape.seeded(seed)
        universe = InMemory(scores)
        with np.errstate(all="ignore"):
            drawn = [
                self._draw(universe, utility, root.child(f"draw-{r}")).members for r in range(draws)
            ]
        rows = np.array(drawn, np.int64)
        return rows if self.ordered else np.sort(rows, axis=1)


def opened(
    content: Scores | KeptCounts, draw: Callable[[Universe], Drawn]
) -> tuple[list[Any], list[Any] | None]:
    """What is drawn from scores in memory, or from counts that stay in their engine."""
    if isinstance(content, KeptCounts):
        return content.drawn(draw)
    found = draw(InMemory(content))
    return found.members, found.noisy


@dataclass(frozen=True)
class FromClasses:
    """A selection from a universe that is given in classes of equal scores.

    Formal guarantees
        Those of the selection on all candidates: it asks for classes and their sizes, and a
        member of a class is uniform. A set is listed in a random order, drawn apart from it.
    """

    selection: Pick

    @property
    def name(self) -> str:
        """What the receipt calls it."""
        return f"{self.selection.name}; from classes"

    def promise(self, relation: Relation) -> Promise:
        """What one release is charged, and why."""
        return self.selection.promise(relation)

    def check(self, classes: SealedClasses) -> None:
        """Refuse what cannot be released, before anything is charged."""
        self.selection.check_public(classes.steps.grid.utility, classes.total)
        if self.selection.counts_people and classes.steps.lowest != 0:
            raise ParameterError(
                f"{self.selection.name} is for counts: 0 is a candidate that nobody has; leave "
                "out lowest=, or use another mechanism"
            )

    def guarantee(self, promised: Promise) -> Guarantee:
        """What the release states about itself."""
        return self.selection.guarantee(promised)

    def drawn(self, classes: SealedClasses, key: Key) -> list[Any]:
        """The selected candidates, or fewer than asked for."""
        members = key.tape.child("members").stream()
        ranks = GivenRanks(key.open(classes.source), classes.total, classes.steps, members)
        utility = classes.steps.grid.utility
        selected = self.selection._draw(ranks, utility, key.tape.child("selection"))
        value = [ranks.label(candidate) for candidate in selected.members]
        if self.selection.ordered:
            return value
        return shuffled(value, key.tape.child("order").stream())


def shuffled(values: list[Any], stream: BitStream) -> list[Any]:
    """A uniformly random order."""
    values = list(values)
    for last in range(len(values) - 1, 0, -1):
        other = stream.below(last + 1)
        values[last], values[other] = values[other], values[last]
    return values


@dataclass(frozen=True)
class TopKList(Selection):
    """What mechanisms that release k labels in order have in common."""

    epsilon: Real
    k: int

    def __post_init__(self) -> None:
        positive(epsilon=self.epsilon)
        set_counts(self, k="k")

    @property
    def name(self) -> str:
        """What the receipt calls it."""
        return f"{self.title}, k={self.k}"


def check_in_memory(scores: SealedScores) -> None:
    """Refuse counts that stay in an engine, before anything is charged."""
    scores.values.publish(PublicFact.REFUSED_DATA, held)


def opened_scores(scores: SealedScores, key: Key) -> Scores:
    """Scores in memory, opened for one draw."""
    return held(key.open(scores.values))


def check_size(k: int, total: int | None) -> None:
    """Refuse to select more candidates than there are."""
    if total is not None and k > total:
        raise ParameterError(f"k={k} exceeds {total} candidates; lower k")


def check_known(name: str, k: int, total: int | None) -> None:
    """Refuse universes that nobody knows, and more candidates than there are."""
    if total is None:
        raise ParameterError(
            f"{name} needs the public list of all items, or how many there are; give items= of "
            "baskets or total= of classes, or use large-margin"
        )
    check_size(k, total)


def check_delta(delta: Real) -> None:
    """Refuse a delta outside (0, 1), or below what float64 thresholds can hold."""
    probability(delta=delta)
    if exact("delta", delta) < Fraction(1, 10**100):
        raise ParameterError(f"delta={delta} is below 1e-100; give a delta like 1e-9")


LARGEST_UNIVERSE = 2**50
"""Logarithms of binomials are bounded up to here."""


def check_lists(name: str, k: int, total: int | None) -> None:
    """Refuse universes that are endless, or too small or too large for whole lists and sets."""
    check_known(name, k, total)
    if total is not None and total > LARGEST_UNIVERSE:
        raise ParameterError(
            f"{name} takes up to 2^50 candidates, and there are {total}; use large-margin, or a "
            "smaller universe"
        )


@lru_cache(maxsize=256)
def check_scale(scale: Fraction) -> None:
    """Refuse parameters so far apart that no float64 could filter with them."""
    if not SMALLEST_SCALE < scale < LARGEST_SCALE:
        raise ParameterError(
            "epsilon and sensitivity differ by more than 280 orders of magnitude; "
            "give scores in other units"
        )


class Comparing(Protocol):
    """What a stream of comparisons needs to know of its mechanism."""

    @property
    def threshold(self) -> Real:
        """The public threshold."""

    @property
    def cutoff(self) -> int:
        """How many reports are paid for."""

    def scales(self, utility: Utility) -> tuple[Fraction, Fraction]:
        """The noise scales of the threshold and of each value."""


class SparseVectorStream:
    """An open run of the sparse vector: ask until `exhausted`.

    One stream is one charge: it cannot be copied, pickled or used by a fork (a copy would
    answer again with the same noise), and threads that share it take turns.
    """

    def __init__(
        self,
        mechanism: Comparing,
        utility: Utility,
        guarantee: Guarantee,
        key: Key,
        receipt: Receipt,
    ) -> None:
        self.guarantee = guarantee
        self.receipt = receipt
        self._key = key
        self._run = AboveRun(mechanism, utility, key.tape)
        self._lock = Lock()
        self._owner = Owner()

    @property
    def exhausted(self) -> bool:
        """Whether the cutoff is reached: no further question will be answered."""
        return self._run.left <= 0

    @property
    def answered(self) -> int:
        """How many questions were answered."""
        return self._run.asked

    @guarded
    def ask(self, values: Any) -> Released[list[bool]]:
        """Whether each further value is reported above; shorter if the cutoff is reached.

        ``values`` is a number, or whatever ``winnow.select`` takes as scores.
        """
        self._owner.check("this stream", "ask there, or open another one with a charge of its own")
        if isinstance(values, SealedScores):
            scores = values
        else:
            if isinstance(values, int | float | np.number):
                values = [values]
            scores = seal_scores(values, self._run.utility, copy=False)
        if scores.utility != self._run.utility:
            raise ParameterError(
                "these values declare another sensitivity or relation than this stream; "
                "seal them with the utility that it was opened with"
            )
        with self._lock:
            if self.exhausted:
                raise SessionExhausted(
                    "this sparse vector has reached its cutoff; open a new one with a new charge"
                )
            reports = self._run.ask(opened_scores(scores, self._key))
        return Released([bool(report) for report in reports], self.guarantee, self.receipt)

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise GrantError("a sparse vector stream is not copied or pickled: it is one charge")

    def __repr__(self) -> str:
        state = "exhausted" if self.exhausted else f"{self._run.left} reports left"
        return f"<sparse vector stream: {self.answered} answered, {state}>"


class AboveRun:
    """The comparisons of one run, with their place on the tape. Private."""

    def __init__(self, mechanism: Comparing, utility: Utility, tape: Tape) -> None:
        threshold_scale, value_scale = mechanism.scales(utility)
        self.utility = utility
        self.left = mechanism.cutoff
        self.asked = 0
        self._threshold = exact("threshold", mechanism.threshold)
        self._tests = LaplaceTests(tape, (threshold_scale,), value_scale)

    def ask(self, values: Scores) -> NDArray[np.bool_]:
        """Reports for the values in order, up to the cutoff."""
        start, threshold = self.asked, float(self._threshold)

        def offset(index: int) -> Fraction:
            return Fraction(values[index - start].item()) - self._threshold

        reports: list[NDArray[np.bool_]] = []
        with np.errstate(all="ignore"):  # a warning about a rounded product would be a leak
            floats = values.astype(np.float64)
            errors = 2.0**-50 * (np.abs(floats) + abs(threshold))
            for first in range(0, len(values), _BATCH):
                part = slice(first, first + _BATCH)
                passed = self._tests.outcomes(
                    start + first, floats[part] - threshold, errors[part], offset
                )
                hits = np.flatnonzero(passed)
                if len(hits) >= self.left:
                    passed = passed[: hits[self.left - 1] + 1]
                reports.append(passed)
                self.left -= int(np.count_nonzero(passed))
                self.asked += len(passed)
                if self.left <= 0:
                    break
        return np.concatenate(reports)


_BATCH = 4096
