"""Plots of the pages as SVG, made on the server from what was released or is public.

A plot has a text for those who do not see it, colours by class (so that dark pages have their own),
and no script and no style of its own. Every text is escaped by ``Markup.format``.
"""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from markupsafe import Markup

_WIDTH = 400.0
_LEFT, _RIGHT, _TOP = 52.0, 12.0, 12.0
_BESIDE = 140.0
"""Names up to this wide stand beside their bars, longer ones above them."""
_MOST_BARS = 60
_COLOURS = 6
"""So many colours are told apart; further analysts share the last."""

Scale = Callable[[float], float]
"""From a value to its place."""


@dataclass(frozen=True)
class Bar:
    """A number with a name, and from where to where it may really lie."""

    label: str
    value: float
    low: float | None = None
    high: float | None = None


def _plot(height: float, says: str, parts: Iterable[Markup]) -> Markup:
    return Markup(
        '<svg class="plot" viewBox="0 0 {:.0f} {:.0f}" role="img" aria-label="{}">{}</svg>'
    ).format(_WIDTH, height, says, Markup("").join(parts))


def _text(x: float, y: float, text: str, kind: str = "", anchor: str = "start") -> Markup:
    return Markup('<text x="{:.1f}" y="{:.1f}" class="{}" text-anchor="{}">{}</text>').format(
        x, y, kind, anchor, text
    )


def _inside(x: float, y: float, text: str, kind: str = "") -> Markup:
    """A text in the middle of a place, or as near to it as the edges of the plot allow."""
    half = _width(text) / 2 + 1
    return _text(min(max(x, half), _WIDTH - half), y, text, kind, "middle")


def _line(x1: float, y1: float, x2: float, y2: float, kind: str) -> Markup:
    return Markup(
        '<line x1="{:.1f}" y1="{:.1f}" x2="{:.1f}" y2="{:.1f}" class="{}"/>'
    ).format(x1, y1, x2, y2, kind)  # fmt: skip


def _rect(x: float, y: float, width: float, height: float, kind: str) -> Markup:
    return Markup(
        '<rect x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}" class="{}"/>'
    ).format(x, y, max(0.0, width), height, kind)  # fmt: skip


def _path(points: Sequence[tuple[float, float]], kind: str, *, closed: bool = False) -> Markup:
    steps = " L".join(f"{x:.1f} {y:.1f}" for x, y in points)
    return Markup('<path d="M{}{}" class="{}"/>').format(steps, " Z" if closed else "", kind)


def short(number: float) -> str:
    """A number for people: 0.125, 39.98 or 10,000; what is tiny or vast has an exponent."""
    size = abs(number)
    if number and not 1e-3 <= size < 1e15:
        return f"{number:.2g}"
    if size < 10:
        return f"{number:.3f}".rstrip("0").rstrip(".")
    return f"{number:,.4g}" if size < 999.95 else f"{number:,.0f}"


def _width(text: str) -> float:
    """The room that a text needs at 12 pixels, rather too much than too little."""
    room = 0.0
    for c in text:
        wide = unicodedata.east_asian_width(c) in "WF" or c in "mMWw@%&…+=<>"
        room += 12.5 if wide else 9.5 if c.isupper() else 7.6
    return room


def _lines(text: str, room: float, most: int = 4) -> list[str]:
    """A text in lines that fit, broken between words where there are any; the last may be cut."""
    lines = [""]
    for word in text.split(" "):
        longer = f"{lines[-1]} {word}" if lines[-1] else word
        if _width(longer) <= room:
            lines[-1] = longer
            continue
        if lines[-1]:
            lines.append("")
        for character in word:
            if _width(lines[-1] + character) > room:
                lines.append("")
            lines[-1] += character
    if len(lines) > most:
        lines = [*lines[: most - 1], f"{lines[most - 1][:-2]}…"]
    return lines


def _margin(ticks: Iterable[float]) -> float:
    """Where a plot begins, so that the numbers at its left fit."""
    return max(_LEFT, 10 + max((_width(short(tick)) for tick in ticks), default=0.0))


def nice_ticks(low: float, high: float, about: int = 4) -> list[float]:
    """Round numbers from low to high, about so many."""
    if not high > low:
        return [low]
    step = 10.0 ** math.floor(math.log10((high - low) / about))
    step *= min((1, 2, 5, 10), key=lambda m: abs((high - low) / (m * step) - about))
    first = math.ceil(low / step - 1e-9)
    return [step * i for i in range(first, math.floor(high / step + 1e-9) + 1)]


def log_ticks(low: float, high: float) -> list[float]:
    """1, 2 and 5 times powers of ten; fewer where they would stand too close."""
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for steps in ((1, 2, 5), (1, 3), (1,)):
        ticks = [m * 10.0**p for p in powers for m in steps if low <= m * 10.0**p <= high]
        if len(ticks) <= 6:
            break
    return ticks or [low, high]


