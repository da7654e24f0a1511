"""Who is private in a linear program, and how it is solved."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from winnow.core.checks import Real
from winnow.core.options import Method, Option
from winnow.errors import ParameterError
from winnow.inner_product.methods import IndexName


@dataclass(frozen=True, kw_only=True)
class LpMethod(Method):
    """What both neighbour models share: rounds, searches and the way to select."""

    rounds: Annotated[
        int | None,
        Option(
            "The number of rounds; by default those for alpha=, or those with the best promise.",
            "T",
            least=1,
        ),
    ] = None
    searches: Annotated[
        int | None,
        Option(
            "Solves of a search for the optimal value between two numbers; 8 unless given.",
            "N",
            least=1,
        ),
    ] = None
    measure: Annotated[
        bool,
        Option("Pay a tenth of the budget to measure the violation."),
    ] = False
    selection: Annotated[
        Literal["dense", "lazy"] | None,
        Option("How candidates are selected; by the size unless given.", "HOW"),
    ] = None
    index: Annotated[
        IndexName | None,
        Option("Select over an index, as the paper does; the distribution is the same.", "NAME"),
    ] = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.selection is not None and self.index is not None:
            raise ParameterError("selection= and index= exclude each other; give one")


@dataclass(frozen=True, kw_only=True)
class ScalarSides(LpMethod):
    """Right-hand sides are private, and one person moves each by little; A and c are public."""

    sensitivity: Annotated[
        Real | tuple[Real, Real],
        Option(
            "The most that one person moves any right-hand side, or DOWN,UP for what adding one "
            "does.",
            "S",
        ),
    ]
    monotone: Annotated[bool, Option("Adding a person never lowers a right-hand side.")] = False


@dataclass(frozen=True, kw_only=True)
class PersonRows(LpMethod):
    """Each row of A and b is a person; the objective and the ranges are public."""

    entries: Annotated[
        tuple[Real, Real],
        Option("Public range of the entries of A; what is outside is clipped.", "LOW,HIGH"),
    ]
    sides: Annotated[
        tuple[Real, Real],
        Option("Public range of the right-hand sides; what is outside is clipped.", "LOW,HIGH"),
    ]
    rows: Annotated[int, Option("A public bound on the number of rows.", "M", least=1)]
    exceptions: Annotated[
        int | None,
        Option(
            "Fewer rows than this may stay unmet; with alpha= alone the fewest that allow it.",
            "S",
            least=1,
        ),
    ] = None
