"""``winnow select``: the best item of a file, privately."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import Annotated

import typer

from winnow.cli.options import (
    PERMUTE_AND_FLIP,
    PLAIN_TEXT,
    DeltaOption,
    EpsilonOption,
    HeaderOption,
    JsonOption,
    Mechanism,
    MechanismOption,
    MonotoneOption,
    Noise,
    NoiseOption,
    OutOption,
    RelationOption,
    SeedOption,
    SensitivitiesOption,
    TextOptions,
    ThresholdsOption,
    option,
    sensitivity_of,
)
from winnow.cli.recording import UNRECORDED, Record
from winnow.cli.reporting import reported, saved_then_shown
from winnow.core.relation import Relation
from winnow.mechanisms import SELECT, row_named

_COLUMNS = "Columns of the file"

EXAMPLES = """\
Examples:

winnow select votes.csv --epsilon 1 --monotone

winnow select votes.csv --epsilon 0.5 -k 3 --label city --score votes --json

zcat votes.csv.gz | winnow select - --epsilon 1 --out winner.json
"""


@reported()
def select(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="Candidates and their scores: CSV or TSV with a first line of names, JSON "
            "({label: score} or a list of records), Parquet, or - for CSV on standard input.",
        ),
    ],
    epsilon: EpsilonOption,
    delta: DeltaOption = 0.0,
    k: Annotated[
        int | None,
        typer.Option("-k", metavar="K", help="Select K items instead of one."),
    ] = None,
    seed: SeedOption = None,
    text: TextOptions = PLAIN_TEXT,
    label: Annotated[
        str | None,
        option(
            "--label",
            "COLUMN",
            "The column of labels; not needed if there are two columns.",
            _COLUMNS,
        ),
    ] = None,
    score: Annotated[
        str | None,
        option(
            "--score",
            "COLUMN",
            "The column of scores; not needed if there are two columns.",
            _COLUMNS,
        ),
    ] = None,
    header: HeaderOption = False,
    mechanism: MechanismOption = PERMUTE_AND_FLIP,
    noise: NoiseOption = None,
    thresholds: ThresholdsOption = None,
    sensitivity: SensitivitiesOption = "1",
    with_leads: Annotated[
        bool,
        typer.Option(
            "--with-leads",
            help="The list in order, and by how much each noisy score leads the next, at no cost.",
            rich_help_panel="Mechanism",
        ),
    ] = False,
    monotone: MonotoneOption = False,
    relation: RelationOption = Relation.ADD_REMOVE,
    json: JsonOption = False,
    out: OutOption = None,
    record: Record = UNRECORDED,
) -> None:
    """Select the item with the highest score, or the top K, privately.

    The labels are public, the scores are private. The default says nothing about how the
    scores were made except that one person moves each by at most 1; for counts of people
    add --monotone.
    """
    from winnow.cli.files import are_large, refuse_overwriting
    from winnow.cli.printing import show_release, working
    from winnow.cli.recording import warn_of_other_labels
    from winnow.core.saving import check_target, save_released
    from winnow.read.files import read_scores
    from winnow.select.verb import select as winnow_select

    if out is not None:
        check_target(out)
        refuse_overwriting([file], "--out", out)
    budget = record.budget(relation)
    warn_of_other_labels(budget, [file])
    with working(f"reading {file}") if are_large([file]) else nullcontext():
        labels, scores = read_scores(
            file,
            label_column=label,
            score_column=score,
            header=header,
            **text.said(),
        )
        released = winnow_select(
            scores,
            labels=labels,
            epsilon=epsilon,
            delta=delta,
            mechanism=str(mechanism),
            noise=None if noise is None else str(noise),
            k=k,
            sensitivity=sensitivity_of(sensitivity),
            with_leads=with_leads,
            monotone=monotone,
            relation=relation,
            thresholds=None if thresholds is None else str(thresholds),
            seed=seed,
            budget=budget,
        )
    about = "best first" if with_leads else _about_order(k, mechanism, noise)
    with saved_then_shown(released, json, lambda: show_release(released, about)):
        if out is not None:
            save_released(out, released)


def _about_order(k: int | None, mechanism: Mechanism, noise: Noise | None) -> str:
    if k is None or k == 1:
        return ""
    if row_named(SELECT, str(mechanism)).ordered or noise is Noise.GUMBEL:
        return "best first"
    return "a set, in the order of the file"
