"""What an experiment is given and what it gives back."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from winnow.core.workloads.arrays import Stream
from winnow.experiments.drawing import mark

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from winnow.experiments.pieces import Pieces

Start = tuple[float, float]

_FINE = time.get_clock_info("process_time").resolution < 1e-5


def clock() -> Start:
    """The present moment."""
    return time.perf_counter(), time.process_time()


def since(start: Start) -> float:
    """Seconds since then."""
    passed = time.perf_counter() - start[0]
    return min(passed, max(1e-9, time.process_time() - start[1])) if _FINE else passed


Floats = NDArray[np.float64]

GENERATED = "generated stand-in"
"""How the source of made-up data begins."""
STAND_IN = "a stand-in for the paper's data"


def uniforms(stream: Stream, count: int) -> Floats:
    """Uniform on (0, 1): the middles of 2^32 cells."""
    return (stream.take(count, np.uint32) + 0.5) * 2.0**-32


def gumbels(stream: Stream, count: int) -> Floats:
    """Standard Gumbel noise in float64."""
    return np.asarray(-np.log(-np.log(uniforms(stream, count))))


def exponentials(stream: Stream, count: int) -> Floats:
    """Standard exponential noise in float64."""
    return np.asarray(-np.log(uniforms(stream, count)))


def normals(stream: Stream, count: int) -> Floats:
    """Standard normal numbers in float64."""
    return np.asarray(ndtri(uniforms(stream, count)))


Result = TypeVar("Result")


@dataclass
class ExperimentRun:
    """The settings of a run, and what its experiments share."""

    quick: bool = False
    """Fewer points, draws and rounds, smaller data: minutes instead of hours."""
    data: Path | None = None
    """A folder with data sets."""
    packages: bool = False
    """Whether an installed package that carries a data set is asked for it."""
    seed: int = 0
    progress: Callable[[str], None] = lambda what: None
    """Told what is being computed."""
    pieces: Pieces | None = None
    """Where finished parts are kept, so that a run that was stopped can go on."""
    _known: dict[Any, Any] = field(default_factory=dict, repr=False)

    def once(self, key: Any, compute: Callable[[], Result]) -> Result:
        """What several figures of a paper show is computed once."""
        if key not in self._known:
            self._known[key] = compute()
        result: Result = self._known[key]
        return result

    def piece(self, name: Sequence[Any], compute: Callable[[], Any]) -> Any:
        """A part of an experiment as plain data, computed unless a run before kept it."""
        if self.pieces is None:
            return self.once(tuple(name), lambda: plain(compute()))
        if name not in self.pieces:
            self.pieces.keep(name, plain(compute()))
        return self.pieces.get(name)

    def pick(self, quick: Result, whole: Result) -> Result:
        """The first in a quick run, else the second."""
        return quick if self.quick else whole


Rows = list[dict[str, Any]]


@dataclass(frozen=True)
class Findings:
    """What an experiment measured: all that its claims are decided by, and its figure shows."""

    parameters: dict[str, Any]
    """Everything that was chosen: sizes, privacy, draws, seeds."""
    results: Rows
    """The numbers behind the figure, one row for each curve or cell."""
    source: str
    """Where the data came from."""

    @property
    def stand_in(self) -> bool:
        """Whether data of the paper were made up, so that nothing can be said about it."""
        return GENERATED in self.source


@dataclass(frozen=True)
class Claim:
    """Something that the paper says or shows, and whether it came out here."""

    text: str
    holds: bool


@dataclass(frozen=True)
class Judged:
    """What the numbers say about the paper."""

    claims: tuple[Claim, ...]
    """Each is decided by the results."""
    notes: tuple[str, ...] = ()
    """What else differs from the paper, and why."""


@dataclass(frozen=True)
class Reproduced:
    """One experiment, done."""

    measured: Findings
    judged: Judged
    draw: Callable[[Findings], Figure]

    @property
    def verdict(self) -> str:
        """Agrees, agrees in part or differs, with the number of claims that hold."""
        claims = self.judged.claims
        if self.measured.stand_in:
            return f"none: {STAND_IN}"
        holding = sum(claim.holds for claim in claims)
        word = "agrees" if holding == len(claims) else "agrees in part" if holding else "differs"
        return f"{word}, {holding} of {len(claims)} claims"

    @property
    def line(self) -> str:
        """What agrees with the paper, what differs, and why."""
        claims, notes = self.judged.claims, self.judged.notes
        agrees = [claim.text for claim in claims if claim.holds]
        fails = [f"not so here: {claim.text}" for claim in claims if not claim.holds]
        if self.measured.stand_in:
            return f"Shown on {STAND_IN}: {'; '.join([*agrees, *fails, *notes])}."
        return (
            f"Agrees: {'; '.join(agrees) or 'none of the claims checked'}. "
            f"Differs: {'; '.join([*fails, *notes]) or 'nothing known'}."
        )

    def figure(self) -> Figure:
        """The picture; made-up data are named in its title and legend."""
        drawn = self.draw(self.measured)
        if self.measured.stand_in:
            mark(drawn, STAND_IN)
        return drawn


def plain(value: Any) -> Any:
    """Numbers, texts, lists and dicts as JSON knows them; what is not finite becomes None."""
    if isinstance(value, dict):
        return {str(key): plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple | np.ndarray):
        return [plain(each) for each in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def exponent(points: Sequence[tuple[float, float]]) -> float:
    """The power of x with which y grows, fitted to all points on logarithmic axes."""
    x, y = np.log(np.array(points, float).T)
    return float(np.polyfit(x, y, 1)[0])


def whole(rows: Rows, key: str) -> bool:
    """Whether every row has a number there: a value that is missing decides nothing."""
    values = [row.get(key) for row in rows]
    return bool(rows) and all(v is not None and math.isfinite(v) for v in values)


@dataclass(frozen=True)
class Experiment:
    """A figure or table of a paper. Judging and drawing need only what was measured."""

    name: str
    """As in the paper: "1", "table1"."""
    title: str
    measure: Callable[[ExperimentRun], Findings]
    judge: Callable[[Findings], Judged]
    draw: Callable[[Findings], Figure]
    seconds: tuple[float, float]
    """About how long it takes on one core: quick, and whole with all data at hand."""
    after: str = ""
    """The experiment whose computations it shows again; its time comes on top if it is left out."""

    def run(self, run: ExperimentRun) -> Reproduced:
        """Measure, and judge what was measured."""
        measured = self.measure(run)
        return Reproduced(measured, self.judge(measured), self.draw)

    @property
    def label(self) -> str:
        """How people write it: "Figure 1", "Table 1", "Runtimes"."""
        if self.name.isdigit():
            return f"Figure {self.name}"
        return self.name.capitalize().replace("1", " 1")

    @property
    def file(self) -> str:
        """The name of its files, without ending."""
        return f"figure-{self.name}" if self.name.isdigit() else self.name
