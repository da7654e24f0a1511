"""The last part of ``winnow demo``: the ledger that everything was charged to."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from winnow.cli.printing import console
from winnow.errors import BudgetExceeded
from winnow.privacy.ledger import Ledger, RecordedBudget

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
    from winnow.cli.demo_log import MOST
    from winnow.cli.ledger import show as show_ledger
    from winnow.cli.ledger import verify

    show = console()
    place = str(folder / NAME)
    show.print(
        "Every charge above was written down before its noise was drawn. Once more the top ten of "
        "the birds, although their budget is spent:"
    )
    counts = winnow.counts(
        folder / "sightings.csv", item="bird", user="person", max_items_per_user=MOST
    )
    try:
        winnow.top_k(counts, k=10, epsilon=1.0, delta=1e-6, budget=birds, seed=seed)
    except BudgetExceeded as refusal:
        from rich.text import Text

        show.print(Text.assemble(("refused: ", "bold red"), str(refusal)))
        show.print("No noise was drawn and nothing was learned. (Commands exit with code 3.)")
    show_ledger(place)
    verify(place)
