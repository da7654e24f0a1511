"""What is asked of ``winnow.itemsets``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal

from winnow.core.checks import Real
from winnow.core.options import AUTO, EPSILON, Checked, Methods, Option
from winnow.core.request import Run
from winnow.errors import ParameterError
from winnow.foreign import shown
from winnow.itemsets.methods import METHODS, NOT_TAKEN, ItemsetMethod
from winnow.select.methods import PickMethod

if TYPE_CHECKING:
    from winnow.itemsets.about import AboutBaskets
    from winnow.itemsets.plan import ItemsetPlan
    from winnow.privacy import Budget
    from winnow.read.baskets import SealedBaskets

Supports = Literal["winners", "subsets"]


@dataclass(frozen=True, kw_only=True)
class Itemsets(Checked):
    """The itemsets of a size that most baskets hold."""

    size: Annotated[
        int,
        Option(
            "How many items an itemset has; above 4 baskets have to be bounded.",
            "R",
            least=1,
            served=20,
        ),
    ]
    epsilon: Annotated[Real, EPSILON]
    delta: Annotated[
        Real,
        Option(
            "Needed where the items are private; it helps longer lists of public items, too.",
            "D",
            least=0,
            below=1,
        ),
    ] = 0.0
    k: Annotated[
        int | None,
        Option(
            "How many itemsets to release; by default the best one.",
            "K",
            least=1,
            served=1000,
            flag="-k",
        ),
    ] = None
    method: Annotated[
        PickMethod | ItemsetMethod | str,
        Methods(
            "auto chooses by public numbers and says why, and for lists spends a part of "
            "epsilon= to find out. exponential, permute-and-flip, noisy-max, joint, canonical "
            "and canonical-adaptive need a public list of items, the others a delta=; weighted "
            "takes either.",
            METHODS,
            without=NOT_TAKEN,
        ),
    ] = AUTO
    supports: Annotated[
        Supports | None,
        Option(
            "Release noisy supports, too, for half of epsilon=: those of the winners, or of the "
            "winners and all their subsets, from which association rules follow.",
            "winners|subsets",
        ),
    ] = None
    budget: Budget | None = None
    seed: Any = None
    run: Run | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.run is not None:
            _check_run(self.run)

    def plan(self, about: AboutBaskets | SealedBaskets) -> ItemsetPlan:
        """What is charged, drawn and promised, from what is public of the baskets."""
        from winnow.itemsets.plan import planned

        return planned(self, about)


def _check_run(run: Any) -> None:
    """Refuse what mining cannot do."""
    if not isinstance(run, Run):
        raise ParameterError(f"run={shown(run)} is not a wn.Run; give wn.Run(pad_to=5)")
    if isinstance(run.pad_to, str):
        raise ParameterError(
            f"pad_to={shown(run.pad_to)}: the time of mining has no public bound; give seconds"
        )
    if run.progress is not None:
        raise ParameterError("mining reports no progress; leave progress= out of run=")
    if run.memory != Run().memory:
        raise ParameterError(
            "the memory of baskets is bounded where they are read; leave memory= out of run=, "
            "and give it to wn.read_baskets"
        )
