"""What is asked of ``winnow.learn``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from winnow.core.checks import Real
from winnow.core.options import AUTO, EPSILON, Checked, Option
from winnow.learn.methods import (
    Additive,
    Boosted,
    LearnMethod,
    LearnMethods,
    OneRule,
    VoteOrAdditive,
)

if TYPE_CHECKING:
    from winnow.learn.about import AboutRows
    from winnow.learn.labelled import Labelled
    from winnow.learn.plan import LearnPlan
    from winnow.privacy import Budget

Weights = Sequence[Real] | Mapping[Any, Real] | str


@dataclass(frozen=True, kw_only=True)
class Learn(Checked):
    """A classifier of a public class, chosen privately."""

    epsilon: Annotated[Real, EPSILON]
    delta: Annotated[
        Real,
        Option(
            "For large-margin; boosted and additive models may be more accurate with it.",
            "D",
            least=0,
            below=1,
        ),
    ] = 0.0
    method: Annotated[
        LearnMethod | str,
        LearnMethods(
            "auto takes vote-or-additive for two classes, one-rule where rows are too few, and "
            "additive for more classes. The name of a class of rules means "
            "one-rule over it; N is from 1 to 4.",
            (Boosted, Additive, VoteOrAdditive, OneRule),
        ),
    ] = AUTO
    class_weights: Annotated[
        Weights | None,
        Option(
            "The weight of each class, as in no=1,yes=3; balanced: by the classes' noisy sizes; "
            "auto: with the automatic method balanced where a class is rare, otherwise equal.",
            "WEIGHTS",
            panel="Method",
        ),
    ] = AUTO
    calibrated: Annotated[
        bool,
        Option(
            "Calibrate the model's predicted probabilities with noisy counts, for a twentieth "
            "of epsilon=.",
            panel="Method",
        ),
    ] = False
    budget: Budget | None = None
    seed: Any = None

    def plan(self, about: AboutRows | Labelled) -> LearnPlan:
        """What is charged, drawn and promised, from what is public of the rows."""
        from winnow.learn.plan import planned

        return planned(self, about)