def error_curve(
    curve: Sequence[tuple[float, float | None]],
    chosen: tuple[float, float | None],
    most: float | None = None,
) -> Markup | None:
    """The expected error against epsilon, both on scales of ratios; None: nothing is known."""
    points = sorted({(e, v) for e, v in [*curve, chosen] if v is not None and v > 0})
    if len(points) < 2 or chosen[1] is None:
        return None
    height, floor = 240.0, 198.0
    xs, ys = [e for e, _ in points], [v for _, v in points]
    ticks = log_ticks(min(ys), max(ys))
    margin = _margin(ticks)
    at = _logarithmic(xs[0], xs[-1], margin, _WIDTH - _RIGHT)
    up = _logarithmic(min(ys), max(ys), floor - 8, _TOP + 8)
    parts = [_text(4, _TOP + 2, "error", "axis")]
    for tick in ticks:
        parts += [
            _line(margin, up(tick), _WIDTH - _RIGHT, up(tick), "grid"),
            _text(margin - 6, up(tick) + 4, short(tick), "", "end"),
        ]
    for tick in log_ticks(xs[0], xs[-1]):
        parts.append(_line(at(tick), floor, at(tick), floor + 4, "tick"))
        parts.append(_inside(at(tick), floor + 18, short(tick)))
    parts.append(_line(margin, floor, _WIDTH - _RIGHT, floor, "tick"))
    parts.append(_text((margin + _WIDTH - _RIGHT) / 2, floor + 36, "epsilon", "axis", "middle"))
    if most is not None and xs[0] < most < xs[-1]:
        parts.append(_rect(at(most), _TOP, _WIDTH - _RIGHT - at(most), floor - _TOP, "beyond"))
        beyond = "more than is left"
        fits = at(most) + 4 + _width(beyond) <= _WIDTH
        place, anchor = (at(most) + 4, "start") if fits else (at(most) - 4, "end")
        parts.append(_text(place, _TOP + 12, beyond, "axis", anchor))
    parts.append(_path([(at(e), up(v)) for e, v in points], "curve"))
    x, y = at(chosen[0]), up(chosen[1])
    parts.append(_line(x, y, x, floor, "chosen"))
    parts.append(Markup('<circle cx="{:.1f}" cy="{:.1f}" r="5" class="point"/>').format(x, y))
    left = x > _WIDTH * 0.7
    parts.append(_text(x + (-9 if left else 9), y - 8, short(chosen[1]), "strong",
                       "end" if left else "start"))  # fmt: skip
    says = (
        f"Expected error against epsilon: {short(ys[0])} at {short(xs[0])}, "
        f"{short(chosen[1])} at the chosen {short(chosen[0])}, {short(ys[-1])} at {short(xs[-1])}"
    )
    return _plot(height, says, parts)


def _logarithmic(low: float, high: float, start: float, end: float) -> Scale:
    width = math.log(high / low) or 1.0
    return lambda value: start + (end - start) * math.log(value / low) / width


def bars(rows: Sequence[Bar], says: str) -> Markup:
    """One bar for each number, with a line from where to where it may lie."""
    shown = rows[:_MOST_BARS]
    widest = max((_width(row.label) for row in shown), default=0.0)
    beside = widest <= _BESIDE
    names = 14 + widest if beside else 2.0
    low = min([0.0, *(r.value if r.low is None else r.low for r in shown)])
    high = max([0.0, *(r.value if r.high is None else r.high for r in shown)])
    span = (high - low) or 1.0
    numbers = max((_width(short(row.value)) for row in shown), default=0.0)
    left, right = names, _WIDTH - max(58.0, 16 + numbers)

    def at(value: float) -> float:
        return left + (right - left) * (value - low) / span

    step, y, parts = 24.0, 4.0, []
    for row in shown:
        if beside:
            parts.append(_text(names - 8, y + 15, row.label, "", "end"))
        else:
            for line in _lines(row.label, _WIDTH - 4):
                parts.append(_text(2, y + 13, line))
                y += 15
        start, end = sorted((at(0.0), at(row.value)))
        parts.append(_rect(start, y + 3, max(1.0, end - start), step - 8, "bar"))
        if row.low is not None and row.high is not None:
            parts += _whisker(at(row.low), at(row.high), y + step / 2 - 1)
        parts.append(_text(_WIDTH - 2, y + 15, short(row.value), "number", "end"))
        parts.append(_line(at(0.0), y - 1, at(0.0), y + step - 1, "tick"))
        y += step
    left_out = len(rows) - len(shown)
    more = f"; {left_out:,} more are in the table" if left_out else ""
    ends = "; lines show 95% intervals" if any(r.low is not None for r in shown) else ""
    return _plot(y + 6, f"{says}: {len(shown)} bars{ends}{more}", parts)


def _whisker(start: float, end: float, y: float) -> list[Markup]:
    return [
        _line(start, y, end, y, "whisker"),
        _line(start, y - 4, start, y + 4, "whisker"),
        _line(end, y - 4, end, y + 4, "whisker"),
    ]


