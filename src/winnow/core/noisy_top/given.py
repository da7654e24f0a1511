"""Classes of candidates that a user gives: a score, how many have it, and how to get one of them.

What selection needs of a universe that nobody can list is made from these, as far
down as a draw asks: the scores in whole steps of a public grid, and a member only where a draw
ends in its class.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from winnow.core.noisy_top.grid import Grid
from winnow.core.noisy_top.universe import InClasses
from winnow.core.tape import BitStream
from winnow.errors import DataError, ParameterError
from winnow.foreign import instead

Score = int | float
Draw = Callable[["Uniform"], Any]
Key = tuple[int, int]
"""Which class as it was given, and the place inside it."""


class Uniform:
    """What a function that draws members gets: uniform integers, from the tape of the release."""

    __slots__ = ("_stream",)

    def __init__(self, stream: BitStream) -> None:
        self._stream = stream

    def below(self, bound: int) -> int:
        """A uniform integer in 0 .. bound - 1."""
        if bound < 1:
            raise ParameterError("below(bound) needs a bound of 1 or more")
        return self._stream.below(int(bound))

    def choice(self, candidates: Sequence[Any]) -> Any:
        """A uniform element of a sequence."""
        return candidates[self.below(len(candidates))]


@dataclass(frozen=True)
class GivenClass:
    """Candidates of one score: all of them in a sequence, or a function that draws one."""

    score: Score
    size: int
    members: Sequence[Any] | Draw

    @classmethod
    def parse(cls, entry: Any) -> GivenClass:
        """(score, members), or (score, how many, function); messages tell no value."""
        if not isinstance(entry, tuple) or len(entry) not in (2, 3):
            raise DataError(
                "a class has another form; give (score, members), or (score, how many, a "
                "function that draws a member)"
            )
        score, members = _score(entry[0]), entry[-1]
        if len(entry) == 2:
            if not hasattr(members, "__len__") or not hasattr(members, "__getitem__"):
                raise DataError(
                    "the members of a class are not a sequence; give a list, or with a function "
                    "(score, how many, function)"
                )
            return cls(score, len(members), members)
        size = entry[1]
        if isinstance(size, bool) or not isinstance(size, numbers.Integral) or size < 0:
            raise DataError(
                "the number of candidates of a class is not a whole number; give 0 or more"
            )
        if not callable(members):
            raise DataError(
                "the last part of (score, how many, function) is not a function; give one that "
                "draws a member"
            )
        return cls(score, int(size), members)


class ClassSource:
    """Classes by decreasing score: sorted already, or asked for one after another."""

    def __init__(self, given: Iterable[Any]) -> None:
        self.lazy = isinstance(given, Iterator)
        self._lock = Lock()
        self._rest = iter(given)
        self._known: list[GivenClass] = []
        if not self.lazy:
            while self._next():
                pass
            self._known.sort(key=lambda found: found.score, reverse=True)

    @property
    def known(self) -> list[GivenClass]:
        """Those that were asked for so far."""
        return self._known

    def at(self, place: int) -> GivenClass | None:
        """The class at a place; None: there are no more."""
        with self._lock:
            while len(self._known) <= place:
                if not self._next():
                    return None
            return self._known[place]

    def _next(self) -> bool:
        for entry in self._rest:
            parsed = GivenClass.parse(entry)
            if self.lazy and self._known and parsed.score > self._known[-1].score:
                raise DataError(
                    "classes that are listed lazily are not in order of decreasing score; sort them"
                )
            self._known.append(parsed)
            return True
        return False


@dataclass(frozen=True)
class Steps:
    """Scores as whole steps above the lowest one: the public grid of the utility."""

    grid: Grid
    lowest: Fraction

    @cached_property
    def _below(self) -> int:
        return self.lowest // Fraction(2) ** self.grid.power

    def of(self, score: Score) -> int:
        """The steps of a score, rounded down; below the lowest it is the lowest."""
        power = self.grid.power
        top, bottom = score.as_integer_ratio()
        whole = (top << -power) // bottom if power < 0 else top // (bottom << power)
        steps = whole - self._below
        if steps >= 2**62:
            raise DataError(
                "scores reach further above the lowest one than 64-bit integers hold (a step is "
                "2^-20 of the sensitivity); give scores in larger units"
            )
        return max(0, steps)


class GivenRanks(InClasses):
    """The given classes as a universe; classes of equal steps are one."""

    def __init__(
        self, source: ClassSource, total: int | None, steps: Steps, stream: BitStream
    ) -> None:
        self.total = total
        self._source, self._steps = source, steps
        self._uniform, self._next = Uniform(stream), 0
        self._parts: dict[int, list[tuple[int, GivenClass]]] = {}
        self._sizes: dict[int, int] = {}  # by decreasing count; the last may have more to come
        self._last: int | None = None
        self._pulled, self._ended = 0, False
        self._drawn: dict[Key, Any] = {}
        self._seen: dict[int, set[Any]] = {}
        self.lower(2**62)

    def _pull(self) -> None:
        latest = self._source.at(self._next)
        if latest is None:
            self._ended = True
            if self.total is not None and self._pulled != self.total:
                raise DataError("the classes do not add up to total=; list those of count 0, too")
            return
        place, self._next = self._next, self._next + 1
        if latest.size == 0:
            return
        count = self._steps.of(latest.score)
        self._last = count
        self._pulled += latest.size
        self._sizes[count] = self._sizes.get(count, 0) + latest.size
        self._parts.setdefault(count, []).append((place, latest))

    @property
    def floor(self) -> int:
        """Every candidate of this count or more is listed; 1: all that have any."""
        return 1 if self._ended or self._last is None else self._last + 1

    def top(self, reach: int = 0) -> int:
        """The largest count."""
        return next(iter(self._sizes), 0)

    def lower(self, floor: int, most: int | None = None) -> None:
        """List until the next class lies below; the first class is always whole."""
        floor = max(floor, 1)
        while not self._ended and (len(self._sizes) < 2 or (self._last or 0) >= floor):
            self._pull()
            if most is not None and len(self._sizes) > 1 and self._pulled > most:
                return

    def classes(self) -> tuple[NDArray[np.int64], list[int]]:
        """The counts that are listed, decreasing, and how many candidates have each."""
        floor = self.floor
        whole = {count: size for count, size in self._sizes.items() if count >= floor}
        return np.array(list(whole), np.int64), list(whole.values())

    def member(self, count: int, index: int) -> Key:
        """The candidate at a place of its class; one that a function draws is drawn now.

        Places of a drawn class get new members one after another, uniformly: that is a random
        order of the class.
        """
        parts = iter(self._parts[count])
        place, candidate = next(parts)
        while index >= candidate.size:
            index -= candidate.size
            place, candidate = next(parts)
        key = place, index
        if callable(candidate.members) and key not in self._drawn:
            self._drawn[key] = self._fresh(place, candidate.size, candidate.members)
        return key

    def _fresh(self, place: int, size: int, draw: Draw) -> Any:
        """A member that was not drawn yet."""
        seen = self._seen.setdefault(place, set())
        tries = 1000 + 100 * (size // max(1, size - len(seen)) + 1)  # fails once in e^100
        for _ in range(tries):
            member = draw(self._uniform)
            with instead(DataError("a member that a function draws must be hashable"), TypeError):
                new = member not in seen
            if new:
                seen.add(member)
                return member
        raise DataError(
            "a function keeps drawing the same members; check that its class is as large as "
            "declared"
        )

    def unseen(self, stream: BitStream) -> Key | None:
        """A uniform candidate of count 0; None where these have no names."""
        if self.total is None:
            return None
        self.lower(1)
        while not self._ended:
            self._pull()
        return self.member(0, stream.below(self._sizes[0]))

    def label(self, key: Key) -> Any:
        """The candidate itself."""
        members = self._source.known[key[0]].members
        label = self._drawn[key] if callable(members) else members[key[1]]
        return label.item() if isinstance(label, np.generic) else label


def _score(value: Any) -> Score:
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise DataError("the score of a class is not a number; give an integer or a float")
    if not math.isfinite(value):
        raise DataError("the score of a class is NaN or infinite")
    return value
