"""``winnow ledger``: make, read, check and export the record of all charges."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from winnow.cli.options import JsonOption, RelationOption
from winnow.cli.reporting import report, reported
from winnow.cli.settings import elsewhere
from winnow.core.relation import Relation
from winnow.core.unit import counted

if TYPE_CHECKING:
    from winnow.privacy.ledger import Dataset, Entry, Ledger, Share

INIT_EXAMPLES = """\
Examples:

winnow ledger init ledger.db --dataset census --epsilon 2 --delta 1e-6

winnow top-k visits.csv --item page -k 10 --epsilon 0.5 --ledger ledger.db --dataset census \
--one-row-per-person
"""
EXAMPLES = """\
Examples:

winnow ledger show ledger.db

winnow ledger verify ledger.db --head 12:9f2c...

winnow ledger export ledger.db --out charges.csv
"""

_FORMULA = ("=", "+", "-", "@", "\t", "\r")

PlaceArgument = Annotated[
    str,
    typer.Argument(
        metavar="LEDGER",
        help="A file, or for a ledger that a team shares postgresql://... without a password, or "
        "file:PATH of a file that holds the address.",
    ),
]
KeyOption = Annotated[
    Path | None,
    typer.Option(
        "--key", metavar="FILE", help="Where the key lies; LEDGER.key beside the file by default."
    ),
]


def opened(place: str, key: Path | None, *, create: bool = False) -> Ledger:
    """The ledger that was named on the command line."""
    from winnow.privacy.ledger import Ledger
    from winnow.privacy.ledger.addresses import typed

    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        # Nobody else reads what stands in the environment or in a private file.
        address = place if "ledger" in elsewhere.get() else typed(place)
        ledger = Ledger.open(address, key_file=key, create=create)
    for each in said:
        report(f"note: {each.message}")
    return ledger


@reported()
def init(
    place: PlaceArgument,
    dataset: Annotated[
        str, typer.Option("--dataset", metavar="LABEL", help="The label of the data.")
    ],
    epsilon: Annotated[
        float,
        typer.Option(
            "--epsilon",
            metavar="E",
            help="The cap on epsilon: all that may ever be spent on the data.",
        ),
    ],
    delta: Annotated[float, typer.Option("--delta", metavar="D", help="The cap on delta.")] = 0.0,
    delta_for_events: Annotated[
        float,
        typer.Option(
            "--delta-for-events",
            metavar="D",
            help="With --accountant gaussian or zcdp: the part of delta set aside for mechanisms "
            "that need a delta of their own.",
        ),
    ] = 0.0,
    relation: RelationOption = Relation.ADD_REMOVE,
    unit: Annotated[
        str | None,
        typer.Option(
            "--unit",
            metavar="NAME",
            help="Who is protected: row, basket, a column of people, or person for people "
            "whatever columns call them. Default: as in the first release.",
        ),
    ] = None,
    accountant: Annotated[
        str | None,
        typer.Option(
            "--accountant",
            metavar="NAME",
            help="pure (default without a delta), combined (default with one; it serves every "
            "command), gaussian (for a long series of small releases), or zcdp (for experts).",
        ),
    ] = None,
    key: KeyOption = None,
) -> None:
    """Make a ledger, or add a dataset to one, with a cap that is fixed for good.

    The key of the chain is written beside the ledger, readable by its owner only. Keep a
    copy: without it nothing can be charged or verified.
    """
    from winnow.cli.printing import console, pairs, visible

    ledger = opened(place, key, create=True)
    cap = ledger.open_dataset(
        dataset,
        epsilon=epsilon,
        delta=delta,
        relation=relation,
        accountant=accountant,
        delta_for_events=delta_for_events,
        unit=unit,
    )
    table = pairs()
    table.add_row("ledger", visible(ledger.name))
    table.add_row("dataset", visible(dataset))
    table.add_row("cap", visible(ledger.dataset(dataset).guarantee))
    table.add_row("counted in", f"{cap.unit}, {float(cap.limit.size):.6g} in all")
    console().print(table)


@reported()
def show(place: PlaceArgument, key: KeyOption = None, json: JsonOption = False) -> None:
    """Show what is used of every dataset's cap and what is left, and the latest charges.

    What is guaranteed is the cap, from the first charge to the last; the amount used so far
    is bookkeeping.
    """
    from winnow.cli.printing import console, grid, show_json
    from winnow.privacy.ledger.spending import SHOWN_DELTA, spent_of
    from winnow.privacy.refusals import COMPOSING, ODOMETER

    ledger = opened(place, key)
    datasets, entries = ledger.datasets(), ledger.entries()
    if json:
        show_json(_document(ledger, datasets, entries))
        return
    screen = console()
    spent = spent_of(entries)
    amounts = ("dataset", "in", "used", "left", "of", "delta used", "charges")
    sides = [(name, "left" if place < 2 else "right") for place, name in enumerate(amounts)]
    screen.print(grid(sides, [_amounts(d) for d in datasets]))
    for d in datasets:
        screen.print(f"{d.label}: {d.guarantee}, whatever is released", markup=False)
        if d.charges:
            screen.print(f"  spent so far: {spent[d.label].told(SHOWN_DELTA)}", markup=False)
    for d in datasets:
        if d.unstated:
            screen.print(
                f"{d.label}: {counted(d.unstated, 'charge')} from before units were written down; "
                "see their receipts for whom they are about",
                style="yellow",
                markup=False,
            )
    charges = [entry for entry in entries if entry.kind == "charge"]
    if charges:
        screen.print(f"{COMPOSING} {ODOMETER}", style="dim", markup=False)
        screen.print(f"The latest {min(len(charges), 10)} of {len(charges)} charges", style="bold")
        rows = [_charge_row(entry) for entry in charges[-10:]]
        heads = ("entry", "time (UTC)", "dataset", "analyst", "charged")
        named = any(row[3] for row in rows)  # without analysts the charges have more room
        kept = [place for place in range(len(heads)) if named or place != 3]
        columns = [(heads[place], "left" if place else "right") for place in kept]
        screen.print(grid(columns, [[row[place] for place in kept] for row in rows]))
    if entries:
        screen.print(f"head {entries[-1].head}", style="dim", soft_wrap=True)


@reported()
def verify(
    place: PlaceArgument,
    head: Annotated[
        list[str] | None,
        typer.Option(
            "--head",
            metavar="HEAD",
            help="The line 'ledger' of a receipt; may be given several times.",
        ),
    ] = None,
    key: KeyOption = None,
    json: JsonOption = False,
) -> None:
    """Check every entry, link and sum of a ledger; exit code 1 if something is wrong.

    With a head from a receipt it also finds a ledger that was cut, or replaced by an older
    copy of itself.
    """
    from winnow.cli.printing import console, show_json

    ledger = opened(place, key)
    checks = [ledger.verify(each) for each in head or [None]]  # type: ignore[list-item]
    bad = next((check for check in checks if not check.ok), None)
    result = bad or checks[-1]
    if json:
        show_json({"ok": result.ok, **vars(result)})
    elif bad is None:
        console().print(f"{result.entries} entries, all genuine; head {result.head}",
                        style="green", soft_wrap=True)  # fmt: skip
    else:
        console().print(f"NOT GENUINE: {bad.problem}", style="bold red", soft_wrap=True)
    if bad is not None:
        raise typer.Exit(1)


@reported()
def export(
    place: PlaceArgument,
    out: Annotated[
        Path, typer.Option("--out", metavar="FILE", help="Where to: .csv, .json or .parquet.")
    ],
    key: KeyOption = None,
) -> None:
    """Write every entry of a ledger to a file, for other tools."""
    from winnow.cli.printing import console
    from winnow.core.saving import check_target, save

    check_target(out)
    ledger = opened(place, key)
    entries = ledger.entries()
    rows = [entry.to_dict() for entry in entries]
    plain = out.suffix.lower() == ".csv"
    save(out, rows, [_without_formulas(row) for row in rows] if plain else rows)
    console().print(f"{len(entries)} entries written to {out}", markup=False)


def _without_formulas(row: dict[str, Any]) -> dict[str, Any]:
    """A spreadsheet would run a text that starts like a formula; an apostrophe keeps it a text."""
    return {
        name: f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA) else value
        for name, value in row.items()
    }


def _amounts(dataset: Dataset) -> tuple[str, ...]:
    from winnow.privacy.rounding import text_down

    used, limit = dataset.spent, dataset.cap.limit_after(dataset.used)
    left = text_down(dataset.cap.room(dataset.used).size, 4)
    delta = f"{float(used.delta):.3g} of {float(limit.delta):.3g}" if limit.delta else "-"
    size, most = f"{float(used.size):.4g}", f"{float(limit.size):.4g}"
    return dataset.label, dataset.cap.unit, size, left, most, delta, str(dataset.charges)


def _charge_row(entry: Entry) -> tuple[str, ...]:
    from winnow.privacy import describe
    from winnow.privacy.events import from_json

    charged = describe(from_json(entry.body["event"]))
    analyst = str(entry.body.get("analyst", ""))
    minute = entry.time.replace("T", " ")[:16]
    return str(entry.sequence), minute, entry.dataset, analyst, charged


def _document(ledger: Ledger, datasets: list[Dataset], entries: list[Entry]) -> dict[str, Any]:
    from winnow.privacy.ledger.spending import SHOWN_DELTA, spent_of
    from winnow.privacy.rounding import stated_at_most

    spent = spent_of(entries)
    return {
        "ledger": ledger.name,
        "head": entries[-1].head if entries else None,
        "datasets": [
            {
                "label": d.label,
                "cap": d.guarantee.to_dict(),
                "accountant": d.cap.accountant,
                "unit": d.cap.unit,
                "limit": float(d.cap.limit.size),
                "used": float(d.spent.size),
                "left": stated_at_most(d.cap.room(d.used).size),
                "delta_limit": float(d.cap.limit_after(d.used).delta),
                "delta_used": float(d.used.delta),
                "spent_so_far": spent[d.label].reading(SHOWN_DELTA),
                "charges": d.charges,
                "charges_without_unit": d.unstated,
                "opened": d.opened,
            }
            for d in datasets
        ],
        "entries": [entry.to_dict() for entry in entries],
    }


SHARE_EXAMPLES = """\
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
    _show_shares([share])


@reported()
def list_shares(
    place: PlaceArgument, dataset: DatasetOption, key: KeyOption = None, json: JsonOption = False
) -> None:
    """Show what each analyst has used of a dataset, and may use at most."""
    shares = opened(place, key).shares(dataset)
    if json:
        from winnow.cli.printing import show_json

        show_json([_share_document(share) for share in shares])
    else:
        _show_shares(shares)


def _show_shares(shares: list[Share]) -> None:
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


def _share_document(share: Share) -> dict[str, Any]:
    return {
        "dataset": share.dataset,
        "analyst": share.analyst,
        "part": None if share.part is None else float(share.part),
        "used": float(share.spent.size),
        "limit": float(share.cap.limit.size),
        "delta_used": float(share.used.delta),
        "delta_limit": float(share.cap.limit.delta),
    }
