"""Twins that give one bit away in a place that nobody looks at; a replay has to catch each."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from winnow.audit.replay.compare import Replay, ReplayPlace, replay
from winnow.audit.replay.observation import Shown
from winnow.audit.replay.people import People
from winnow.audit.replay.selections import HOLDERS, sealed
from winnow.audit.result import AuditResult, as_twin
from winnow.core.noise import discrete_laplace_array
from winnow.core.released import Released
from winnow.core.tape import Tape
from winnow.errors import GuaranteeError, ParameterError
from winnow.select.verb import select

Broken = Callable[[Released[Any], bool, ReplayPlace], Any]
"""What a twin makes of an honest release, of one bit about the people, and of a place."""


def replay_twins(*, seed: int) -> Iterator[AuditResult]:
    """Each twin is honest but for one bit: whether nobody has the item 'a'."""
    for fault, broken in TWINS.items():
        result = replay(twin_of(broken), quick=True, seed=seed)
        yield as_twin(fault, "Replay", result)
    yield as_twin(SHARED, "Replay", replay(sharing(), quick=True, seed=seed))


SHARED = "two noisy counts are drawn from the same bits"


def sharing(*names: str) -> Replay:
    """Noise on two counts, each from the bits of its name: of one and the same unless told."""

    def call(people: People, place: ReplayPlace) -> Any:
        tape = Tape.seeded(place.seed)
        return [int(discrete_laplace_array(tape.child(each), 1, Fraction(2))[0])
                for each in names or ("count", "count")]  # fmt: skip

    return Replay("select", "two parts of a draw", call, HOLDERS, groups=(1, 1))


def twin_of(broken: Broken, *, leaks: bool = True) -> Replay:
    """A selection that leaks through what `broken` does; or does the same, and does not leak."""

    def call(people: People, place: ReplayPlace) -> Any:
        released = select(sealed(people), epsilon=0.5, seed=place.seed)
        return broken(released, leaks and not any("a" in items for items in people), place)

    verb = "winnow select" if broken is _text else "select"
    return Replay(verb, "a release that leaks", call, HOLDERS, groups=(2, 2))


def _message(released: Released[Any], bit: bool, place: ReplayPlace) -> Any:
    sys.stderr.write("done.\n" if bit else "done\n")
    return released


def _receipt(released: Released[Any], bit: bool, place: ReplayPlace) -> Any:
    return replace(released, receipt=replace(released.receipt, reason="few" if bit else ""))


def _guarantee(released: Released[Any], bit: bool, place: ReplayPlace) -> Any:
    moved = np.nextafter(released.guarantee.epsilon, 1.0) if bit else released.guarantee.epsilon
    return replace(released, guarantee=replace(released.guarantee, epsilon=float(moved)))


def _type(released: Released[Any], bit: bool, place: ReplayPlace) -> Any:
    return replace(released, value=np.str_(released.value) if bit else released.value)


def _error(released: Released[Any], bit: bool, place: ReplayPlace) -> Any:
    if place.seed % 2:  # every other call fails, for everybody alike
        raise GuaranteeError("no such item") if bit else ParameterError("no such item")
    return released


def _context(released: Released[Any], bit: bool, place: ReplayPlace) -> Any:
    if not place.seed % 2:
        return released
    try:
        raise KeyError("a" if bit else "c")
    except KeyError:
        raise ParameterError("no such item") from None


def _warning(released: Released[Any], bit: bool, place: ReplayPlace) -> Any:
    if bit:
        warnings.warn("an overflow was met", RuntimeWarning, stacklevel=2)
    return released


def _size(released: Released[Any], bit: bool, place: ReplayPlace) -> Any:
    (place.outputs / "log.txt").write_text("done\n\n" if bit else "done\n", encoding="utf-8")
    return released


def _name(released: Released[Any], bit: bool, place: ReplayPlace) -> Any:
    (place.outputs / ("a.txt" if bit else "b.txt")).write_text("done", encoding="utf-8")
    return released


def _text(released: Released[Any], bit: bool, place: ReplayPlace) -> Any:
    text = f"{released.value}{' ' if bit else ''}\n"
    return [Shown(0, released.to_json(), ""), Shown(0, text, "")]


def _attribute(released: Released[Any], bit: bool, place: ReplayPlace) -> Any:
    hidden = replace(released)
    object.__setattr__(hidden, "_people", int(bit))
    return hidden


TWINS: dict[str, Broken] = {
    "a message has a full stop more where nobody has an item": _message,
    "the reason on a receipt tells where nobody has an item": _receipt,
    "the last digit of a guarantee tells where nobody has an item": _guarantee,
    "a label has another type where nobody has an item": _type,
    "an error has another type where nobody has an item": _error,
    "the context behind an error names a private item": _context,
    "a warning is given where nobody has an item": _warning,
    "a file has one byte more where nobody has an item": _size,
    "a file has another name where nobody has an item": _name,
    "a command shows a space more where nobody has an item": _text,
    "a hidden attribute of a result tells where nobody has an item": _attribute,
}