def interval(value: float, low: float, high: float, total: float, says: str) -> Markup:
    """One number on a line from 0 to all, with its error bar."""
    start, end, y = 14.0, _WIDTH - 14, 34.0

    def at(number: float) -> float:
        return start + (end - start) * min(1.0, max(0.0, number / (total or 1.0)))

    parts = [_line(start, 56, end, 56, "tick")]
    for tick in nice_ticks(0.0, total, 4):
        parts.append(_line(at(tick), 56, at(tick), 60, "tick"))
        parts.append(_inside(at(tick), 74, short(tick)))
    parts.append(_rect(at(low), y - 8, at(high) - at(low), 16, "band"))
    parts += _whisker(at(low), at(high), y)
    parts.append(
        Markup('<circle cx="{:.1f}" cy="{:.1f}" r="6" class="point"/>').format(at(value), y)
    )
    parts.append(_inside(at(value), 16, short(value), "strong"))
    return _plot(82, says, parts)


@dataclass(frozen=True)
class Spent:
    """One charge: when, by whom, and how much was used after it."""

    time: datetime
    analyst: str
    spent: float


def spending(charges: Sequence[Spent], cap: float, unit: str) -> Markup | None:
    """What was used over time, one colour for each analyst, up to the cap."""
    if not charges:
        return None
    names = analysts(charges)
    height, floor = 250.0, 206.0
    first, last = charges[0].time.timestamp(), charges[-1].time.timestamp()
    around = max(1.0, (last - first) * 0.04)
    begin, end = first - around, last + around
    top = max(cap, charges[-1].spent) * 1.06
    ticks = nice_ticks(0.0, top)
    margin = _margin(ticks)

    def at(moment: float) -> float:
        return margin + (_WIDTH - _RIGHT - margin) * (moment - begin) / (end - begin)

    def up(amount: float) -> float:
        return floor - (floor - _TOP) * amount / top

    parts = []
    for tick in ticks:
        parts.append(_line(margin, up(tick), _WIDTH - _RIGHT, up(tick), "grid"))
        parts.append(_text(margin - 6, up(tick) + 4, short(tick), "", "end"))
    sums = dict.fromkeys(names, 0.0)
    layers: dict[str, list[tuple[float, float, float]]] = {name: [] for name in names}
    before = 0.0
    for charge in charges:
        sums[charge.analyst] += charge.spent - before
        before = charge.spent
        base = 0.0
        for name in names:
            layers[name].append((charge.time.timestamp(), base, base + sums[name]))
            base += sums[name]
    for number, name in enumerate(names):
        parts.append(
            _path(_area(layers[name], end, at, up), f"area c{_colour(number)}", closed=True)
        )
    parts.append(_line(margin, up(cap), _WIDTH - _RIGHT, up(cap), "cap"))
    parts.append(_text(_WIDTH - _RIGHT, up(cap) - 5, f"cap {short(cap)}", "strong", "end"))
    parts.append(_line(margin, floor, _WIDTH - _RIGHT, floor, "tick"))
    same = charges[0].time.date() == charges[-1].time.date()
    form = "%H:%M:%S" if same else "%Y-%m-%d"
    parts.append(_text(margin, floor + 18, charges[0].time.strftime(form)))
    parts.append(_text(_WIDTH - _RIGHT, floor + 18, charges[-1].time.strftime(form), "", "end"))
    parts.append(
        _text((margin + _WIDTH) / 2, floor + 36, f"{unit} used, by time (UTC)", "axis", "middle")
    )
    by = ", ".join(names)
    says = f"{unit} used over time: {short(charges[-1].spent)} of {short(cap)}, by {by}"
    return _plot(height, says, parts)


def _area(
    layer: Sequence[tuple[float, float, float]], end: float, at: Scale, up: Scale
) -> list[tuple[float, float]]:
    """The outline of one analyst's part: steps above, and back along the steps below."""
    over: list[tuple[float, float]] = []
    under: list[tuple[float, float]] = []
    last = (0.0, 0.0)
    for moment, low, high in layer:
        over += [(at(moment), up(last[1])), (at(moment), up(high))]
        under += [(at(moment), up(last[0])), (at(moment), up(low))]
        last = (low, high)
    over.append((at(end), up(last[1])))
    under.append((at(end), up(last[0])))
    return [*over, *reversed(under)]


def analysts(charges: Sequence[Spent]) -> list[str]:
    """Who charged, in the order of their first charge."""
    return list(dict.fromkeys(charge.analyst for charge in charges))


def _colour(number: int) -> int:
    return min(number, _COLOURS - 1)


def legend(charges: Sequence[Spent]) -> list[tuple[str, int]]:
    """Each analyst with the colour of the plot."""
    return [(name, _colour(number)) for number, name in enumerate(analysts(charges))]


def budget_bar(spent: float, cap: float) -> Markup:
    """How much of a cap is used; the numbers stand beside it."""
    width = 100.0 * min(1.0, spent / cap) if cap else 100.0
    return Markup(
        '<svg class="budget" viewBox="0 0 100 6" preserveAspectRatio="none" aria-hidden="true">'
        '<rect width="100" height="6" class="free"/><rect width="{:.2f}" height="6" class="used"/>'
        "</svg>"
    ).format(width)
