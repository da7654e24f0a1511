"""What concerns every run, whatever is asked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from winnow.core.padding import Padding, PadTo, check_progress
from winnow.errors import ParameterError
from winnow.foreign import shown


@dataclass(frozen=True)
class Run:
    """How a release runs: none of it changes what is promised or which law is drawn.

    ``memory`` bounds what a plan may use. ``pad_to`` holds the result back (and an error after the
    charge) until so many seconds after the call, or until a multiple of that if it takes longer;
    "plan" takes a public estimate of four times what it takes. ``progress`` is called with (steps
    done, steps in all).
    """

    memory: str | int = "4GB"
    pad_to: PadTo = None
    progress: Callable[[int, int], None] | None = None

    def __post_init__(self) -> None:
        check_progress(self.progress, self.pad_to)

    def padding(self) -> Padding:
        """The clock of a call that begins now."""
        return Padding(self.pad_to)


def run_of(run: object) -> Run:
    """How it runs, by default where nothing was said; what is no ``Run`` is refused."""
    if run is None:
        return Run()
    if not isinstance(run, Run):
        raise ParameterError(
            f"run={shown(run)} is not a wn.Run; give wn.Run(memory=, pad_to=, progress=)"
        )
    return run
