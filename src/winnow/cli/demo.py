"""``winnow demo``: the main job, told with made-up people."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from winnow.cli.reporting import reported
from winnow.errors import BudgetExceeded, ExtraMissing, InputError

if TYPE_CHECKING:
    from winnow.cli.comparison import Plans
    from winnow.released import Released

PEOPLE = 2_000
LAST_YEAR = {
    "oak": 455,
    "lime": 420,
    "birch": 330,
    "beech": 250,
    "maple": 210,
    "rowan": 150,
    "elm": 110,
    "alder": 75,
}
"""Made up, and public in the story: the town published it."""
EPSILON = 0.05
BUDGET = 0.25
TOO_MUCH = 0.2
_TABLE_SEED = 7  # the table of made-up people is the same in every run

EXAMPLES = """\
Example:

winnow demo --out /tmp/winnow-demo
"""


@reported()
def demo(
    seed: Annotated[
        int | None,
        typer.Option(
            "--seed",
            metavar="N",
            help="The same picks in every run: not private, and the receipt says so.",
        ),
    ] = None,
    out: Annotated[
        Path, typer.Option("--out", metavar="DIR", help="Where to put the files of the demo.")
    ] = Path("winnow-demo"),
) -> None:
    """Show the main job in a few seconds, on made-up people.

    2,000 made-up people name their favourite tree. The demo plans the accuracy, asks for
    the favourite privately, runs into the limit of a budget, and draws what to expect. Then
    3,000 others report birds, and the most reported ones are released with noisy counts. Last,
    a synthetic table of 4,000 people is made, with a report.
    """
    from rich.text import Text

    import winnow
    from winnow.cli.comparison import compared, show_comparison
    from winnow.cli.demo_log import top_of_a_log
    from winnow.cli.demo_table import synthetic_table
    from winnow.cli.printing import console, show_release
    from winnow.released.saving import save, save_released

    _make_folder(out)
    show = console()

    def heading(text: str) -> None:
        show.print()
        show.rule(Text(text, "bold"), align="left", style="dim")

    heading("1. Made-up people")
    counts = _made_up_counts()
    save(
        out / "counts.csv",
        counts,
        [{"label": tree, "score": count} for tree, count in counts.items()],
    )
    show.print(
        f"{PEOPLE:,} made-up people each name a favourite among {len(counts)} trees. Who named "
        "what is private, and so are the counts. The list of trees is public."
    )

    heading("2. Plan: what to expect before spending")
    show.print(
        "Last year's result was published, so it may be used to plan: the best was "
        f"{LAST_YEAR['oak'] - LAST_YEAR['lime']} votes ahead. At epsilon {EPSILON}:"
    )
    best = max(LAST_YEAR.values())
    question: dict[str, Any] = {
        "gaps": [best - votes for votes in sorted(LAST_YEAR.values())[:-1]],
        "epsilon": EPSILON,
        "monotone": True,
        "target_chance": 0.99,
    }
    plans = compared(0.0, None, question)
    show_comparison(plans)

    heading("3. Ask privately")
    session = winnow.Session(epsilon=BUDGET, seed=seed)
    show.print(f"A session with a budget of epsilon {BUDGET} for everything about these people:")
    pick = session.select(counts, epsilon=EPSILON, monotone=True)
    show_release(pick)
    save_released(out / "pick.json", pick)
    for mechanism in ("exponential", "noisy-max"):
        other = session.select(counts, epsilon=EPSILON, monotone=True, mechanism=mechanism)
        show.print(f"{mechanism} picks [bold green]{other.value}[/], for another {EPSILON}.")

    heading("4. A budget that refuses")
    show.print(f"{session.budget.spent} is used. Asking once more, with epsilon {TOO_MUCH}:")
    try:
        session.select(counts, epsilon=TOO_MUCH, monotone=True)
    except BudgetExceeded as refusal:
        show.print(Text.assemble(("refused: ", "bold red"), str(refusal)))
        show.print("No noise was drawn and nothing was learned. (Commands exit with code 3.)")

    heading("5. Look")
    _show_bars(counts, pick)
    _draw(out / "chances.png", plans)

    heading("6. The top ten of an event log")
    top_of_a_log(out, seed)

    heading("7. A synthetic table")
    synthetic_table(out, seed)

    heading("Try it yourself")
    for line in (
        f"winnow select {out / 'counts.csv'} --epsilon 1 --monotone",
        f"winnow select {out / 'counts.csv'} --epsilon 1 --monotone -k 3 --json",
        f"winnow topk {out / 'sightings.csv'} --item bird --user person -k 5 --epsilon 1 "
        "--delta 1e-6",
        f"winnow release {out / 'people.csv'} --schema {out / 'schema.json'} --workload "
        f"marginals:3 --epsilon 1 --delta 1e-6 --out {out / 'rows.csv'} "
        f"--report {out / 'page.html'}",
        "winnow plan select --candidates 1000 --gap 30 --epsilon 0.5 --compare",
        "winnow plan topk --zipf 1 --top 1000 --candidates 60 -k 10 --epsilon 1",
    ):
        show.print(f"  {line}", style="cyan", soft_wrap=True)


def _made_up_counts() -> dict[str, int]:
    """What made-up people answer: each draws a tree with last year's chances."""
    from winnow.random.tape import Tape

    stream = Tape.seeded(_TABLE_SEED).stream()
    urn = [tree for tree, votes in LAST_YEAR.items() for _ in range(votes)]
    answers = Counter(urn[stream.below(len(urn))] for _ in range(PEOPLE))
    return {tree: answers[tree] for tree in LAST_YEAR}


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(
            f"cannot make the folder {folder}: {error.strerror}; choose another with --out"
        ) from None


def _show_bars(counts: dict[str, int], pick: Released[str]) -> None:
    """The true counts, which only a demo with made-up people may show."""
    from rich.text import Text

    from winnow.cli.printing import console

    show = console()
    show.print("The true counts, shown only because these people are made up, and the pick:")
    block = "#" if show.options.ascii_only else "█"
    top = max(counts.values())
    for tree, count in counts.items():
        bar = block * round(36 * count / top)
        mine = tree == pick.value
        note = "  <- private pick" if mine else ""
        style = "bold green" if mine else "blue"
        show.print(Text.assemble(f"{tree:>6} {count:>4} ", (bar, style), (note, "bold green")))
    gap = top - counts[pick.value]
    show.print(
        "The pick is the true favourite."
        if gap == 0
        else f"The pick lies {gap} votes behind the true favourite: that is the price of privacy."
    )


def _draw(path: Path, plans: Plans) -> None:
    from winnow.cli.comparison import chance_curves, true_answer
    from winnow.cli.printing import console
    from winnow.plots import draw_chances
    from winnow.released.saving import write_whole

    first = next(iter(plans.values()))
    try:
        image = draw_chances(
            chance_curves(plans),
            title="Favourite tree, planned with last year's counts\n"
            f"{first.candidates} trees, sensitivity {first.sensitivity:.6g} ({first.relation})",
            event=true_answer(first),
            marked=EPSILON,
        )
    except ExtraMissing as missing:
        console().print(f"No picture: {missing}", markup=False)
        return
    write_whole(path, image)
    console().print(f"How the chance grows with epsilon: {path}", markup=False, soft_wrap=True)
