"""The third part of ``winnow demo``: a synthetic table of made-up people, with a report."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from winnow.cli.files import write_made_up
from winnow.cli.printing import console, grid
from winnow.core.request import Run
from winnow.core.saving import write_whole
from winnow.core.tape import Tape
from winnow.core.workloads.tables import marginals
from winnow.errors import ExtraMissing
from winnow.privacy import Budget
from winnow.read.options import Reading
from winnow.read.table import read_table
from winnow.release.cli.run import report_of
from winnow.release.cli.view import RoundsBar, show_plan, show_result
from winnow.release.request import Release

PEOPLE = 4_000
SCHEMA: dict[str, Any] = {
    "age": {"edges": [18, 30, 45, 60, 75, 100]},
    "home": {"values": ["flat", "house", "farm"]},
    "garden": {"values": ["none", "balcony", "garden"]},
    "feeder": {"values": ["yes", "no"]},
}
EPSILON = 1.0
DELTA = 1e-6
_TABLE_SEED = 13  # the table of made-up people is the same in every run


People = list[tuple[int, str, str, str]]


def write_people(folder: Path) -> People:
    """Write the made-up table and its schema, and return its rows."""
    people = _made_up_people()
    lines = [",".join(SCHEMA), *(",".join(map(str, person)) for person in people)]
    write_made_up(folder / "people.csv", ("\n".join(lines) + "\n").encode())
    write_made_up(folder / "schema.json", (json.dumps(SCHEMA, indent=1) + "\n").encode())
    return people


def synthetic_table(folder: Path, budget: Budget, seed: int | None) -> None:
    """Write a made-up table and its schema, release a synthetic one, and report on it."""
    show = console()
    people = write_people(folder)
    show.print(
        f"{PEOPLE:,} made-up people say how they live and whether they feed birds. The schema of "
        "the table is public, its rows are not. The workload is all two-way tables:"
    )
    bar = RoundsBar()
    table = read_table(
        folder / "people.csv",
        schema=folder / "schema.json",
        reading=Reading(salt=None if seed is None else f"seed {seed}"),
    )
    asked = Release(
        marginals(2), epsilon=EPSILON, delta=DELTA, budget=budget, run=Run(progress=bar)
    )
    plan = asked.plan(table)
    show_plan(plan)
    with bar.over(plan):
        released = plan.run(table, budget=budget, seed=seed)
    target = folder / "synthetic.csv"
    released.value.save(target, seed=seed)
    show_result(released, [("synthetic table", target)], with_measurements=False)
    show.print("Who feeds birds, in the made-up table (shown only because it is made up) and in")
    show.print("the synthetic one:")
    synthetic = released.value.marginal("garden", "feeder")
    shares = synthetic[:, 0] / synthetic.sum(axis=1)
    rows = [
        (place, f"{_share(people, place):.1f} %", f"{100 * shares[i]:.1f} %")
        for i, place in enumerate(SCHEMA["garden"]["values"])
    ]
    show.print(grid([("garden", "left"), ("true", "right"), ("synthetic", "right")], rows))
    try:
        write_whole(folder / "report.html", report_of(released, table, title="Who feeds birds?"))
    except ExtraMissing as missing:
        show.print(f"No report: {missing}", markup=False)
        return
    show.print(
        f"The report, a page for a browser: {folder / 'report.html'}", markup=False, soft_wrap=True
    )


def _made_up_people() -> People:
    """Older people live in houses more often, houses have gardens, gardens have feeders."""
    stream = Tape.seeded(_TABLE_SEED).stream()
    people = []
    for _ in range(PEOPLE):
        age = 18 + min(stream.below(83), stream.below(83))
        home = ("flat", "house", "farm")[_below(stream.below(100), 80 - age // 2, 95)]
        first, second = {"flat": (45, 92), "house": (8, 20), "farm": (2, 4)}[home]
        garden = ("none", "balcony", "garden")[_below(stream.below(100), first, second)]
        feeds = stream.below(100) < {"none": 4, "balcony": 22, "garden": 61}[garden]
        people.append((age, home, garden, "yes" if feeds else "no"))
    return people


def _below(drawn: int, first: int, second: int) -> int:
    """0, 1 or 2: where a number lies among two limits."""
    return (drawn >= first) + (drawn >= second)


def _share(people: People, garden: str) -> float:
    feeders = [feeder == "yes" for _, _, place, feeder in people if place == garden]
    return 100 * sum(feeders) / len(feeders)
