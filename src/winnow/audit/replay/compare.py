"""Replay: what neighbours leave behind under the same tape differs in the released value only.

Every verb runs on small data and on all their neighbours, with identical tapes. Receipts,
guarantees, types, shapes, messages, warnings, errors and what stands behind them, files, their
names and sizes have to be the same to the last byte; the table of ``replay.allowed`` says what may
differ, because it is the released value, or follows from it. What follows from it has to be the
same wherever the value is. So this finds what no enumeration of a mechanism's law can see: one bit
about a person in a place that nobody thought of as output. Nor may two parts of a draw have the
same bits (``replay.bits``), which no law of one of them shows.
"""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from winnow.audit.replay.allowed import ALLOWED, AllowedField
from winnow.audit.replay.bits import bits_shared
from winnow.audit.replay.observation import Leaf, Observation, observe
from winnow.audit.replay.people import Family, People, neighbours
from winnow.audit.result import AuditResult
from winnow.core.options import Checked, Method, Methods, options
from winnow.core.relation import Relation


@dataclass(frozen=True)
class ReplayPlace:
    """The tape of a call, and where it may read and write."""

    seed: int
    inputs: Path
    outputs: Path

    def write(self, name: str, text: str) -> Path:
        """A file with private content, to be read by the call."""
        path = self.inputs / name
        path.write_text(text, encoding="utf-8")
        return path


Call = Callable[[People, ReplayPlace], Any]


def calling(
    verb: Callable[..., Any], given: Callable[[People], tuple[Any, ...]], **options: Any
) -> Call:
    """A call of a verb with what is made of the people, with the tape of the place."""

    def call(people: People, place: ReplayPlace) -> Any:
        return verb(*given(people), seed=place.seed, **options)

    return call


FULL_ONLY = (0, 4)
"""The groups of what a quick run leaves out: variants, and what is slow."""


def words_said(asked: Checked) -> dict[str, Any]:
    """The words of a request and of its method, by the names of options."""
    said: dict[str, Any] = {}
    for each in options(type(asked)):
        value = getattr(asked, each.name)
        if isinstance(value, Method):
            said |= {each.name: value.word(), **words_said(value)}
        elif each.words and value is not None:
            said[each.name] = value
    return said


def words_taken(verb: str, record: type[Any]) -> dict[tuple[str, str], tuple[str, ...]]:
    """All words that a request and its methods take, by the verb and the names of options."""
    taken: dict[tuple[str, str], tuple[str, ...]] = {}
    for each in options(record):
        if each.words:
            taken[verb, each.name] = each.words
        if isinstance(each.option, Methods):
            for made in each.option.of:
                taken |= words_taken(verb, made)
    return taken


@dataclass(frozen=True)
class Replay:
    """One call of one verb, on a family of people."""

    verb: str
    variant: str
    call: Call = field(repr=False)
    family: Family = field(repr=False)
    relation: Relation = Relation.ADD_REMOVE
    words: Mapping[str, Any] = field(default_factory=dict, repr=False)
    """Options of the verb that are words: which mechanism, which noise."""
    groups: tuple[int, int] = (1, 6)
    """So many groups of people, in a quick and in a full run; 0: it is left out."""
    needs: str = ""
    """An optional package without which this cannot run."""

    @property
    def available(self) -> bool:
        """Whether what it needs is installed."""
        return not self.needs or find_spec(self.needs) is not None

    @property
    def allowed(self) -> tuple[AllowedField, ...]:
        """What may differ between neighbours."""
        return ALLOWED[self.verb]


@dataclass(frozen=True)
class Difference:
    """A field that should not differ, and the neighbours between which it does."""

    path: str
    here: Leaf | None
    there: Leaf | None
    people: People
    others: People

    def __str__(self) -> str:
        here, there = _short(self.here), _short(self.there)
        return f"{self.path}: {here} for {self.people} and {there} for {self.others}"


def _short(leaf: Leaf | None) -> str:
    if leaf is None:
        return "nothing"
    text = f"{leaf[0]} {leaf[1]}"
    return text if len(text) < 400 else f"{text[:400]}..."


def replayed(entries: Iterable[Replay], *, quick: bool = False, seed: int) -> Iterator[AuditResult]:
    """Every entry whose package is there; in a quick run those that are quick."""
    for entry in entries:
        if entry.available and entry.groups[not quick]:
            yield replay(entry, quick=quick, seed=seed)


def replay(entry: Replay, *, quick: bool = False, seed: int) -> AuditResult:
    """One entry, on its odd groups, on random ones, and on all their neighbours."""
    run, first = ReplayRun(entry), seed_of(entry, seed)
    with TemporaryDirectory(prefix="winnow-replay-") as folder:
        for number, people in enumerate(entry.family.groups(entry.groups[not quick], first)):
            run.group(people, first + number, Path(folder))
    differences = [str(difference) for difference in run.found[:3]]
    if run.shared:
        differences.append(
            f"two parts of a draw have the same bits: {', '.join(sorted(run.shared))}"
        )
    if not run.done:  # nothing differs where nothing happens
        differences.append(f"every call failed: {run.error}")
    about = f"{run.pairs} pairs of neighbours; {run.same} runs released what others had released"
    return AuditResult(
        "replay",
        f"{entry.verb}, {entry.variant}: under one tape neighbours differ in what is released, and "
        "in nothing else.",
        f"{entry.verb}, {entry.variant}",
        str(entry.relation),
        "",
        0.0,
        float(len(run.found) + len(run.shared)),
        not differences,
        "; ".join([about, *differences]),
    )


