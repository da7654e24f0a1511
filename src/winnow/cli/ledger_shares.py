"""``winnow ledger share``: how much of a dataset's cap each analyst may use."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from winnow.cli.ledger import KeyOption, PlaceArgument, opened
from winnow.cli.options import JsonOption
from winnow.cli.reporting import reported

if TYPE_CHECKING:
    from winnow.privacy.ledger import Share

EXAMPLES = """\
Examples:

winnow ledger share set ledger.db --dataset census --analyst ann --part 0.5

winnow ledger share list ledger.db --dataset census
"""

DatasetOption = Annotated[
    str, typer.Option("--dataset", metavar="LABEL", help="The label of the data in the ledger.")
]


@reported()
def set_share(
    place: PlaceArgument,
    dataset: DatasetOption,
    analyst: Annotated[str, typer.Option("--analyst", metavar="NAME", help="Whose share.")],
    part: Annotated[
        float,
        typer.Option("--part", metavar="P", help="The most of the cap, from 0 to 1."),
    ],
    key: KeyOption = None,
) -> None:
    """Let an analyst use at most a part of a dataset's cap.

    What the analyst has used before counts. Shares may add up to more than the cap, which binds
    in any case. It may be set again. An analyst without a share is bound by the cap alone.
    """
    share = opened(place, key).set_share(dataset, analyst, part)
    _show([share])


@reported()
def list_shares(
    place: PlaceArgument, dataset: DatasetOption, key: KeyOption = None, json: JsonOption = False
) -> None:
    """Show what each analyst has used of a dataset, and may use at most."""
    shares = opened(place, key).shares(dataset)
    if json:
        from winnow.cli.printing import show_json

        show_json([_document(share) for share in shares])
    else:
        _show(shares)


def _show(shares: list[Share]) -> None:
    from winnow.cli.printing import console, grid

    columns = [("dataset", "left"), ("analyst", "left"), ("part", "right")]
    columns += [("used", "right"), ("at most", "right")]
    rows = [
        (
            share.dataset,
            share.analyst,
            "all" if share.part is None else f"{float(share.part):.6g}",
            f"{float(share.spent.size):.6g}",
            f"{float(share.cap.limit.size):.6g}",
        )
        for share in shares
    ]
    console().print(grid(columns, rows))


def _document(share: Share) -> dict[str, Any]:
    return {
        "dataset": share.dataset,
        "analyst": share.analyst,
        "part": None if share.part is None else float(share.part),
        "used": float(share.spent.size),
        "limit": float(share.cap.limit.size),
        "delta_used": float(share.used.delta),
        "delta_limit": float(share.cap.limit.delta),
    }
