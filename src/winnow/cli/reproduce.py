"""``winnow reproduce``: run the experiments of the papers again."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from winnow.cli.reporting import reported
from winnow.errors import InputError

if TYPE_CHECKING:
    from winnow.reproduce import Experiment, Paper, Reproduced, Run

EXAMPLES = """\
Examples:

winnow reproduce joint --figure 1 --quick

winnow reproduce canonical --data papers-data --out figures

winnow reproduce all --quick
"""


@reported()
def reproduce(
    paper: Annotated[
        str,
        typer.Argument(
            metavar="PAPER", help="fastmwem, lmm, joint, pmw, canonical, or all of them."
        ),
    ],
    figure: Annotated[
        list[str] | None,
        typer.Option(
            "--figure",
            metavar="N",
            help="Only this figure or table: 1, 2, ..., table1, runtimes. May be given again.",
        ),
    ] = None,
    quick: Annotated[
        bool,
        typer.Option("--quick", help="Fewer points, draws and rounds: minutes, not hours."),
    ] = False,
    data: Annotated[
        Path | None,
        typer.Option(
            "--data",
            metavar="DIR",
            help="A folder with topk_counts/, dpbench_1d/ and adult_pgm/; without it stand-ins are "
            "generated.",
        ),
    ] = None,
    out: Annotated[
        Path, typer.Option("--out", metavar="DIR", help="Where to put figures and numbers.")
    ] = Path("winnow-reproduce"),
    seed: Annotated[
        int, typer.Option("--seed", metavar="N", help="Of the draws and the generated data.")
    ] = 0,
) -> None:
    """Run the experiments of a paper again, and say what agrees and what differs.

    Each figure is drawn in the layout of the paper, its numbers are saved as JSON, and a line
    says which claims of the paper came out, which did not, and why. No private data are
    involved, and nothing is charged.
    """
    from winnow.cli.printing import working
    from winnow.plots.figures import empty_figure
    from winnow.reproduce import PAPERS, Run, chosen, paper_named

    everything = paper.lower() == "all"
    if everything and figure:
        raise InputError("--figure belongs to one paper; name the paper instead of 'all'")
    papers = list(PAPERS) if everything else [paper_named(paper)]
    wanted = [(each, experiment) for each in papers for experiment in chosen(each, figure or [])]
    if data is not None and not data.is_dir():
        raise InputError(f"there is no folder {data}; leave --data out for generated data")
    empty_figure(1, 1)  # says at once if matplotlib is missing
    for each in papers:
        _make_folder(out / each.name)
    runs: dict[str, Run] = {}
    for each, experiment in wanted:
        with working(f"{each.key}, {experiment.title}") as display:
            run = runs.setdefault(each.name, Run(quick=quick, data=data, seed=seed))
            run.progress = _shown_in(display)
            _one(each, experiment, run, out / each.name)


def _shown_in(display: Any) -> Any:
    from winnow.cli.printing import visible

    def progress(what: str) -> None:
        display.update(display.task_ids[0], description=visible(what))

    return progress


def _one(paper: Paper, experiment: Experiment, run: Run, folder: Path) -> None:
    """Run one experiment, save it and say how it went."""
    import json
    import time

    from rich.text import Text

    from winnow.cli.printing import console, visible
    from winnow.plots.figures import as_file
    from winnow.released.saving import write_whole

    start = time.perf_counter()
    done = experiment.run(run)
    image = as_file(done.draw(), ".png")
    document = _document(paper, experiment, run, done, time.perf_counter() - start)
    text = json.dumps(document, indent=1, allow_nan=False) + "\n"
    write_whole(folder / f"{experiment.file}.png", image)
    write_whole(folder / f"{experiment.file}.json", text.encode())
    name = f"Figure {experiment.name}" if experiment.name.isdigit() else experiment.name
    show = console()
    show.print()
    show.print(Text(f"{paper.key}, {name}: {experiment.title}", "bold"), soft_wrap=True)
    for label, content in (
        ("Data", visible(done.source)),
        ("Result", visible(done.line)),
        ("Files", f"{folder / experiment.file}.png and .json, {document['seconds']:.1f} s"),
    ):
        show.print(Text.assemble((f"{label}: ", "dim"), content), soft_wrap=True)


def _document(
    paper: Paper, experiment: Experiment, run: Run, done: Reproduced, seconds: float
) -> dict[str, Any]:
    """Everything about one experiment as plain data."""
    from dataclasses import asdict

    from winnow._version import __version__
    from winnow.reproduce.experiment import plain

    document: dict[str, Any] = plain(
        {
            "paper": paper.key,
            "figure": experiment.name,
            "title": experiment.title,
            "quick": run.quick,
            "data": done.source,
            "line": done.line,
            "claims": [asdict(claim) for claim in done.claims],
            "notes": list(done.notes),
            "parameters": done.parameters,
            "results": done.results,
            "seconds": round(seconds, 3),
            "winnow": __version__,
        }
    )
    return document


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(
            f"cannot make the folder {folder}: {error.strerror}; choose another with --out"
        ) from None
