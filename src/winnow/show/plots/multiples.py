"""The lists of groups as small multiples: a panel of bars for each group, on one scale."""

from __future__ import annotations

from typing import TYPE_CHECKING

from winnow.errors import ParameterError
from winnow.show.plots.bars import MOST_BARS, short
from winnow.show.plots.figures import STYLES, add_axes, as_file, empty_figure, say_counted, wrapped

if TYPE_CHECKING:
    from winnow.select.lists import ListsByGroup

_ACROSS = 3
_MOST_PANELS = 30


def draw_lists(
    lists: ListsByGroup, *, title: str = "", subtitle: str = "", ending: str = ".png"
) -> bytes:
    """A panel for each group, its items by noisy count, as the content of a file.

    Whiskers are how far the noise reaches either way. A set is drawn by its noisy counts.
    """
    groups = {group: list(items) for group, items in lists.items()}
    bars = sum(map(len, groups.values()))
    if len(groups) > _MOST_PANELS or bars > 2 * MOST_BARS:
        raise ParameterError(
            f"{len(groups):,} groups with {bars:,} bars cannot be drawn; give up to {_MOST_PANELS} "
            f"groups and {2 * MOST_BARS} bars"
        )
    across = min(_ACROSS, max(1, len(groups)))
    down = -(-max(1, len(groups)) // across)
    longest = max([3, *map(len, groups.values())])
    figure = empty_figure(9.0, 1.4 + down * (0.75 + 0.3 * longest))
    panels = [add_axes(figure, (down, across, place + 1)) for place in range(len(groups))]
    reach = lists.margin or 0
    counts = [count for items in groups.values() for _, count in items]
    span = max([1, *(abs(count) + reach for count in counts)])
    lowest = min([0, *(count - reach for count in counts)])
    for axes, (group, items) in zip(panels, groups.items(), strict=True):
        if not lists.ordered:
            items.sort(key=lambda pair: -pair[1])
        places, lengths = range(len(items)), [count for _, count in items]
        axes.barh(places, lengths, height=0.7, color=STYLES[0]["color"])
        if lists.margin is not None and items:
            axes.errorbar(lengths, places, xerr=reach, fmt="none", ecolor="#8c8c8c", elinewidth=1.4)
        for place, count in zip(places, lengths, strict=True):
            end = max(count, 0) + reach + 0.02 * span
            axes.text(end, place, f"{count:,}", va="center", fontsize=9, parse_math=False)
        labels = [short(str(item), 18) for item, _ in items]
        axes.set_yticks(places, labels, fontsize=10, parse_math=False)
        axes.tick_params(axis="y", length=0)
        axes.tick_params(axis="x", labelsize=9)
        axes.set_ylim(longest - 0.4, -0.6)
        axes.set_xlim(1.02 * lowest, 1.25 * span)
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
        axes.grid(axis="x", color="#dddddd", linewidth=0.8)
        axes.set_axisbelow(True)
        name = wrapped(f"{group}", 20, 2)
        axes.set_title(name, loc="left", fontsize=11, fontweight="bold", parse_math=False)
        if not items:
            axes.text(
                0.5, 0.5, "nothing was released", transform=axes.transAxes, ha="center", fontsize=10
            )
    whiskers = "" if lists.margin is None else f" (whiskers: 95 % of the noise, ±{lists.margin:,})"
    axis = f"noisy count{whiskers}"
    figure.supxlabel(axis, fontsize=11)
    heading = "\n".join(filter(None, [title or f"Lists by {lists.by}", subtitle]))
    figure.suptitle(heading, x=0.015, ha="left", fontsize=13, linespacing=1.4, parse_math=False)
    say_counted(figure, "" if subtitle else lists.counted, axis)  # a subtitle says it
    return as_file(figure, ending)
