"""The options that several commands share, each with its help text.

Mechanisms come from the one table. The names of noises are repeated here, because the module
that knows them loads NumPy, and ``winnow --help`` should not; a test keeps both lists equal.
"""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

from winnow.core.relation import Relation
from winnow.mechanisms import SELECT, TOP_K, words


def choices(name: str, verb: str, *first: str) -> type[StrEnum]:
    """The words of the table of mechanisms that an option takes."""
    allowed = (*first, *words(verb))
    return StrEnum(name, [(word.upper().replace("-", "_"), word) for word in allowed])  # type: ignore[return-value]


if TYPE_CHECKING:
    Mechanism: TypeAlias = str
    TopKMechanism: TypeAlias = str
else:
    Mechanism = choices("Mechanism", SELECT)
    TopKMechanism = choices("TopKMechanism", TOP_K, "auto")
PERMUTE_AND_FLIP = Mechanism("permute-and-flip")
AUTO = TopKMechanism("auto")


class Noise(StrEnum):
    """The noise laws by name."""

    GUMBEL = "gumbel"
    EXPONENTIAL = "exponential"
    LAPLACE = "laplace"
    LOGISTIC = "logistic"
    HALF_LOGISTIC = "half-logistic"


class Thresholds(StrEnum):
    """The thresholds of the large margin mechanism by name."""

    TIGHT = "tight"
    PRINTED = "printed"


_MECHANISM = "Mechanism"
_SCORES = "What one person can do to a score"
_OUTPUT = "Output"
TABLE = "Table and people"
"""The panel of whose rows a table holds."""

ASKED = "What is asked"
"""The panel of what a plan is asked for."""

EpsilonOption = Annotated[
    float,
    typer.Option("--epsilon", metavar="E", help="The privacy loss of this call in total."),
]
PlannedEpsilonOption = Annotated[
    float | None,
    typer.Option(
        "--epsilon",
        metavar="E",
        help="The privacy loss to plan for.",
        rich_help_panel=ASKED,
    ),
]
EpsilonOfPlanOption = Annotated[
    float,
    typer.Option(
        "--epsilon", metavar="E", help="The privacy loss to plan for.", rich_help_panel=ASKED
    ),
]
DeltaOfPlanOption = Annotated[
    float, typer.Option("--delta", metavar="D", help="E.g. 1e-6.", rich_help_panel=ASKED)
]
AssumedRowsOption = Annotated[
    int,
    typer.Option(
        "-n",
        "--rows",
        metavar="N",
        help="How many rows the table has; a public or assumed number.",
        rich_help_panel=ASKED,
    ),
]
AssumedRowsPerPersonOption = Annotated[
    int,
    typer.Option(
        "--max-rows-per-person",
        metavar="L",
        help="The most rows of one person.",
        rich_help_panel=ASKED,
    ),
]
ConfidenceOption = Annotated[
    float,
    typer.Option(
        "--confidence",
        metavar="P",
        help="How sure errors and bounds are.",
        rich_help_panel=ASKED,
    ),
]
SizeOption = Annotated[int, typer.Option("-k", metavar="K", help="How many items to release.")]
SeedOption = Annotated[
    int | None,
    typer.Option(
        "--seed",
        metavar="N",
        help="Repeatable and not private: for tests only. The receipt says so.",
    ),
]

PadToOption = Annotated[
    str | None,
    typer.Option(
        "--pad-to",
        metavar="SECONDS|plan",
        help="Hold the result back until a fixed time, so that the clock tells nothing; 'plan': a "
        "public estimate.",
    ),
]
PadToSecondsOption = Annotated[
    float | None,
    typer.Option(
        "--pad-to",
        metavar="SECONDS",
        help="Hold the result back until a fixed time, so that the clock tells nothing.",
    ),
]

HeaderOption = Annotated[
    bool,
    typer.Option(
        "--header",
        help="The first line of the file names its columns for certain, so that messages may "
        "show what stands there; otherwise they show only names that you gave.",
    ),
]

