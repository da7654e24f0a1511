"""What to expect of a graphical model: what is measured, its noise and its time."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from winnow.core.notebook import Card, InNotebook, text_card
from winnow.core.relation import Relation
from winnow.release.graphical.at_once import AtOnce
from winnow.release.graphical.settings import WideSettings
from winnow.release.terms import ReleaseTerms

_SCOPE = (
    "Computed from public numbers: no data were read, nothing was spent. 'noise' is that of one "
    "count of a measured table, in rows. 'distance' is about the mean total variation distance of "
    "the workload's tables from the truth: a rule of thumb, seen on other data, no promise."
)


@dataclass(frozen=True)
class WideExpected(InNotebook):
    """What to expect of a graphical model, before it is paid for."""

    epsilon: float
    delta: float
    relation: str
    strategy: str
    """"rounds", "all at once", "all at once, a model of some" or "columns alone"."""
    tables: int
    """How many tables are measured: those of single columns, then one in each round."""
    rounds: int
    first_noise: float
    """Of a count of a single column, a standard deviation in rows: the mean over columns."""
    noise: float
    """Of a count of a usual table, a standard deviation in rows."""
    distance: float
    """About the mean total variation distance of the workload's tables: a rule of thumb."""
    seconds: float
    reason: str
    rows: int | None = None
    """Public or assumed, where they are known."""
    scope: str = _SCOPE

    def _card(self) -> Card:
        return text_card(str(self))

    def to_dict(self) -> dict[str, Any]:
        """The plan as plain data, ready for JSON."""
        return asdict(self)

    def _noise(self, deviation: float) -> str:
        above = self.rows is not None and deviation >= self.rows
        return "more than all rows" if above else f"{deviation:,.3g} rows"

    def __str__(self) -> str:
        rounds = f", {self.rounds} of them in rounds" if self.rounds else ""
        return "\n".join(
            [
                f"epsilon={self.epsilon:.6g}, delta={self.delta:.6g}, "
                f"{Relation(self.relation).sentence}",
                f"{self.strategy}: {self.tables} tables{rounds}, about {self.seconds:.0f} s",
                f"noise: in a column {self._noise(self.first_noise)}, in a table "
                f"{self._noise(self.noise)}",
                f"tables about {self.distance:.2g} from the truth (rule of thumb)",
                self.reason,
                "",
                self.scope,
            ]
        )


def expected_of(terms: ReleaseTerms, planned: WideSettings | AtOnce) -> WideExpected:
    """What to expect, from all that is fixed."""
    what = _at_once(planned) if isinstance(planned, AtOnce) else _in_rounds(planned)
    rest = planned.distance, planned.seconds, planned.reason
    return WideExpected(
        float(terms.epsilon), float(terms.delta), str(terms.relation), *what, *rest,
        terms.total,
    )  # fmt: skip


def _in_rounds(planned: WideSettings) -> tuple[str, int, int, float, float]:
    rounds = planned.mechanism.rounds
    first = planned.first_sigmas
    return "rounds", len(first) + rounds, rounds, sum(first) / len(first), planned.sigma


def _at_once(planned: AtOnce) -> tuple[str, int, int, float, float]:
    parts = list(zip(planned.tables.parts, planned.tables.strategy.each, strict=True))
    alone = [each.rms for part, each in parts if len(part.columns) == 1]
    larger = [each.rms for part, each in parts if len(part.columns) > 1]
    strategy = "all at once" if larger else "columns alone"
    if planned.some is not None:
        strategy = "all at once, a model of some"
    every, alone = larger or alone, alone or larger
    return strategy, len(parts), 0, sum(alone) / len(alone), sum(every) / len(every)