def _empty(folder: Path) -> None:
    folder.mkdir(exist_ok=True)
    for path in folder.iterdir():
        path.unlink() if path.is_file() else shutil.rmtree(path)


def seed_of(entry: Replay, seed: int) -> int:
    """Each entry has tapes of its own, whatever stands before it in the table."""
    name = f"{seed}:{entry.verb}:{entry.variant}:{entry.relation}".encode()
    return int.from_bytes(hashlib.blake2b(name, digest_size=6).digest())


class ReplayRun:
    """The runs of one entry, and what was found."""

    def __init__(self, entry: Replay) -> None:
        self._entry = entry
        self._shown: dict[Any, tuple[People, Observation]] = {}
        self._whys: dict[str, str | None] = {}
        self.found: list[Difference] = []
        self.shared: set[str] = set()
        self.pairs = self.same = self.done = 0
        self.error = ""

    def group(self, people: People, seed: int, folder: Path) -> None:
        """A group of people against itself, and against all neighbours."""
        entry = self._entry
        here = self.observed(people, seed, folder)
        self.compare(here, self.observed(people, seed, folder), people, people)
        for others in neighbours(people, entry.family.universe, entry.relation):
            there = self.observed(others, seed, folder)
            self.pairs += 1
            self.compare(here, there, people, others)
            self._derived(there, others, seed)
        self._derived(here, people, seed)

    def observed(self, people: People, seed: int, folder: Path) -> Observation:
        """All that can be seen of one call."""
        inputs, outputs = folder / "inputs", folder / "outputs"
        for path in (inputs, outputs):  # the same places each time: their names may be shown
            _empty(path)
        place = ReplayPlace(seed, inputs, outputs)
        with bits_shared() as shared:
            seen = observe(lambda: self._entry.call(people, place), outputs)
        self.shared |= shared
        if seen.get("result.0.exit", ("int", "0"))[1] != "0":  # a command that failed
            self.error = seen["result.0.stderr"][1]
        elif "error" in seen:
            self.error = seen["error"][1]
        else:
            self.done += 1
        return seen

    def compare(
        self, here: Observation, there: Observation, people: People, others: People
    ) -> None:
        """Note what differs between two calls and may not."""
        refused = [self._refused(seen) for seen in (here, there)]
        if refused[0] != refused[1] and all(text is None or text for text in refused):
            return  # one of them is refused, with words that the table has
        same = self._released(here) == self._released(there)
        for path in {**here, **there}:
            one, other = here.get(path), there.get(path)
            if one != other and not self._may_differ(path, one, other, same=same):
                self.found.append(Difference(path, one, other, people, others))

    def _refused(self, seen: Observation) -> str | None:
        """The text of an error that the table has, '' for another error, None for none."""
        error = seen.get("error")
        if error is None:
            return None
        known = any(f.why == "refusal" and f.matches(error[1]) for f in self._entry.allowed)
        return error[1] if known else ""

    def _may_differ(self, path: str, one: Leaf | None, other: Leaf | None, *, same: bool) -> bool:
        why = self._why(path)
        if why == "laid-out":
            return True
        if why == "keyed":
            if one is None or other is None:
                return not same
            return one[0] == other[0] and (not same or len(one[1]) == len(other[1]))
        if why == "derived":
            return not same
        if why != "released":
            return False
        kinds = {leaf[0] for leaf in (one, other) if leaf is not None} - {"NoneType"}
        return len(kinds) < 2  # what is drawn has one type, whatever it is

    def _why(self, path: str) -> str | None:
        if path not in self._whys:
            reasons = (field.why for field in self._entry.allowed if field.matches(path))
            self._whys[path] = next((why for why in reasons if why != "refusal"), None)
        return self._whys[path]

    def _released(self, seen: Observation) -> Observation:
        return {path: leaf for path, leaf in seen.items() if self._why(path) == "released"}

    def _derived(self, seen: Observation, people: People, seed: int) -> None:
        """What follows from a value is the same for everybody who released it."""
        size = len(people) if self._entry.relation is Relation.SUBSTITUTION else 0
        key = (size, seed, tuple(sorted(self._released(seen).items())))
        others, known = self._shown.setdefault(key, (people, seen))
        self.same += others != people and "error" not in seen
        for path, leaf in seen.items():
            if self._why(path) == "derived" and known.get(path) != leaf:
                self.found.append(Difference(path, known.get(path), leaf, others, people))
