"""The second part of ``winnow demo``: the most common items of a made-up event log."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from itertools import accumulate
from pathlib import Path
from typing import Any

import winnow
from winnow.cli.files import write_made_up
from winnow.cli.printing import console
from winnow.core.released import Released
from winnow.core.saving import save_released, write_whole
from winnow.core.tape import Tape
from winnow.errors import BudgetExceeded, ExtraMissing
from winnow.privacy import Budget
from winnow.privacy.ledger import Ledger, RecordedBudget
from winnow.select.cli.source import threshold_text
from winnow.select.cli.view import show_top
from winnow.select.plan.top_k.verb import TopKPlan
from winnow.select.request import TopK

NAME = "demo-ledger.db"


def fresh_ledger(folder: Path) -> Ledger:
    """A new ledger; the one that an earlier demo left in the folder is thrown away."""
    place = folder / NAME
    for name in (NAME, f"{NAME}.key", f"{NAME}-journal"):
        place.with_name(name).unlink(missing_ok=True)
    return Ledger.open(place, create=True)


def account(ledger: Ledger, dataset: str, **cap: Any) -> RecordedBudget:
    """The budget of one of the demo's data sets, kept in the ledger."""
    ledger.open_dataset(dataset, **cap)
    return RecordedBudget(ledger, dataset, analyst="demo")


def refused_and_shown(folder: Path, birds: RecordedBudget, seed: int | None) -> None:
    """Ask for more than is left, then show the ledger and verify it."""
    import winnow
    from winnow.cli.ledger import show as show_ledger
    from winnow.cli.ledger import verify

    show = console()
    place = str(folder / NAME)
    show.print(
        "Every charge above was written down before its noise was drawn. Once more the top ten of "
        "the birds, although their budget is spent:"
    )
    counts = winnow.counts(folder / "sightings.csv", item="bird", person="person", max_items=MOST)
    try:
        winnow.top_k(counts, k=10, epsilon=1.0, delta=1e-6, budget=birds, seed=seed)
    except BudgetExceeded as refusal:
        from rich.text import Text

        show.print(Text.assemble(("refused: ", "bold red"), str(refusal)))
        show.print("No noise was drawn and nothing was learned. (Commands exit with code 3.)")
    show_ledger(place)
    verify(place)


PEOPLE = 10_000
ROWS = 20_000
_BIRDS = (
    "blackbird house-sparrow great-tit blue-tit robin starling magpie wood-pigeon chaffinch "
    "greenfinch goldfinch collared-dove jackdaw wren dunnock long-tailed-tit nuthatch crow "
    "great-spotted-woodpecker song-thrush swift barn-swallow house-martin blackcap chiffchaff "
    "bullfinch jay coal-tit marsh-tit crested-tit goldcrest firecrest treecreeper siskin "
    "brambling fieldfare redwing mistle-thrush black-redstart common-redstart white-wagtail "
    "grey-wagtail yellowhammer linnet skylark buzzard kestrel sparrowhawk red-kite tawny-owl "
    "barn-owl grey-heron mallard mute-swan coot moorhen kingfisher cormorant hoopoe bee-eater"
)
BIRDS = _BIRDS.split()
K = 10
EPSILON = 1.0
DELTA = 1e-6
MOST = 5
_LOG_SEED = 11  # the log of made-up people is the same in every run

Sightings = list[tuple[str, str]]


def write_log(path: Path) -> Sightings:
    """Write the made-up log, and return who saw what."""
    sightings = _made_up_log()
    lines = ["person,bird", *(f"{person},{bird}" for person, bird in sightings)]
    write_made_up(path, ("\n".join(lines) + "\n").encode())
    return sightings


def top_of_a_log(folder: Path, budget: Budget, seed: int | None) -> None:
    """Write a made-up log, release its top 10 with noisy counts, and draw them."""
    show = console()
    log = folder / "sightings.csv"
    sightings = write_log(log)
    show.print(
        f"{PEOPLE:,} made-up people report {ROWS:,} birds. Here the list of birds is private, too: "
        f"a rare bird can point to the one person who saw it. So delta {DELTA:g} is needed. One "
        f"person is counted for at most {MOST} birds."
    )
    salt = None if seed is None else f"seed {seed}"
    counts = winnow.counts(
        log, item="bird", person="person", max_items=MOST, reading=winnow.Reading(salt=salt)
    )
    plan = TopK(k=K, epsilon=EPSILON, delta=DELTA, with_counts=True, budget=budget).plan(counts)
    assert isinstance(plan, TopKPlan)  # the bound on birds is a number
    top = plan.run(counts, budget=budget, seed=seed)
    margin = plan.expected.counts_margin
    how: dict[str, Any] = {"ordered": True, "margin": margin}
    passed = threshold_text(plan)
    show_top(top, k=K, with_counts=True, threshold=passed, **how)
    save_released(folder / "top.json", top)
    people = true_counts(sightings)
    most = sorted(people, key=lambda bird: -people[bird])[:K]
    right = sum(bird in most for bird, _ in top.value)
    show.print(f"{right} of these {len(top.value)} are among the {K} birds that most people saw.")
    try:
        image = draw_beside_truth(top, people, margin)
    except ExtraMissing as missing:
        show.print(f"No picture: {missing}", markup=False)
        return
    write_whole(folder / "top.png", image)
    show.print(f"Beside the truth: {folder / 'top.png'}", markup=False, soft_wrap=True)


def draw_beside_truth(
    top: Released[list[Any]], people: dict[str, int], margin: int | None
) -> bytes:
    """The private top 10 beside the true counts, which only made-up people may be shown."""
    from winnow.show.plots.bars import draw_made_up_top

    return draw_made_up_top(
        [(bird, noisy, people[bird]) for bird, noisy in top.value],
        title=f"The {K} most reported birds, privately",
        subtitle=f"{PEOPLE:,} made-up people, {ROWS:,} reports; {top.guarantee}",
        margin=margin,
    )


def _made_up_log() -> Sightings:
    """Who saw which bird: bird i is drawn with chance ~ 1/(i + 3)."""
    stream = Tape.seeded(_LOG_SEED).stream()
    ends = list(accumulate(1_000_000 // (rank + 3) for rank in range(1, len(BIRDS) + 1)))
    return [
        (f"p{stream.below(PEOPLE):04}", BIRDS[bisect_right(ends, stream.below(ends[-1]))])
        for _ in range(ROWS)
    ]


def true_counts(sightings: Sightings) -> dict[str, int]:
    """How many people saw each bird, which only a demo with made-up people may tell."""
    seen: dict[str, set[str]] = defaultdict(set)
    for person, bird in sightings:
        seen[bird].add(person)
    return {bird: len(people) for bird, people in seen.items()}
