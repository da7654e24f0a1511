"""The mechanisms side by side: plans, a table of them, and their curves."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from winnow.select.plan.expected import SelectExpected
    from winnow.show.plots.curves import Curve


Chances = Callable[[Sequence[float]], list[float]]
"""The chance of the true answer at each of some epsilons."""

Plans = Mapping[str, "SelectExpected"]
"""Plans for the same question, by a short name of the mechanism."""


def show_comparison(plans: Plans) -> None:
    """A table with one line for each mechanism, and what its columns mean."""
    from winnow.cli.printing import console, grid, notes

    every = list(plans.values())
    first = every[0]
    confident = f"{100 * first.confidence:.6g} %"
    columns: list[tuple[str, Callable[[SelectExpected], float | None], str]] = [
        ("epsilon", lambda p: p.epsilon, "the privacy loss that is planned for"),
        ("chance", lambda p: p.chance, f"that {true_answer(first)}, on the assumed gaps"),
        (
            f"error\n{confident}",
            lambda p: p.error_quantile,
            "how far the pick lies behind the best, in score units, on the assumed gaps",
        ),
        ("mean\nerror", lambda p: p.expected_error, "the mean of that distance"),
        (f"bound\n{confident}", lambda p: p.bound, "how far it may lie behind for any data"),
        ("for\ntarget", lambda p: p.epsilon_for_target, f"the epsilon for {first.target}"),
    ]
    if all(p.epsilon == p.epsilon_for_target for p in every):
        columns.pop()
    columns = [column for column in columns if any(column[1](p) is not None for p in every)]
    rows = [[name, *(_short(get(p)) for _, get, _ in columns)] for name, p in plans.items()]
    heads = [("method", "left"), *((name, "right") for name, _, _ in columns)]
    meanings = notes((name.replace("\n", " "), meaning) for name, _, meaning in columns)
    show = console()
    show.print(grid(heads, rows), meanings)
    show.print(
        f"\n{first.candidates:,} candidates; sensitivity {first.sensitivity:.6g} "
        f"({first.relation}). {first.scope}",
        style="dim",
    )


def true_answer(plan: SelectExpected) -> str:
    """The event whose chance is planned, in words."""
    return "the best wins" if plan.k == 1 else f"the top {plan.k} are reported"


def _short(value: float | None) -> str:
    return "-" if value is None else f"{value:.4g}"


def chance_curves(plans: Plans) -> list[Curve]:
    """The chance of each plan over the range of epsilon in which it changes."""

    def chances_of(plan: SelectExpected) -> Chances:
        return lambda epsilons: [chance or 0.0 for _, chance, _ in plan.curve(epsilons)]

    planned = [plan.epsilon for plan in plans.values()]
    return curves({name: chances_of(plan) for name, plan in plans.items()}, planned)


def curves(
    mechanisms: Mapping[str, Chances], planned: Sequence[float], points: int = 65
) -> list[Curve]:
    """Curves over the range of epsilon in which a chance changes, the planned ones included."""
    import numpy as np

    from winnow.show.plots.curves import Curve

    wide = np.geomspace(min(planned) / 100, max(planned) * 100, 41)
    coarse = np.array([chances(wide.tolist()) for chances in mechanisms.values()])
    blind = coarse[:, :1]
    changing = ((coarse > blind + 0.02 * (1 - blind)) & (coarse < 0.995)).any(axis=0)
    kept = np.flatnonzero(changing) if changing.any() else np.arange(len(wide))
    low = min(wide[max(kept[0] - 1, 0)], min(planned))
    high = max(wide[min(kept[-1] + 1, len(wide) - 1)], max(planned))
    fine = np.geomspace(low, high, points).tolist()
    return [Curve(name, fine, chances(fine)) for name, chances in mechanisms.items()]
