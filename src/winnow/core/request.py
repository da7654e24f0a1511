"""What concerns every run, whatever is asked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from winnow.core.padding import Padding, PadTo, check_progress
from winnow.core.threads import checked
from winnow.errors import ParameterError
from winnow.foreign import shown


@dataclass(frozen=True)
class Run:
    """How a release runs: none of it changes what is promised or which law is drawn.

    ``memory`` bounds what a plan may use. ``pad_to`` holds the result back (and an error after the
    charge) until so many seconds after the call, or until a multiple of that if it takes longer;
    "plan" takes a public estimate of four times what it takes. ``progress`` is called with (steps
    done, steps in all). ``threads`` is how many threads large draws may take: by default
    WINNOW_THREADS of the environment, or all processors. What is released is the same for any
    number of them.
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
