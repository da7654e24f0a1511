"""``winnow audit``: check the claims of the library on this machine."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from winnow.cli.options import JsonOption, OutOption
from winnow.cli.reporting import reported

if TYPE_CHECKING:
    from winnow.audit import AuditResult

EXAMPLES = """\
Examples:

winnow audit --quick

winnow audit --verbose

winnow audit --json --out audit.json
"""


@reported()
def audit(
    quick: Annotated[
        bool, typer.Option("--quick", help="Fewer instances and fewer draws: seconds, not minutes.")
    ] = False,
    verbose: Annotated[
        bool,
        typer.Option(
            "--verbose", help="Every check on a line of its own; --json and --out have all anyway."
        ),
    ] = False,
    json: JsonOption = False,
    out: OutOption = None,
) -> None:
    """Check every privacy claim of this version; exit code 1 if one fails.

    No private data are involved: the mechanisms run on small made-up scores, and what is
    measured is compared with what is claimed. One line for each mechanism and relation shows
    the check that came nearest to its claim; failures are shown in full.
    """
    from winnow.cli.audit_view import show_every_audit, show_failures, show_groups
    from winnow.cli.printing import show_json
    from winnow.released.saving import check_target, save

    if out is not None:
        check_target(out)
    results = _run(quick=quick)
    rows = [asdict(result) for result in results]
    if json:
        show_json(rows)
    else:
        if verbose:
            show_every_audit(results)
        else:
            show_groups(results)
        show_failures(results)
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
