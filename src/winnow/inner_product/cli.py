"""``winnow mips`` and ``winnow boost``: the vector along a private one, and a vote of learners."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from winnow.cli.derived import Typed
from winnow.cli.options import (
    JsonOption,
    MonotoneOption,
    OutOption,
    RelationOption,
    SeedOption,
    sensitivity_of,
)
from winnow.cli.recording import UNRECORDED, Record
from winnow.cli.reporting import reported, saved_then_shown
from winnow.core.relation import Relation
from winnow.inner_product.request import Boost, Mips

if TYPE_CHECKING:  # it needs numpy, and help does not
    from winnow.core.released import Released

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

NamesOption = Annotated[
    Path | None,
    typer.Option("--names", metavar="FILE", help="Public names of the rows, one on each line."),
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
    asked: Typed[Mips],
    sensitivity: Annotated[
        str,
        typer.Option(
            "--sensitivity",
            metavar="S",
            help="The most by which one person moves any inner product, or DOWN,UP for what adding "
            "a person does.",
        ),
    ],
    seed: SeedOption = None,
    monotone: MonotoneOption = False,
    relation: RelationOption = Relation.ADD_REMOVE,
    names: NamesOption = None,
    json: JsonOption = False,
    out: OutOption = None,
    record: Record = UNRECORDED,
) -> None:
    """Select the vector with the largest inner product with a private one.

    The number of candidates and their names are public. The result is distributed as by
    the exponential mechanism, whatever an index answers.
    """
    from winnow.cli.recording import warn_of_other_labels
    from winnow.inner_product.vectors import seal_query, seal_vectors
    from winnow.read.matrix import read_matrix, read_vector

    _check(out, candidates, query, names)
    budget = record.budget(relation)
    warn_of_other_labels(budget, [candidates, query])
    moved = sensitivity_of(sensitivity)
    vectors = seal_vectors(read_matrix(candidates)[0], labels=_names(names), copy=False)
    private = seal_query(
        read_vector(query), sensitivity=moved, monotone=monotone, relation=relation
    )
    plan = asked(budget=budget).plan(vectors, private)
    released = plan.run(private, budget=budget, seed=seed)
    _show(released, out, json, "best first" if (asked.k or 1) > 1 else "")


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
    asked: Typed[Boost],
    seed: SeedOption = None,
    relation: RelationOption = Relation.ADD_REMOVE,
    names: NamesOption = None,
    json: JsonOption = False,
    out: OutOption = None,
    record: Record = UNRECORDED,
) -> None:
    """Choose weak learners whose vote classifies private examples well.

    One example is one person. What is released is which learners vote.
    """
    from winnow.cli.recording import warn_of_other_labels
    from winnow.core.released import Released
    from winnow.inner_product.crossing import seal_examples
    from winnow.read.matrix import read_matrix, read_vector

    _check(out, predictions, labels, names)
    budget = record.budget(relation)
    warn_of_other_labels(budget, [predictions, labels])
    examples = seal_examples(
        read_matrix(predictions)[0], read_vector(labels), names=_names(names), relation=relation
    )
    vote = asked(budget=budget).plan(examples).run(examples, budget=budget, seed=seed)
    chosen = Released(list(vote.value.learners), vote.guarantee, vote.receipt)
    _show(chosen, out, json, "one vote each, in the order in which they were chosen")


def _check(out: Path | None, *read: Path | None) -> None:
    from winnow.cli.files import check_targets

    check_targets([file for file in read if file is not None], out, None)


def _names(file: Path | None) -> list[str] | None:
    from winnow.select.cli.source import read_items

    return None if file is None else read_items(file, option="--names")


def _show(released: Released[Any], out: Path | None, json: bool, about: str) -> None:
    from winnow.cli.printing import show_release
    from winnow.core.saving import save_released

    with saved_then_shown(released, json, lambda: show_release(released, about)):
        if out is not None:
            save_released(out, released)
