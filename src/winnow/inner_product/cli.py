"""``winnow mips`` and ``winnow boost``: the vector along a private one, and a vote of learners."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from winnow.cli.options import (
    EpsilonOption,
    JsonOption,
    MonotoneOption,
    OutOption,
    RelationOption,
    SeedOption,
    option,
    sensitivity_of,
)
from winnow.cli.recording import UNRECORDED, Record
from winnow.cli.reporting import reported, saved_then_shown
from winnow.core.relation import Relation

if TYPE_CHECKING:  # it needs numpy, and help does not
    from winnow.core.released import Released

_SEARCH = "How it is searched"

MIPS_EXAMPLES = """\
Examples:

winnow mips vectors.npy taste.csv --epsilon 1 --sensitivity 0.001

winnow mips vectors.parquet taste.npy -k 5 --names films.txt --epsilon 1 --sensitivity 0,0.001 \
--json
"""

BOOST_EXAMPLES = """\
Examples:

winnow boost predictions.npy --labels labels.npy --rounds 20 --epsilon 1 --delta 1e-6

winnow boost predictions.csv --labels labels.csv --names rules.txt --rounds 5 --epsilon 2 \
--out vote.json
"""

_NAMES = option("--names", "FILE", "Public names of the rows, one on each line.", _SEARCH)
NamesOption = Annotated[Path | None, _NAMES]
IndexOption = Annotated[
    str,
    option("--index", "NAME", "auto or exact (none), flat, lsh, p-stable, ivf or hnsw.", _SEARCH),
]
SlackOption = Annotated[
    float,
    option("--slack", "C", "Trust an index by C nats, for 2 C of each draw's epsilon.", _SEARCH),
]


@reported()
def mips(
    candidates: Annotated[
        Path,
        typer.Argument(
            metavar="VECTORS",
            help="The candidates, a vector on each line: .csv, .tsv, .npy or .parquet.",
        ),
    ],
    query: Annotated[
        Path, typer.Argument(metavar="QUERY", help="The private vector, in a file of its own.")
    ],
    epsilon: EpsilonOption,
    sensitivity: Annotated[
        str,
        typer.Option(
            "--sensitivity",
            metavar="S",
            help="The most by which one person moves any inner product, or DOWN,UP for what adding "
            "a person does.",
        ),
    ],
    k: Annotated[
        int | None, typer.Option("-k", metavar="K", help="Select K vectors instead of one.")
    ] = None,
    signed: Annotated[
        bool, typer.Option("--signed", help="Every vector stands with its negative, too.")
    ] = False,
    seed: SeedOption = None,
    monotone: MonotoneOption = False,
    relation: RelationOption = Relation.ADD_REMOVE,
    names: NamesOption = None,
    index: IndexOption = "auto",
    slack: SlackOption = 0.0,
    json: JsonOption = False,
    out: OutOption = None,
    record: Record = UNRECORDED,
) -> None:
    """Select the vector with the largest inner product with a private one.

    The number of candidates and their names are public. The law is the exponential mechanism's,
    whatever an index answers.
    """
    from winnow.cli.recording import warn_of_other_labels
    from winnow.inner_product.verb import max_inner_product
    from winnow.read.matrix import read_matrix, read_vector

    _check(out, candidates, query, names)
    budget = record.budget(relation)
    warn_of_other_labels(budget, [candidates, query])
    released = max_inner_product(
        read_matrix(candidates)[0],
        read_vector(query),
        epsilon=epsilon,
        sensitivity=sensitivity_of(sensitivity),
        monotone=monotone,
        relation=relation,
        k=k,
        signed=signed,
        index=index,
        slack=slack,
        labels=_names(names),
        budget=budget,
        seed=seed,
    )
    _show(released, out, json, "best first" if k is not None and k > 1 else "")


@reported()
def boost(
    predictions: Annotated[
        Path,
        typer.Argument(
            metavar="PREDICTIONS",
            help="-1, 0 and 1: a line for each learner of a public list, a column for each private "
            "example: .csv, .tsv, .npy or .parquet.",
        ),
    ],
    labels: Annotated[
        Path,
        typer.Option("--labels", metavar="FILE", help="The private labels: -1 and 1."),
    ],
    rounds: Annotated[int, typer.Option("--rounds", metavar="T", help="How many learners vote.")],
    epsilon: EpsilonOption,
    delta: Annotated[
        float, typer.Option("--delta", metavar="D", help="E.g. 1e-6: more for each round.")
    ] = 0.0,
    advantage: Annotated[
        float,
        typer.Option(
            "--advantage", metavar="G", help="The edge that learners are expected to have."
        ),
    ] = 0.1,
    seed: SeedOption = None,
    relation: RelationOption = Relation.ADD_REMOVE,
    names: NamesOption = None,
    index: IndexOption = "auto",
    slack: SlackOption = 0.0,
    json: JsonOption = False,
    out: OutOption = None,
    record: Record = UNRECORDED,
) -> None:
    """Choose weak learners whose vote classifies private examples well.

    One example is one person. What is released is which learners vote.
    """
    from winnow.cli.recording import warn_of_other_labels
    from winnow.inner_product.boost import boost as winnow_boost
    from winnow.read.matrix import read_matrix, read_vector

    _check(out, predictions, labels, names)
    budget = record.budget(relation)
    warn_of_other_labels(budget, [predictions, labels])
    found = winnow_boost(
        read_matrix(predictions)[0],
        read_vector(labels),
        epsilon=epsilon,
        delta=delta,
        rounds=rounds,
        advantage=advantage,
        relation=relation,
        names=_names(names),
        index=index,
        slack=slack,
        budget=budget,
        seed=seed,
    )
    from winnow.core.released import Released

    chosen = Released(list(found.value.learners), found.guarantee, found.receipt)
    _show(chosen, out, json, "one vote each, in the order in which they were chosen")


def _check(out: Path | None, *read: Path | None) -> None:
    from winnow.cli.files import check_targets

    check_targets([file for file in read if file is not None], out, None)


def _names(file: Path | None) -> list[str] | None:
    from winnow.topk.cli.source import read_items

    return None if file is None else read_items(file, option="--names")


def _show(released: Released[Any], out: Path | None, json: bool, about: str) -> None:
    from winnow.cli.printing import show_release
    from winnow.core.saving import save_released

    with saved_then_shown(released, json, lambda: show_release(released, about)):
        if out is not None:
            save_released(out, released)
