"""What requests have in common, whatever is asked, and what concerns every run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Generic, TypeVar

from winnow.core.checks import Real
from winnow.core.options import Checked
from winnow.core.padding import Padding, PadTo, check_progress
from winnow.core.threads import checked
from winnow.core.wanted import UNKNOWN, epsilon_for
from winnow.errors import ParameterError
from winnow.foreign import shown

P = TypeVar("P")


@dataclass(frozen=True)
class Run:
    """How a release runs. It changes neither the guarantee nor the distribution of the result.

    ``memory`` bounds what a plan may use. ``pad_to`` holds the result (and an error after the
    charge) back until that many seconds after the call, or until a multiple of that if it takes
    longer; "plan" takes four times a public estimate. ``progress`` is called with (steps done,
    steps in all). ``threads`` is how many
    threads a large draw may take: by default WINNOW_THREADS of the environment, or all processors.
    What is released is the same for any number.
    """

    memory: str | int = "4GB"
    pad_to: PadTo = None
    progress: Callable[[int, int], None] | None = None
    threads: int | None = None

    def __post_init__(self) -> None:
        check_progress(self.progress, self.pad_to)
        checked(self.threads)

    def padding(self) -> Padding:
        """The clock of a call that begins now, and the threads of its draw."""
        return Padding(self.pad_to, self.threads)


def run_of(run: object) -> Run:
    """How it runs, by default where nothing was said; what is no ``Run`` is refused."""
    if run is None:
        return Run()
    if not isinstance(run, Run):
        raise ParameterError(
            f"run={shown(run)} is not a wn.Run; give wn.Run(memory=, pad_to=, progress=, threads=)"
        )
    return run


class VerbRequest(Checked):
    """What is asked of a verb, and of its plan alike."""

    no_rounds: ClassVar[str] = ""
    """Why it reports no progress: what has no rounds. Empty: it may have some."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.running.progress is not None and self.no_rounds:
            raise ParameterError(f"progress= is for rounds, and {self.no_rounds}; leave it out")

    @property
    def used(self) -> list[str] | None:
        """The columns of a table that it is about; None: all of them."""
        return None

    @property
    def running(self) -> Run:
        """How it runs."""
        return run_of(getattr(self, "run", None))


class PlannedRequest(Generic[P]):
    """A request that is to be planned by its epsilon, or by the error that is wanted."""

    of: ClassVar[Any]
    """The record of the release, which has an epsilon and a plan."""
    unknown: ClassVar[str] = UNKNOWN
    """What is said where nothing is known of the error."""

    def at(self, epsilon: Real) -> Any:
        """The release at an epsilon."""
        own = {each.name for each in fields(self)} & {each.name for each in fields(self.of)}  # type: ignore[arg-type]
        return self.of(**{name: getattr(self, name) for name in own - {"epsilon"}}, epsilon=epsilon)

    def plan(self, about: Any) -> P:
        """The plan at epsilon=, or at the least epsilon that brings the error."""
        asked: Any = self
        error_at = self._errors(about)
        least = epsilon_for(asked.epsilon, asked.error, error_at, unknown=self.unknown)
        plan: P = self.at(least).plan(about)
        return plan

    def _errors(self, about: Any) -> Callable[[float], float | None]:
        """The error to expect, by epsilon; None: nothing is known of it."""

        def error(epsilon: float) -> float | None:
            expected: float | None = self.at(epsilon).plan(about).error
            return expected

        return error
