"""``winnow audit``: check the claims of the library on this machine."""

from __future__ import annotations

from dataclasses import asdict
from itertools import groupby
from typing import TYPE_CHECKING, Annotated

import typer

from winnow.cli.options import JsonOption, OutOption
from winnow.cli.reporting import reported

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.text import Text

    from winnow.audit import AuditResult

EXAMPLES = """\
Examples:

winnow audit --quick

winnow audit --json --out audit.json
"""


@reported()
def audit(
    quick: Annotated[
        bool, typer.Option("--quick", help="Fewer instances and fewer draws: seconds, not minutes.")
    ] = False,
    json: JsonOption = False,
    out: OutOption = None,
) -> None:
    """Check every privacy claim of this version; exit code 1 if one fails.

    No private data are involved: the mechanisms run on small made-up scores, and what is
    measured is compared with what is claimed.
    """
    from winnow.cli.printing import show_json
    from winnow.released.saving import check_target, save

    if out is not None:
        check_target(out)
    results = _run(quick=quick)
    rows = [asdict(result) for result in results]
    if json:
        show_json(rows)
    else:
        show_audits(results)
    if out is not None:
        save(out, rows, rows)
    if not all(result.passed for result in results):
        raise typer.Exit(1)


def _run(*, quick: bool) -> list[AuditResult]:
    """The audits, with a display on stderr of which are done."""
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    from winnow.audit import run_audits
    from winnow.cli.printing import visible

    columns = (SpinnerColumn(), TextColumn("{task.completed} audits done"), TimeElapsedColumn())
    last = TextColumn("{task.description}", markup=False)
    with Progress(*columns, last, console=Console(stderr=True), transient=True) as display:
        task = display.add_task("")

        def done(claim: str) -> None:
            display.update(task, advance=1, description=visible(claim))

        return run_audits(quick=quick, progress=done)


def show_audits(results: Sequence[AuditResult]) -> None:
    """A table for each kind, its claims under their mechanism and citation; failures last."""
    from rich.text import Text

    from winnow.cli.printing import console, grid, visible

    show = console()
    heads = [("claim", "left"), ("relation", "right"), ("claimed", "right")]
    heads += [("measured", "right"), ("verdict", "right")]
    for kind, same_kind in groupby(results, key=lambda r: r.kind):
        rows: list[list[str | Text]] = []
        for (mechanism, citation), group in groupby(
            same_kind, key=lambda r: (r.mechanism, r.citation)
        ):
            source = Text(visible(mechanism), "bold")
            if citation:
                source.append(f" [{visible(citation)}]", "not bold dim")
            rows.append([source, "", "", "", ""])
            for result in group:
                claim = visible(result.claim.removeprefix(f"{mechanism}, "))
                numbers = (f"{result.claimed:.4g}", f"{result.measured:.4g}")
                rows.append([f"- {claim}", result.relation, *numbers, _verdict(result)])
        show.print()
        show.rule(Text(kind, "bold"), align="left", style="dim")
        show.print(grid(heads, rows))
    failed = [result for result in results if not result.passed]
    for result in failed:
        about = f" ({result.mechanism}, {result.relation}) claimed {result.claimed:.6g}, measured "
        about += f"{result.measured:.6g}. {result.detail}"
        show.print(Text.assemble(_verdict(result), f" {visible(result.claim)}", visible(about)))
    total = len(results)
    show.print(
        f"{len(failed)} of {total} audits failed" if failed else f"all {total} audits passed",
        style="bold red" if failed else "bold green",
    )


def _verdict(result: AuditResult) -> Text:
    from rich.text import Text

    return Text("passed", "green") if result.passed else Text("FAILED", "bold red")
