"""Events as stored data: written to and read from ledgers and receipts, forever the same."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from fractions import Fraction
from typing import Never, NoReturn

from winnow.core.checks import Real, count, exact, positive, probability, set_counts
from winnow.core.relation import Relation
from winnow.errors import DataError, ParameterError, RelationMismatch

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

    Sensitivity is in the l2 norm, and the released values are integers before the noise. It is
    not part of the event: where it moves a value at all it is at least 1, so that no variance
    is below noise_multiplier^2. ``DiscreteGaussian`` can say more.
    """

    noise_multiplier: Real
    relation: Relation


@dataclass(frozen=True, eq=False)
class DiscreteGaussian(_Single):
    """Integers released together with discrete Gaussian noise, perhaps of different variances.

    Neighbours move the integers by whole numbers. Their squares, each divided by the variance
    of its integer's noise, add up to at most ``squared_ratio``; no variance is below
    ``least_variance``. (At l2 sensitivity s with one sigma these are s^2/sigma^2 and sigma^2.)
    Integers may be chosen one after another, by what was released before, if each one's part
    of the sum was fixed beforehand.
    """

    squared_ratio: Real
    least_variance: Real
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
            raise ParameterError(
                f"steps={self.steps} is not between updates={self.updates} and {MOST_STEPS}; give "
                "about twice the updates and some more (calibrate_capped finds the best number)"
            )


@dataclass(frozen=True)
class Repeat:
    """An event count times; each run may depend on what earlier runs released."""

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
            raise ParameterError("Compose needs a tuple of one event or more; give Compose((a, b))")
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
class AnyOf:
    """One of several events; which one may depend on what was released before, and on nothing else.

    All are fixed beforehand. Whatever is chosen, the run costs no more than the dearest.
    """

    events: tuple[Event, ...]

    def __post_init__(self) -> None:
        if not isinstance(self.events, tuple) or not self.events:
            raise ParameterError("AnyOf needs a tuple of one event or more; give AnyOf((a, b))")
        Compose(self.events)  # checks each of them, and that they have one relation

    @property
    def relation(self) -> Relation:
        """The one relation of all choices."""
        return self.events[0].relation


@dataclass(frozen=True)
class Truncated:
    """An event that holds up to a lost mass delta.

    For all neighbours with output laws P and Q there are laws P* and Q* that satisfy the inner
    event, and a function 0 <= f <= 1 of the output, such that f P* <= P and f Q* <= Q have mass at
    least 1 - delta each.
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
    | DiscreteGaussian
    | ApproxDP
    | CappedRounds
    | Repeat
    | Compose
    | AnyOf
    | Truncated
)
"""Everything that a budget can be charged with."""

SINGLE_EVENTS = (
    PureDP,
    BoundedRange,
    DiscreteLaplace,
    Gaussian,
    DiscreteGaussian,
    ApproxDP,
    CappedRounds,
)
EVENT_NAMES = (
    *(kind.__name__ for kind in SINGLE_EVENTS),
    "Repeat",
    "Compose",
    "AnyOf",
    "Truncated",
)


def check_event(event: object) -> None:
    """Refuse, by the name of its type, anything that is not an event."""
    if not isinstance(event, Event):
        raise ParameterError(
            f"a {type(event).__name__} is not an event; give one of: {', '.join(EVENT_NAMES)}"
        )


def refuse_unknown(event: Never) -> NoReturn:
    """End of every ``match`` over events: mypy proves it closed, users get a clear error."""
    check_event(event)
    raise ParameterError(f"{type(event).__name__} is not accounted for here")


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
        case AnyOf(events):
            return f"one of ({', '.join(_formula(part) for part in events)})"
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


def to_json(event: Event) -> dict[str, object]:
    """The event as JSON-ready data; every number survives the round trip exactly."""
    check_event(event)
    match event:
        case Repeat(inner, times):
            return {"type": "Repeat", "event": to_json(inner), "count": times}
        case Compose(events):
            return {"type": "Compose", "events": [to_json(part) for part in events]}
        case AnyOf(events):
            return {"type": "AnyOf", "events": [to_json(part) for part in events]}
        case Truncated(inner, delta):
            number = short_number("delta", delta)
            return {"type": "Truncated", "event": to_json(inner), "delta": number}
        case single:
            numbers = {n: short_number(n, v) for n, v in single.parameters().items()}
            kind = type(single).__name__
            return {"type": kind, **numbers, "relation": str(single.relation)}


def from_json(data: Mapping[str, object]) -> Event:
    """The event that ``to_json`` wrote; unknown types and fields are refused by name."""
    if not isinstance(data, Mapping):
        raise DataError(f"an event is a JSON object, not a {type(data).__name__}")
    kind = data.get("type")
    if kind == "Repeat":
        inner, times = _take(data, "event", "count")
        return Repeat(from_json(inner), times)  # type: ignore[arg-type] # both check what they get
    if kind in ("Compose", "AnyOf"):
        (parts,) = _take(data, "events")
        if not isinstance(parts, list):
            raise DataError(f"field 'events' of the event {kind} is not a list")
        several = Compose if kind == "Compose" else AnyOf
        return several(tuple(from_json(part) for part in parts))
    if kind == "Truncated":
        inner, delta = _take(data, "event", "delta")
        return Truncated(from_json(inner), _number_from_json("delta", delta))  # type: ignore[arg-type]
    for single in SINGLE_EVENTS:
        if kind == single.__name__:
            names = [field.name for field in fields(single)]
            values = dict(zip(names, _take(data, *names), strict=True))
            numbers = {n: _number_from_json(n, v) for n, v in values.items() if n != "relation"}
            relation = Relation.parse(str(values["relation"]))
            return single(**numbers, relation=relation)  # type: ignore[arg-type] # they check
    raise DataError(f"event type {kind!r} is unknown; this version knows: {', '.join(EVENT_NAMES)}")


def _take(data: Mapping[str, object], *names: str) -> list[object]:
    """The values of exactly these fields, in order."""
    unknown = sorted(str(name) for name in data if name not in (*names, "type"))
    missing = [name for name in names if name not in data]
    if unknown or missing:
        raise DataError(
            f"event {data['type']} has "
            + " and ".join(
                f"{what} field(s) {', '.join(repr(name) for name in which)}"
                for what, which in (("unknown", unknown), ("missing", missing))
                if which
            )
        )
    return [data[name] for name in names]


def _number_from_json(name: str, value: object) -> Real:
    if isinstance(value, str):
        if not re.fullmatch(r"[0-9]+(/0*[1-9][0-9]*)?", value):
            raise DataError(f"{name}={value!r} is not a number; write it as p/q")
        return Fraction(value)
    exact(name, value)
    if not isinstance(value, int | float):
        raise DataError(f"{name}={value!r} is not a JSON number")
    return value
