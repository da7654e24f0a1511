"""What to expect of tables before they are paid for, from public numbers."""

from __future__ import annotations

from dataclasses import dataclass

from winnow.release.tables.settings import TablesSettings

SCOPE = (
    "Computed from public numbers: no data were read, nothing was spent. Errors are in rows. "
    "Standard errors are exact; 'largest' is the median of the largest error: of cells as if they "
    "were independent, which is no less, of ranges by a simulation of the noise."
)


@dataclass(frozen=True)
class TableRow:
    """What to expect of one table."""

    table: str
    answers: int
    standard_error: float
    """The root of the mean squared error of its answers."""
    mean: float
    largest: float
    plain_largest: float
    """The largest error with plain noise on the cells."""


@dataclass(frozen=True)
class StrategyRow:
    """What to expect of all tables together, by one strategy."""

    strategy: str
    noise: str
    tables: int
    """How many tables are measured."""
    largest: float
    mean: float


@dataclass(frozen=True)
class TablesExpected:
    """The tables of a plan, and the strategies that were compared for them."""

    strategy: str
    total: str
    """Of the number of rows: 'public', 'measured' or 'not released'."""
    rows: tuple[TableRow, ...]
    """Empty: how many answers there will be is private."""
    compared: tuple[StrategyRow, ...]
    """All that were looked at, the one that is taken first."""


def expected_of(settings: TablesSettings) -> TablesExpected:
    """What to expect of the tables of a schema."""
    taken, plain = settings.strategy, settings.plain
    rows = tuple(
        TableRow(part.title, part.size, own.rms, own.mean, own.largest, noise.largest)
        for part, own, noise in zip(settings.parts, taken.each, plain.each, strict=True)
    )
    compared = tuple(
        StrategyRow(each.name, each.mechanism.law, len(each.mechanism.measured),
                    each.errors.largest, each.errors.mean)
        for each in settings.strategies
    )  # fmt: skip
    known = "measured" if settings.total is None else "public"
    return TablesExpected(taken.name, known, rows, compared)
