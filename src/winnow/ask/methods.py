"""How questions are answered, as objects with their options; ``winnow.ask(..., method=)``."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal

from winnow.core.checks import Real
from winnow.core.options import Method, Option
from winnow.core.process import parse_memory
from winnow.errors import ParameterError
from winnow.foreign import shown

if TYPE_CHECKING:
    from winnow.ask.plan import AskPlan
    from winnow.ask.request import Ask
    from winnow.read.about import AboutTable

Calibration = Literal["target-charging", "paper"]


class AskMethod(Method, ABC):
    """How questions are answered. One of your own plans a session from public facts."""

    @abstractmethod
    def plan(self, asked: Ask, about: AboutTable) -> AskPlan:
        """All that is fixed before the rows are looked at."""


@dataclass(frozen=True, kw_only=True)
class Independent(AskMethod):
    """Noise on every answer, up to the number of questions paid for; for few questions."""

    def plan(self, asked: Ask, about: AboutTable) -> AskPlan:
        """Gaussian noise on so many counts."""
        from winnow.ask.plan import independent

        return independent(asked, about)


@dataclass(frozen=True, kw_only=True)
class MultiplicativeWeights(AskMethod):
    """A hypothesis answers, and learns where a private test finds it wrong; for many questions."""

    updates: Annotated[
        int | None,
        Option("How often it may learn; chosen from public numbers by default.", "C", least=1),
    ] = None
    alpha: Annotated[
        Real | None,
        Option(
            "Instead of updates=: the error bound to aim at, as a fraction of the rows.",
            "A",
            above=0,
            below=1,
        ),
    ] = None
    threshold: Annotated[
        Real | Literal["proved"] | None,
        Option(
            "How far off, as a fraction of the rows, the hypothesis may be before it learns. By "
            "default low while that is affordable; proved: what is proved to last, throughout.",
            "T",
            above=0,
        ),
    ] = None
    warm_start: Annotated[
        Real | Literal["auto"],
        Option(
            "A share of the charge for noisy counts of pairs of columns to start from; auto takes "
            "one where it should help, 0 none.",
            "SHARE",
            least=0,
            below=1,
        ),
    ] = "auto"
    fallback: Annotated[
        Real | Literal["auto"],
        Option(
            "A share of the charge for independent answers when updates have run out; auto takes "
            "one where it lowers the error bound, 0 none.",
            "SHARE",
            least=0,
            below=1,
        ),
    ] = "auto"
    calibration: Annotated[Calibration, Option("Which proof sizes the noise.", "NAME")] = (
        "target-charging"
    )
    universe: Annotated[
        Any,
        Option(
            "Keep the hypothesis on this many sampled cells (with smoothness=; alpha: as many as "
            "alpha= needs), or on those of a public list: for a command a CSV file, a label for "
            "each column.",
            "CELLS|FILE",
            where=("command",),
        ),
    ] = None
    smoothness: Annotated[
        Real | None,
        Option(
            "With universe=: no cell holds more than this part of the rows.",
            "XI",
            above=0,
            where=("command",),
        ),
    ] = None
    phi: Annotated[
        Real | Literal["rows"],
        Option(
            "With universe=: how far, as a fraction of the rows, the data may be from what such "
            "cells can carry, on any question; rows: as far as independent draws are.",
            "PHI",
            least=0,
            where=("command",),
        ),
    ] = 0.0
    universe_seed: Annotated[
        int, Option("With universe=: names the sample of cells.", "SEED", where=("command",))
    ] = 0
    memory: Annotated[
        str,
        Option(
            "How much to use, e.g. 2GB: for every cell where they fit, or for a list of updates.",
            "SIZE",
            where=("command",),
        ),
    ] = "1GB"

    def __post_init__(self) -> None:
        super().__post_init__()
        parse_memory(self.memory)
        given = self.universe
        listed = isinstance(given, Sequence) or hasattr(given, "__array__")
        if given is not None and not listed and not isinstance(given, int):
            raise ParameterError(
                f"universe={shown(given)} is a {type(given).__name__}; give a number of cells, "
                "'alpha', or a list of cells with a label for each column"
            )

    def plan(self, asked: Ask, about: AboutTable) -> AskPlan:
        """Rounds, and what they start and end with."""
        from winnow.ask.plan import weights

        return weights(self, asked, about)
