"""What is asked of ``winnow.lp``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal

from winnow.core.checks import Real
from winnow.core.options import EPSILON, Checked, Methods, Option
from winnow.errors import GuaranteeError, ParameterError
from winnow.foreign import shown
from winnow.lp.methods import LpMethod, PersonRows, ScalarSides

if TYPE_CHECKING:
    from winnow.core.request import Run
    from winnow.lp.plan import LpPlan
    from winnow.lp.sealing import LpProblem
    from winnow.privacy import Budget

_REFUSED = {
    "objective": "objective-private programs (c is private)",
    "row": "row-private programs (the entries of A move a little)",
    "matrix": "row-private programs (the entries of A move a little)",
    "column": "column-private programs (a person owns a column)",
    "high-sensitivity-objective": "high-sensitivity objective-private programs",
}


@dataclass(frozen=True, kw_only=True)
class Lp(Checked):
    """A linear program whose right-hand sides, or whose rows, are private."""

    method: Annotated[
        LpMethod | str,
        Methods(
            "What is private: scalar-sides is for right-hand sides that one person moves by "
            "little, person-rows for rows that are people.",
            (ScalarSides, PersonRows),
            panel="What is private",
            auto=False,
        ),
    ]
    epsilon: Annotated[Real, EPSILON]
    delta: Annotated[
        Real,
        Option(
            "E.g. 1e-6: rounds cost less than with pure privacy, which 0 asks for.",
            "D",
            least=0,
            below=1,
        ),
    ] = 0.0
    alpha: Annotated[
        Real | None, Option("The violation that is aimed at; it sets the rounds.", "A", above=0)
    ] = None
    beta: Annotated[
        Real, Option("The promise may fail with this probability.", "P", above=0, below=1)
    ] = 0.05
    accountant: Annotated[
        Literal["best", "pure", "zcdp", "tight"],
        Option("How the privacy loss of rounds is added up; a budget has its own way.", "NAME"),
    ] = "best"
    budget: Budget | None = None
    seed: Any = None
    run: Run | None = None

    def __post_init__(self) -> None:
        if isinstance(self.method, str) and self.method in _REFUSED:
            raise GuaranteeError(
                f"method={self.method!r}: {_REFUSED[self.method]} of Hsu-Roth-Roughgarden-Ullman "
                "2014 are not covered here; choose scalar-sides (b is private) or person-rows (a "
                "person owns a row)"
            )
        super().__post_init__()
        _check_run(self.run)

    def plan(self, about: LpProblem) -> LpPlan:
        """What is charged, drawn and promised, from what is public of the program."""
        from winnow.lp.plan import planned

        return planned(self, about)


def _check_run(run: Any) -> None:
    """Refuse what a linear program does not heed."""
    from winnow.core.request import Run

    if run is None or (isinstance(run, Run) and run == Run(pad_to=run.pad_to)):
        return
    if isinstance(run, Run):
        raise ParameterError(
            "a linear program bounds no memory and reports no progress; give wn.Run(pad_to=...)"
        )
    raise ParameterError(f"run={shown(run)} is not a wn.Run; give wn.Run(pad_to=...)")
