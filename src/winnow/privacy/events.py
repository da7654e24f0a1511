"""What a mechanism did to privacy, as data: the events that a budget is charged with.

An event is a frozen record of public parameters and of the neighbour relation under
which they hold. It says nothing about how the mechanism is implemented. The meaning of
a stored event never changes; a new meaning gets a new name. The union ``Event`` is
closed: every accountant is one ``match`` over it, and anything else is refused by name.

Parameters are kept as given and mean the number that was written (``checks.exact``):
``PureDP(0.1)`` and ``PureDP(Fraction(1, 10))`` are the same event.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Never, NoReturn

from winnow.domain.checks import Real, count, exact, positive, probability, set_counts
from winnow.domain.neighbours import Relation
from winnow.errors import InputError, RelationMismatch

MOST_STEPS = 10**7


class _Single:
    """An event of one mechanism; two of them are equal when their parameters are."""

    relation: Relation

    def __post_init__(self) -> None:
        object.__setattr__(self, "relation", Relation.parse(self.relation))
        for name, value in self.parameters().items():
            if name == "delta":
                probability(delta=value)
            else:
                positive(**{name: value})

    def parameters(self) -> dict[str, Real]:
        """The numbers of the event, as given."""
        return {name: value for name, value in vars(self).items() if name != "relation"}

    def _meaning(self) -> tuple[object, ...]:
        numbers = (exact(name, value) for name, value in self.parameters().items())
        return (type(self), self.relation, *numbers)

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return isinstance(other, _Single) and self._meaning() == other._meaning()

    def __hash__(self) -> int:
        return hash(self._meaning())


@dataclass(frozen=True, eq=False)
class PureDP(_Single):
    """Pure privacy: no output becomes more than e^epsilon times as likely."""

    epsilon: Real
    relation: Relation


@dataclass(frozen=True, eq=False)
class BoundedRange(_Single):
    """The log ratios of all outputs lie in one interval of length epsilon.

    The exponential mechanism has it [Durfee-Rogers 2019]. It implies pure privacy with
    the same epsilon and composes better.
    """

    epsilon: Real
    relation: Relation


@dataclass(frozen=True, eq=False)
class DiscreteLaplace(_Single):
    """Integers released with discrete Laplace noise of scale noise_multiplier x sensitivity."""

    noise_multiplier: Real
    relation: Relation


@dataclass(frozen=True, eq=False)
class Gaussian(_Single):
    """Integers released with discrete Gaussian noise, sigma = noise_multiplier x sensitivity.

    Sensitivity is in the l2 norm, and the released values are integers before the noise.
    """

    noise_multiplier: Real
    relation: Relation


@dataclass(frozen=True, eq=False)
class ApproxDP(_Single):
    """Approximate privacy: pure privacy up to probability delta."""

    epsilon: Real
    delta: Real
    relation: Relation


@dataclass(frozen=True, eq=False)
class CappedRounds(_Single):
    """Any number of rounds that end when `updates` of them have said more than "no update".

    Every round is epsilon-DP as a whole and releases either "no update" or anything else;
    the run ends with the round that makes the `updates`-th exception at the latest. Quiet
    rounds are not free, but they seldom cost: up to a lost mass the run is no worse than
    `steps` mechanisms that are epsilon-DP (see ``capped.lost_mass``). ``steps`` is chosen
    in the accounting and changes nothing of the mechanism; more of them lose less mass.
    """

    updates: int
    epsilon: Real
    steps: int
    relation: Relation

    def __post_init__(self) -> None:
        set_counts(self, updates="updates", steps="steps")
        super().__post_init__()
        if not self.updates <= self.steps <= MOST_STEPS:
            raise InputError(
                f"steps={self.steps} is not between updates={self.updates} and {MOST_STEPS}; give "
                "about twice the updates and some more (calibrate_capped finds the best number)"
            )


@dataclass(frozen=True)
class Repeat:
    """The same event, count times; each run may depend on what earlier runs released."""

    event: Event
    count: int

    def __post_init__(self) -> None:
        check_event(self.event)
        count(count=self.count)
        object.__setattr__(self, "count", int(self.count))

    @property
    def relation(self) -> Relation:
        """The relation of the repeated event."""
        return self.event.relation


@dataclass(frozen=True)
class Compose:
    """Several events, one after the other; each may depend on what earlier ones released."""

    events: tuple[Event, ...]

    def __post_init__(self) -> None:
        if not isinstance(self.events, tuple) or not self.events:
            raise InputError("Compose needs a tuple of one event or more; give Compose((a, b))")
        for event in self.events:
            check_event(event)
        relations = sorted({event.relation for event in self.events})
        if len(relations) > 1:
            raise RelationMismatch(
                f"Compose mixes the relations {' and '.join(relations)}; bring every event under "
                "one relation (as_substitution converts add-remove to substitution)"
            )

    @property
    def relation(self) -> Relation:
        """The one relation of all parts."""
        return self.events[0].relation


@dataclass(frozen=True)
class Truncated:
    """An event that holds up to a lost mass delta.

    For all neighbours with output laws P and Q there are measures P~ <= P and Q~ <= Q of
    mass at least 1 - delta that satisfy what the inner event says of P and Q.
    """

    event: Event
    delta: Real

    def __post_init__(self) -> None:
        check_event(self.event)
        probability(delta=self.delta)
        # kept as the exact number, so that equal events compare equal
        object.__setattr__(self, "delta", exact("delta", self.delta))

    @property
    def relation(self) -> Relation:
        """The relation of the inner event."""
        return self.event.relation


Event = (
    PureDP
    | BoundedRange
    | DiscreteLaplace
    | Gaussian
    | ApproxDP
    | CappedRounds
    | Repeat
    | Compose
    | Truncated
)
"""Everything that a budget can be charged with."""

SINGLE_EVENTS = (PureDP, BoundedRange, DiscreteLaplace, Gaussian, ApproxDP, CappedRounds)
EVENT_NAMES = (*(kind.__name__ for kind in SINGLE_EVENTS), "Repeat", "Compose", "Truncated")


def check_event(event: object) -> None:
    """Refuse, by the name of its type, anything that is not an event."""
    if not isinstance(event, Event):
        raise InputError(
            f"a {type(event).__name__} is not an event; give one of: {', '.join(EVENT_NAMES)}"
        )


def refuse_unknown(event: Never) -> NoReturn:
    """End of every ``match`` over events: mypy proves it closed, users get a clear error."""
    check_event(event)
    raise InputError(f"{type(event).__name__} is not accounted for here")


def describe(event: Event) -> str:
    """The event in one short line, public parameters only."""
    check_event(event)
    return f"{_formula(event)} under {event.relation}"


def _formula(event: Event) -> str:
    match event:
        case Repeat(inner, times):
            return f"{times} x {_formula(inner)}"
        case Compose(events):
            return f"({' + '.join(_formula(part) for part in events)})"
        case Truncated(inner, delta):
            return f"{_formula(inner)} up to delta={short_number('delta', delta)}"
        case single:
            numbers = (f"{n}={short_number(n, v)}" for n, v in single.parameters().items())
            return f"{type(single).__name__}({', '.join(numbers)})"


def short_number(name: str, value: Real) -> int | float | str:
    """The number in its shortest exact form: 1, 0.1, or "1/3"."""
    number = exact(name, value)
    if number.denominator == 1 and abs(number) < 2**53:
        return int(number)
    try:
        short = float(number)
    except OverflowError:
        return str(number)
    # Not every fraction is the shortest decimal of a float: 1/3 stays "1/3".
    return short if Fraction(repr(short)) == number else str(number)
