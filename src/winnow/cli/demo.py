"""``winnow demo``: the main job, told with made-up people."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from winnow.cli.files import make_folder, write_made_up
from winnow.cli.reporting import reported
from winnow.errors import ExtraMissing, ParameterError

if TYPE_CHECKING:
    from winnow.cli.comparison import Plans
    from winnow.core.released import Released


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
_TABLE_SEED = 7  # the table of made-up people is the same in every run

EXAMPLES = """\
Examples:

winnow demo --out /tmp/winnow-demo

winnow demo --write tour
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
        Path | None,
        typer.Option(
            "--out", metavar="DIR", help="Where to put the files of the demo (winnow-demo)."
        ),
    ] = None,
    write: Annotated[
        Path | None,
        typer.Option(
            "--write", metavar="DIR", help="Only write the made-up data there, to try things on."
        ),
    ] = None,
) -> None:
    """See private releases in a few seconds, on made-up data.

    2,000 made-up people name their favourite tree: the demo plans the accuracy and asks for
    the favourite privately. 10,000 others report birds, and the most reported ones are released
    with noisy counts. Of 4,000 a synthetic table is made, with a report. Last comes the ledger
    in which all of it is recorded, and a question that it refuses.
    """
    if write is not None:
        if seed is not None or out is not None:
            raise ParameterError("--write only writes made-up data; leave --seed and --out out")
        _write_data(write)
        return
    _tell(out or Path("winnow-demo"), seed)


def _write_data(folder: Path) -> None:
    """The made-up data and nothing else."""
    from winnow.cli.demo_log import write_log
    from winnow.cli.demo_table import write_people
    from winnow.cli.printing import console, grid

    make_folder(folder)
    _write_votes(folder)
    write_log(folder / "sightings.csv")
    write_people(folder)
    files = [
        ("sightings.csv", "an event log: who reported which bird"),
        ("people.csv", "a table with a row for each person"),
        ("schema.json", "the public schema of that table"),
        ("counts.csv", "how many people named which favourite tree"),
    ]
    rows = [(str(folder / name), about) for name, about in files]
    console().print(grid([("file", "left"), ("made-up data", "left")], rows))


def _tell(out: Path, seed: int | None) -> None:
    """The whole story."""
    from rich.text import Text

    import winnow
    from winnow.cli.comparison import show_comparison
    from winnow.cli.demo_log import account, fresh_ledger, refused_and_shown, top_of_a_log
    from winnow.cli.demo_table import synthetic_table
    from winnow.cli.printing import console, show_release
    from winnow.core.saving import save_released
    from winnow.select.plan.verb import compared
    from winnow.select.request import PlannedSelect

    make_folder(out)
    show = console()

    def heading(text: str) -> None:
        show.print()
        show.rule(Text(text, "bold"), align="left", style="dim")

    heading("1. A vote: plan before spending")
    counts = _write_votes(out)
    show.print(
        f"{PEOPLE:,} made-up people each name a favourite among {len(counts)} trees. Who named "
        "what is private, and so are the counts. The list of trees is public. Last year's result "
        "was published, so it may be used to plan: the best was "
        f"{LAST_YEAR['oak'] - LAST_YEAR['lime']} votes ahead. At epsilon {EPSILON}:"
    )
    best = max(LAST_YEAR.values())
    gaps = [best - votes for votes in sorted(LAST_YEAR.values())[:-1]]
    public = winnow.plan.scores(gaps=gaps, monotone=True)
    plans = compared(PlannedSelect(epsilon=EPSILON, chance=0.99), public)
    show_comparison(plans)
    _draw(out / "chances.png", plans)

    heading("2. Ask privately")
    ledger = fresh_ledger(out)
    trees = account(ledger, "trees", epsilon=BUDGET)
    show.print(
        f"A ledger keeps what is spent on these people: epsilon {BUDGET} in all, and no more, "
        "in whatever process."
    )
    votes = winnow.seal_scores(counts, monotone=True)
    pick = winnow.select(votes, epsilon=EPSILON, budget=trees, seed=seed)
    show_release(pick)
    save_released(out / "pick.json", pick)
    _show_bars(counts, pick)

    heading("3. The top ten of an event log")
    birds = account(ledger, "birds", epsilon=1.0, delta=1e-6, accountant="pure")
    top_of_a_log(out, birds, seed)

    heading("4. A synthetic table")
    people = account(ledger, "people", epsilon=1.0, delta=1e-6, relation="substitution")
    synthetic_table(out, people, seed)

    heading("5. The ledger")
    refused_and_shown(out, birds, seed)

    heading("Look at")
    for name, about in (
        ("top.png", "the private top ten beside the truth"),
        ("report.html", "the synthetic table: what was measured, every column, the receipt"),
        ("synthetic.csv", "the synthetic table itself"),
        ("chances.png", "how likely the right pick is, by epsilon"),
    ):
        if (out / name).exists():
            show.print(Text.assemble((f"  {out / name}", "bold"), f"  {about}"), soft_wrap=True)

    heading("Now you: three commands that run as printed")
    for line in next_commands(out):
        show.print(f"  {line}", style="cyan", soft_wrap=True)


def next_commands(folder: Path) -> tuple[str, ...]:
    """What to try next, on the files of the demonstration."""
    return (
        f"winnow top-k {folder / 'sightings.csv'} --item bird --person person --max-items 5 -k 5 "
        "--with-counts --epsilon 1 --delta 1e-6",
        f"winnow tabulate {folder / 'people.csv'} --schema {folder / 'schema.json'} "
        "--workload marginals:1 --epsilon 1 --one-row-per-person",
        f"winnow plan release --schema {folder / 'schema.json'} --workload marginals:3 -n 4000 "
        "--epsilon 1 --delta 1e-6",
    )


def _write_votes(folder: Path) -> dict[str, int]:
    """Write the made-up votes, and return them."""
    counts = _made_up_counts()
    lines = ["label,score", *(f"{tree},{count}" for tree, count in counts.items())]
    write_made_up(folder / "counts.csv", ("\n".join(lines) + "\n").encode())
    return counts


def _made_up_counts() -> dict[str, int]:
    """What made-up people answer: each draws a tree with last year's chances."""
    from winnow.core.tape import Tape

    stream = Tape.seeded(_TABLE_SEED).stream()
    urn = [tree for tree, votes in LAST_YEAR.items() for _ in range(votes)]
    answers = Counter(urn[stream.below(len(urn))] for _ in range(PEOPLE))
    return {tree: answers[tree] for tree in LAST_YEAR}


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
    from winnow.core.saving import write_whole
    from winnow.show.plots.curves import draw_chances

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
