"""Plans of a top-k release: a table of the mechanisms, rows of a file, and curves."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from winnow.cli.comparison import Chances, curves
from winnow.cli.printing import add_receipt, card_grid, console, grid, notes, pairs, visible
from winnow.core.frames import list_columns
from winnow.core.notebook import Card
from winnow.core.relation import Relation
from winnow.core.released import Released
from winnow.core.unit import within_counted
from winnow.errors import ParameterError
from winnow.select.about import AboutScores
from winnow.select.methods import Sizes
from winnow.select.plan.top_k.probabilities import top_chance
from winnow.select.plan.top_k.profile import public_scores
from winnow.select.plan.top_k.rows import TopKRow
from winnow.select.plan.top_k.simulation import Candidate, TopKSimulation
from winnow.select.top_k_methods import TopKMethod

Top = Released[list[Any]]


def top_card(
    released: Top,
    *,
    k: int,
    with_counts: bool,
    ordered: bool,
    margin: int | None,
    threshold: str | None,
) -> Card:
    """The items in a table, with ranks where there is an order, and what a reader has to know."""
    pairs_of = released.value if with_counts else [(item, None) for item in released.value]
    width = max(len("rank"), len(str(len(pairs_of))))
    rows = [
        [f"{rank:>{width}}", visible(item), *([f"{noisy:,}"] if with_counts else [])]
        for rank, (item, noisy) in enumerate(pairs_of, 1)
    ]
    about = [] if ordered else ["a set: the order says nothing"]
    if len(rows) < k:
        about.append(f"{len(rows) or 'none'} of up to {k}: no other label passed the threshold")
    if threshold is not None:
        about.append(threshold)
    if margin is not None:
        about.append(f"each count: {within_counted(f'{margin:,}')}, with probability 0.95")
    return Card(
        "A list, the most common first" if ordered else "A set, listed in no order",
        ["rank", "item", *(["noisy count"] if with_counts else [])][0 if ordered else 1 :],
        [row[0 if ordered else 1 :] for row in rows],
        int(with_counts),
        notes=[("", line) for line in about],
    )


def show_top(released: Top, **said: Any) -> None:
    """The card of the items, then the receipt."""
    card, show = top_card(released, **said), console()
    if card.rows:
        show.print(card_grid(card))
    for _, line in card.notes:
        show.print(line, style="dim")
    table = pairs()
    add_receipt(table, released)
    show.print(table)


def show_labels(released: Top, *, ordered: bool, needed: float | None) -> None:
    """The labels, then what one needed to be found, and the receipt."""
    show = console()
    items, columns = released.value, list_columns(released.value)
    if items:
        rows = zip(*(map(str, column) for column in columns.values()), strict=True)
        show.print(grid([(name, "left") for name in columns], rows))
    number = "1 label" if len(items) == 1 else f"{len(items):,} labels"
    way = "the largest noisy weight first" if ordered else "in the order of their texts"
    show.print(f"{number}, {way}", style="dim")
    if needed is not None:
        show.print(
            f"of {needed:,.0f} people with one label each it is found half of the time; of people "
            "with several it takes more",
            style="dim",
        )
    table = pairs()
    add_receipt(table, released)
    show.print(table)


def save_top(path: Path, released: Top) -> None:
    """Save the items, and their counts; the guarantee and the receipt lie beside or inside."""
    from winnow.core.saving import save_columns, with_counted, write_whole

    if path.suffix.lower() == ".json":
        document = json.dumps(released.to_dict(), indent=2, default=str)
        write_whole(path, f"{document}\n".encode())
        return
    columns, about = list_columns(released.value), released.to_about()
    save_columns(path, with_counted(columns, released.receipt.counted), about)


def draw(released: Top, *, title: str, method: str, ending: str) -> bytes:
    """Bars of the noisy counts: by rank for a list, by noisy count for a set."""
    from winnow.show.plots.bars import below_title

    items: Any = released.value
    drawn: bytes = items.drawn(title=title, subtitle=below_title(method, released), ending=ending)
    return drawn


def report_page(released: Top, *, title: str, method: str, **said: Any) -> bytes:
    """The list as a web page; with counts and matplotlib it has their figure."""
    from datetime import UTC, datetime

    from winnow.errors import ExtraMissing
    from winnow.show.report.card import card_page

    card, drawn = top_card(released, **said), None
    if card.rows and said["with_counts"]:
        with suppress(ExtraMissing):  # the page has the numbers
            drawn = draw(released, title="", method=method, ending=".svg")
    date = datetime.now(UTC).date().isoformat()
    return card_page(released, title=visible(title), date=date, card=card, drawn=drawn)


_PlanColumn = tuple[str, Callable[[TopKRow], str], str]


def _width(planned: TopKSimulation, columns: list[_PlanColumn]) -> int:
    """How wide a terminal the table needs to be read."""
    names = max(len(_name(row)) for row in planned.rows)
    cells = ([*name.split("\n"), *(get(row) for row in planned.rows)] for name, get, _ in columns)
    return names + 1 + sum(max(map(len, cell)) + 3 for cell in cells)


def show_plan(planned: TopKSimulation) -> None:
    """A table with one line for each method, and what its columns mean.

    What a narrow terminal has no room for is in ``--json`` and ``--out``.
    """
    confident = f"{100 * planned.confidence:.6g} %"
    of = f"of the released {planned.judged}, over {planned.draws} simulated draws"
    columns: list[_PlanColumn] = [
        ("gives", lambda row: "list" if row.ordered else "set", "a list in order, or a set"),
        ("epsilon", lambda row: f"{row.epsilon:.4g}", "the privacy loss that is planned for"),
        ("chance", lambda row: _share(row.top_chance, row.simulated_top),
         "of the true top k as a set; ~: share of the simulated draws"),
        ("GREAT", lambda row: _share(row.great_chance, row.simulated_great),
         "of the best k/10, and none beyond rank 1.1 k"),
        ("GOOD", lambda row: _share(row.good_chance, row.simulated_good),
         "of the best k/100, and none beyond rank 1.5 k"),
        ("error", lambda row: _error(row, "median"), f"median of max |c_i - c_(s_i)| {of}"),
        (f"error\n{confident}", lambda row: _error(row, "upper"), "what it does not exceed"),
        (f"bound\n{confident}", lambda row: _short(row.signed_bound), "for any counts"),
        (f"counts\n{confident}", lambda row: _short(row.counts_margin),
         "within what the noise of each released count lies"),
        ("for\ntarget", _wanted, _target(planned)),
    ]  # fmt: skip
    columns = [column for column in columns if any(column[1](row) != "-" for row in planned.rows)]
    if planned.epsilon is None:
        columns = [column for column in columns if column[0] != "for\ntarget"]
    show = console()
    for name in ("GOOD", "GREAT"):
        if _width(planned, columns) > show.width:
            columns = [column for column in columns if column[0] != name]
    heads = [("method", "left"), *((name, "right") for name, _, _ in columns)]
    rows = [[_name(row), *(get(row) for _, get, _ in columns)] for row in planned.rows]
    show.print(
        grid(heads, rows), notes((name.replace("\n", " "), text) for name, _, text in columns)
    )
    for name, reason in planned.skipped.items():
        show.print(f"{name} is left out: {reason}", style="dim", markup=False)
    show.print(
        f"\ntop {planned.k} of {planned.candidates:,}; {Relation(planned.relation).sentence}. "
        f"{planned.scope}",
        style="dim",
    )


def plan_rows(planned: TopKSimulation) -> list[dict[str, Any]]:
    """One flat row for each method, with the question beside it."""
    shared = {
        name: getattr(planned, name)
        for name in ("k", "candidates", "delta", "relation", "confidence", "draws", "seed")
    }
    rows = []
    for row in planned.rows:
        plain = row.to_dict()
        errors = plain.pop("simulated") or {}
        flat = {
            f"{metric}_{part}": value
            for metric, error in errors.items()
            for part, value in error.items()
        }
        rows.append({**plain, **flat, **shared})
    return rows


def check_curves(planned: TopKSimulation) -> None:
    """Refuse a plan that has nothing to draw."""
    if not any(_has_curve(row) for row in planned.rows):
        raise ParameterError(
            "--plot draws chances, and no formula is known for these methods; leave it out"
        )


def _has_curve(row: TopKRow) -> bool:
    """oneshot-approximate is allowed only at small epsilon, so it has no curve."""
    return row.top_chance is not None and row.method != "oneshot-approximate"


def draw_curves(
    plot: Path, planned: TopKSimulation, counts: Any, about: AboutScores, sizes: Sizes
) -> None:
    """The chance of the true top k against epsilon, for each method that has a formula."""
    from winnow.core.saving import write_whole
    from winnow.show.plots.curves import draw_chances

    drawn = {
        _name(row): _chances(row, counts, about, sizes) for row in planned.rows if _has_curve(row)
    }
    epsilons = [row.epsilon for row in planned.rows]
    image = draw_chances(
        curves(drawn, epsilons, points=49),
        title=f"Top {planned.k} of {planned.candidates:,}, public or assumed counts\n"
        f"{Relation(planned.relation).sentence}",
        event=f"the top {planned.k} are released",
        marked=planned.epsilon,
        ending=plot.suffix.lower(),
    )
    write_whole(plot, image)


def _chances(row: TopKRow, counts: Any, about: AboutScores, sizes: Sizes) -> Chances:
    """The chance of one row at other epsilons."""
    values = public_scores(counts)
    method = row._made
    assert isinstance(method, TopKMethod)
    candidate = Candidate(method, about, sizes if method.needs_delta else replace(sizes, delta=0))

    def chances(epsilons: Sequence[float]) -> list[float]:
        made = (candidate.at(epsilon) for epsilon in epsilons)
        return [top_chance(each, values, about.utility) or 0.0 for each in made]

    return chances


def _name(row: TopKRow) -> str:
    """The word, and the noise where there is a choice."""
    noise = _noise(row)
    return f"{row.method}, {noise}" if noise else row.method


def _noise(row: TopKRow) -> str:
    """The noise as the name of the mechanism states it."""
    return row.name.partition("(")[2].partition(" noise")[0]


def _share(exactly: float | None, simulated: float | None) -> str:
    if exactly is None:
        return "-" if simulated is None else f"~{simulated:.3g}"
    if 0 < 1.0 - exactly < 1e-4:
        return f"1 - {1.0 - exactly:.1g}"
    return f"{exactly:.4g}"


def _wanted(row: TopKRow) -> str:
    return _short(row.epsilon_for_target) + (" (list)" if row.for_list else "")


def _error(row: TopKRow, part: str) -> str:
    return "-" if row.simulated is None else _short(getattr(row.simulated["l_infinity"], part))


def _target(planned: TopKSimulation) -> str:
    return f"the epsilon with a chance of {planned.target_chance}; (list): of the list in order"


def _short(value: float | None) -> str:
    return "-" if value is None else f"{value:.4g}"
