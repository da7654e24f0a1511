"""What is asked of ``winnow.ask``."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from winnow.ask.methods import AskMethod, Independent, MultiplicativeWeights
from winnow.core.checks import Real
from winnow.core.options import AUTO, Checked, Methods, Option
from winnow.core.padding import PadTo, checked

if TYPE_CHECKING:
    from winnow.ask.opening import Opened
    from winnow.ask.plan import AskPlan
    from winnow.privacy import Budget
    from winnow.read.about import AboutTable
    from winnow.read.crossing import SealedTable


@dataclass(frozen=True, kw_only=True)
class Ask(Checked):
    """Questions about a table, one after another under one charge."""

    epsilon: Annotated[Real, Option("The privacy loss of the whole session.", "E", above=0)]
    delta: Annotated[
        Real,
        Option(
            "The probability that the epsilon does not hold, such as 1e-6.", "D", above=0, below=1
        ),
    ]
    method: Annotated[
        AskMethod | str,
        Methods(
            "A hypothesis that learns (for very many questions), or noise on every answer (for "
            "few); auto takes what should have the smaller errors.",
            (MultiplicativeWeights, Independent),
        ),
    ] = AUTO
    max_queries: Annotated[
        int, Option("The number of questions over which errors are bounded.", "K", least=1)
    ] = 10_000
    beta: Annotated[
        Real,
        Option(
            "Bounds hold for all answers together with probability 1 - B.", "B", above=0, below=1
        ),
    ] = 0.05
    state: str | Path | None = None
    pad_to: PadTo = None
    budget: Budget | None = None
    seed: Any = None

    def __post_init__(self) -> None:
        super().__post_init__()
        checked(self.pad_to)

    def plan(self, about: AboutTable | SealedTable) -> AskPlan:
        """What is charged, drawn and promised, from what is public of the table."""
        from winnow.ask.plan import planned

        return planned(self, about)

    def open(self, table: SealedTable) -> Opened:
        """Charge the session and open it."""
        plan = self.plan(table)
        session = plan.run(table, budget=self.budget, seed=self.seed, state=self.state)
        return session.padded(self.pad_to)