DeltaOption = Annotated[
    float,
    typer.Option(
        "--delta",
        metavar="D",
        help="For large-margin, which needs it, e.g. 1e-6.",
        rich_help_panel=_MECHANISM,
    ),
]
MechanismOption = Annotated[
    Mechanism,
    typer.Option(
        "--mechanism",
        metavar="NAME",
        help="permute-and-flip, exponential, noisy-max, lipschitz (with --noise) or "
        "large-margin (with --delta).",
        rich_help_panel=_MECHANISM,
    ),
]
NoiseOption = Annotated[
    Noise | None,
    typer.Option(
        "--noise",
        metavar="NAME",
        help="For lipschitz: gumbel, exponential, laplace, logistic or half-logistic.",
        rich_help_panel=_MECHANISM,
    ),
]
ThresholdsOption = Annotated[
    Thresholds | None,
    typer.Option(
        "--thresholds",
        metavar="NAME",
        help="For large-margin: tight (default), or printed as in the paper.",
        rich_help_panel=_MECHANISM,
    ),
]
TopKMechanismOption = Annotated[
    TopKMechanism,
    typer.Option(
        "--mechanism",
        metavar="NAME",
        help="auto, joint, canonical, oneshot, peel-permute-and-flip, gamma, laplace (with "
        "--max-items-per-user); with --delta peel-gumbel and oneshot-approximate; for private "
        "labels limited-domain and stability.",
        rich_help_panel=_MECHANISM,
    ),
]
TopKNoiseOption = Annotated[
    Noise | None,
    typer.Option(
        "--noise",
        metavar="NAME",
        help="For canonical and oneshot: exponential (default), gumbel, laplace, logistic or "
        "half-logistic.",
        rich_help_panel=_MECHANISM,
    ),
]
GammaOption = Annotated[
    float | None,
    typer.Option(
        "--gamma",
        metavar="G",
        help="For canonical: how much the last item counts against the first one missed, 0 to 1 "
        "(default 0.5).",
        rich_help_panel=_MECHANISM,
    ),
]
SensitivityOption = Annotated[
    float,
    typer.Option(
        "--sensitivity",
        metavar="S",
        help="The most by which one person can move any score.",
        rich_help_panel=_SCORES,
    ),
]
MonotoneOption = Annotated[
    bool,
    typer.Option(
        "--monotone",
        help="Adding a person never lowers a score, as with counts: half the noise.",
        rich_help_panel=_SCORES,
    ),
]
RelationOption = Annotated[
    Relation,
    typer.Option(
        "--relation",
        metavar="NAME",
        help="Neighbours: add-remove (one person more or less) or substitution (one record "
        "replaced).",
        rich_help_panel=_SCORES,
    ),
]
ColumnsOption = Annotated[
    str | None,
    typer.Option(
        "--columns",
        metavar="A,B,...",
        help="Only these columns of the schema.",
        rich_help_panel=TABLE,
    ),
]
PersonOption = Annotated[
    str | None,
    typer.Option(
        "--person",
        metavar="COLUMN",
        help="The column that says whose row it is; without it every row is a person.",
        rich_help_panel=TABLE,
    ),
]
MaxRowsPerPersonOption = Annotated[
    int,
    typer.Option(
        "--max-rows-per-person",
        metavar="L",
        help="With --person: keep at most L rows of one person.",
        rich_help_panel=TABLE,
    ),
]
LineBreaksOption = Annotated[
    bool,
    typer.Option(
        "--line-breaks",
        help="Fields of CSV and TSV between double quotes may hold line breaks.",
    ),
]
JsonOption = Annotated[
    bool,
    typer.Option("--json", help="Print JSON and nothing else.", rich_help_panel=_OUTPUT),
]
OutOption = Annotated[
    Path | None,
    typer.Option(
        "--out",
        metavar="FILE",
        help="Save the result, too: .csv, .json or .parquet.",
        rich_help_panel=_OUTPUT,
    ),
]


def padding_of(text: str | None) -> float | str | None:
    """Seconds where the text is a number; the verb refuses other words than 'plan'."""
    try:
        return None if text is None else float(text)
    except ValueError:
        return text


def relation_of_people(panel: str) -> Any:
    """The option for the neighbours of counts of people."""
    return typer.Option(
        "--relation",
        metavar="NAME",
        help="Neighbours: add-remove (one person more or less) or substitution (one replaced).",
        rich_help_panel=panel,
    )


def plot_of(what: str) -> Any:
    """The option for a figure of something."""
    return typer.Option(
        "--plot",
        metavar="[FILE]",
        help=f"{what}: .png, .svg or .pdf; without a name, a PNG called after the command.",
        rich_help_panel=_OUTPUT,
    )
