"""The results of audits on the terminal: by mechanism, or one by one, and the failures."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from itertools import groupby
from typing import Annotated

import typer
from rich.text import Text

from winnow.audit.result import AuditResult
from winnow.cli.options import JsonOption, OutOption
from winnow.cli.printing import console, grid, notes, visible
from winnow.cli.reporting import reported

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
    from winnow.cli.printing import show_json
    from winnow.core.saving import check_target, save

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


def _processes() -> int:
    """One for each core that may be used, up to four: each of them loads the whole library."""
    allowed = getattr(os, "sched_getaffinity", None)  # not on every system
    return min(4, len(allowed(0)) if allowed is not None else os.cpu_count() or 1)


def _run(*, quick: bool) -> list[AuditResult]:
    """The audits, with a display on stderr of which are done."""
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    from winnow.audit import run_audits
    from winnow.cli.printing import aside, visible

    columns = (SpinnerColumn(), TextColumn("{task.completed} audits done"), TimeElapsedColumn())
    last = TextColumn("{task.description}", markup=False)
    with Progress(*columns, last, console=aside(), transient=True) as display:
        task = display.add_task("")

        def done(claim: str) -> None:
            display.update(task, advance=1, description=visible(claim))

        return run_audits(quick=quick, progress=done, processes=_processes())


_MEANING = {
    "enumeration": "claimed: the promise. measured: the worst pair of neighbours.",
    "sampling": "claimed: the promise. measured: what draws of the real sampler can prove.",
    "fidelity": "claimed: the level of rejection. measured: a p-value, which has to be larger.",
    "accounting": "claimed: a number known otherwise. measured: what the accountant says.",
    "replay": "claimed: nothing else differs. measured: fields that neighbours can be told by.",
    "twin": "broken on purpose: a check passes when it notices.",
}


def show_groups(results: Sequence[AuditResult]) -> None:
    """One line for each kind, mechanism and relation: the check nearest to its claim."""
    show = console()
    heads = [("mechanism", "left"), ("relation", "left"), ("checks", "right")]
    heads += [("claimed", "right"), ("measured", "right"), ("verdict", "right")]
    citations: dict[str, dict[str, None]] = {}
    for kind, same_kind in groupby(results, key=lambda r: r.kind):
        groups: dict[tuple[str, str], list[AuditResult]] = {}
        for result in same_kind:
            name = _family(result.mechanism)
            groups.setdefault((name, result.relation), []).append(result)
            if result.citation:
                citations.setdefault(name, {})[result.citation] = None
        rows: list[list[str | Text]] = []
        names = list(dict.fromkeys(name for name, _ in groups))
        by_name = sorted(groups.items(), key=lambda item: names.index(item[0][0]))
        for (name, relation), group in by_name:
            worst = nearest_to_claim(group)
            numbers = (f"{worst.claimed:.4g}", f"{worst.measured:.4g}")
            rows.append([name, relation, str(len(group)), *numbers, _verdict_of(group)])
        show.print()
        show.rule(Text(kind, "bold"), align="left", style="dim")
        show.print(Text(_MEANING[kind], "dim"), grid(heads, rows))
    show.rule(Text("citations", "bold"), align="left", style="dim")
    show.print(notes((name, "; ".join(cited)) for name, cited in citations.items()))
    show.print()


def show_every_audit(results: Sequence[AuditResult]) -> None:
    """A table for each kind, its claims under their mechanism and citation."""
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
                rows.append([f"- {claim}", result.relation, *numbers, _verdict_of([result])])
        show.print()
        show.rule(Text(kind, "bold"), align="left", style="dim")
        show.print(grid(heads, rows))


def show_failures(results: Sequence[AuditResult]) -> None:
    """Every failure in full, then how many there are."""
    show = console()
    failed = [result for result in results if not result.passed]
    for result in failed:
        about = f" ({result.mechanism}, {result.relation}) claimed {result.claimed:.6g}, measured "
        about += f"{result.measured:.6g}. {result.detail}"
        show.print(
            Text.assemble(_verdict_of([result]), f" {visible(result.claim)}", visible(about))
        )
    total = len(results)
    show.print(
        f"{len(failed)} of {total} audits failed" if failed else f"all {total} audits passed",
        style="bold red" if failed else "bold green",
    )


def nearest_to_claim(group: Iterable[AuditResult]) -> AuditResult:
    """The failure farthest from its claim; if all passed, the check nearest to it."""

    def order(result: AuditResult) -> tuple[bool, float]:
        distance = _distance(result)
        return result.passed, distance if result.passed else -distance

    return min(group, key=order)


def _distance(result: AuditResult) -> float:
    """How far measured and claimed are apart, as a ratio: epsilons and p-values alike."""
    if result.measured == result.claimed:
        return 0.0
    if min(result.measured, result.claimed) <= 0 or math.isnan(result.measured):
        return math.inf
    return abs(math.log(result.measured) - math.log(result.claimed))


def _family(mechanism: str) -> str:
    """The name of a mechanism without its parameters."""
    return mechanism.partition(" (")[0].partition(",")[0]


def _verdict_of(group: Sequence[AuditResult]) -> Text:
    failed = sum(not result.passed for result in group)
    if not failed:
        return Text("passed", "green")
    return Text("FAILED" if len(group) == 1 else f"{failed} FAILED", "bold red")
