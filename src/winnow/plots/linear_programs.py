"""A released solution of a linear program as bars."""

from __future__ import annotations

from winnow.plots.figures import STYLES, as_file, new_figure
from winnow.released.linear_programs import LpSolution

MOST_VARIABLES = 40


def draw_solution(solution: LpSolution, *, title: str, ending: str = ".png") -> bytes:
    """The largest variables, largest first, as the content of a file."""
    bars = sorted(solution.variables(), key=lambda pair: -pair[1])[:MOST_VARIABLES]
    figure, axes = new_figure(height=1.9 + 0.3 * max(len(bars), 4))
    places = range(len(bars))
    axes.barh(places, [value for _, value in bars], height=0.72, color=STYLES[0]["color"])
    axes.set_yticks(places, [name[:36] for name, _ in bars], parse_math=False)
    axes.set_ylim(max(len(bars), 4) - 0.4, -0.6)
    axes.tick_params(axis="y", length=0)
    for place, (_, value) in zip(places, bars, strict=True):
        axes.text(value, place, f" {_short(value)}", va="center", fontsize=11, parse_math=False)
    axes.margins(x=0.12)
    more = "" if len(bars) == len(solution.x) else f" ({len(bars)} of {len(solution.x)} variables)"
    axes.set_xlabel(f"value{more}", loc="right", fontsize=12)
    rest = f", all but {solution.exceptions} rows" if solution.exceptions else ""
    axes.set_title(
        f"{title}\nobjective {_short(solution.objective)}; violation at most "
        f"{_short(solution.violation)} with probability {solution.confidence:g}{rest}",
        loc="left",
        fontsize=12,
        parse_math=False,
    )
    return as_file(figure, ending)


def _short(value: float) -> str:
    """A few digits, and no powers of ten where whole numbers do."""
    return f"{value:,.0f}" if 1e3 <= abs(value) < 1e9 else f"{value:.3g}"
