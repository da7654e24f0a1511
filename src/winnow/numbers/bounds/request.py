"""What is asked of ``winnow.bounds``."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Annotated, Any

from winnow.core.checks import Real
from winnow.core.options import EPSILON, Checked, Option
from winnow.core.request import Run, run_of
from winnow.errors import ParameterError
from winnow.foreign import shown

if TYPE_CHECKING:
    from winnow.numbers.bounds.plan import BoundsPlan
    from winnow.privacy import Budget


@dataclass(frozen=True, kw_only=True)
class AskedBounds(Checked):
    """What bounds and their plan are asked for alike."""

    column: Annotated[str, Option("The column: numbers on a public grid, or codes.", "COLUMN")] = (
        field(kw_only=False)
    )
    epsilon: Annotated[Real | None, EPSILON] = None
    budget: Budget | None = None
    run: Run | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.column, str):
            raise ParameterError(f"column={shown(self.column)} is not a name; give a text")
        if self.running.progress is not None:
            raise ParameterError("progress= is for rounds, and bounds have none; leave it out")

    @property
    def running(self) -> Run:
        """How it runs."""
        return run_of(self.run)


@dataclass(frozen=True, kw_only=True)
class Bounds(AskedBounds):
    """Private bounds of a column of numbers."""

    epsilon: Annotated[Real, EPSILON] = field()
    seed: Any = None

    def plan(self, about: Any) -> BoundsPlan:
        """What is charged, drawn and promised, from what is public of the table."""
        from winnow.numbers.bounds.plan import planned

        return planned(self, about)


@dataclass(frozen=True, kw_only=True)
class PlannedBounds(AskedBounds):
    """Bounds that are to be planned, by their epsilon or by the rows that may lie beyond."""

    error: Annotated[
        Real | None,
        Option("Instead of epsilon=: how many rows may lie beyond a bound.", "ROWS", above=0),
    ] = None

    def plan(self, about: Any) -> BoundsPlan:
        """The plan at epsilon=, or at the least epsilon that leaves so many rows beyond."""
        from winnow.core.wanted import epsilon_for
        from winnow.numbers.bounds.plan import planned

        said = {each.name: getattr(self, each.name) for each in fields(AskedBounds)}

        def at(epsilon: Real) -> BoundsPlan:
            return planned(Bounds(**{**said, "epsilon": epsilon}), about)

        return at(epsilon_for(self.epsilon, self.error, lambda epsilon: at(epsilon).error))
