"""What is known of MWEM beforehand: its noise and bounds on its error, from public numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import Any

from winnow.core.checks import Real, count, delta_range, exact, positive, probability
from winnow.core.measurement import MEASUREMENTS
from winnow.core.notebook import Card, InNotebook, lines_card, ruled
from winnow.core.process import memory_text
from winnow.core.relation import Relation
from winnow.core.schema import cells_text
from winnow.core.workloads.workload import Maker, Workload
from winnow.errors import GuaranteeError, ParameterError
from winnow.foreign import guarded
from winnow.privacy import zcdp_rho
from winnow.privacy.closed_plan import RoundsPlan, calibrate_rounds
from winnow.read.about import AboutTable, about_table
from winnow.read.crossing import SealedTable
from winnow.release.rounds.domain import BYTES_PER_CELL
from winnow.release.rounds.mwem import default_rounds
from winnow.release.rounds.prediction import (
    REGRET,
    confident_error_bound,
    expected_error_bound,
    noisy_error,
    regret,
)

_SCOPE = (
    "Computed from public numbers: no data were read, nothing was spent. 'noise' is the standard "
    "deviation of one measured count, in rounds that start uniform (a start from tables adds 5 to "
    "11 %; a dash: it is above all rows); 'bound' is on the expected largest "
    "error over all queries of MWEM with the sign update and averaged hypotheses, as a fraction "
    "of the rows, whatever the data are, and the last column holds with that probability; the gap "
    "update is usually several times better."
)


@dataclass(frozen=True)
class MwemRow:
    """The closed plan that one accountant allows."""

    accountant: str
    measurement: str
    rounds: int
    selection_epsilon: float
    """Of one selection."""
    noise_multiplier: float
    """Of one measurement: sigma or Laplace scale over the sensitivity."""
    noise_rows: float
    """Standard deviation of one measured count, in rows."""
    noise: float
    """Standard deviation of one measured count, as a fraction of the rows."""
    selection_slack: float
    """By how much the selected query may be expected to miss the worst one."""
    bound: float
    """On the expected largest error (at most 1: no error is larger)."""
    confident: float
    """On the largest error with probability 1 - beta (at most 1)."""


@dataclass(frozen=True)
class MwemBounds(InNotebook):
    """What to expect of MWEM, before it is paid for; one row per accountant."""

    cells: int
    queries: int
    n: int
    rows_per_person: int
    epsilon: float
    delta: float
    relation: str
    rounds: int
    recommended_rounds: int
    """What ``winnow.release`` takes unless told otherwise."""
    memory: int
    """Bytes that the distribution and the queries need, about."""
    rows: tuple[MwemRow, ...]
    beta: float = 0.05
    """``confident`` bounds hold with probability 1 - beta."""
    scope: str = _SCOPE

    def best(self) -> MwemRow:
        """The row with the least noise: what ``winnow.release`` would run."""
        return min(self.rows, key=lambda row: row.noise)

    def to_dict(self) -> dict[str, Any]:
        """The plan as plain data, ready for JSON."""
        return asdict(self)

    def table(self) -> list[list[str]]:
        """The plan as a table, its first line the headings."""
        heads = ["accountant", "noise law", "eps/selection", "noise", "noise/n", "slack", "bound"]
        lines = [[*heads, f"with {1 - self.beta:g}"]]
        for row in self.rows:
            lines.append(
                [
                    row.accountant,
                    row.measurement,
                    f"{row.selection_epsilon:.4g}",
                    f"{row.noise_rows:,.4g}" if row.noise < 1 else "-",
                    f"{row.noise:.3g}" if row.noise < 1 else "-",
                    f"{row.selection_slack:.3g}",
                    f"{row.bound:.3g}",
                    f"{row.confident:.3g}",
                ]
            )
        return lines

    def _card(self) -> Card:
        return lines_card(str(self).split("\n", 1)[0], self.table())

    def __str__(self) -> str:
        shown = ruled(self.table(), texts=())
        title = (
            f"{self.queries:,} queries over {cells_text(self.cells)} cells, {self.n:,} rows, "
            f"epsilon={self.epsilon:.6g}, delta={self.delta:.6g}, "
            f"{Relation(self.relation).sentence}"
        )
        rounds = f"{self.rounds} rounds (recommended: {self.recommended_rounds})"
        needs = f"about {memory_text(self.memory)} of memory"
        return "\n".join([title, f"{rounds}; {needs}", "", *shown, "", self.scope])


@guarded
def mwem_bounds(
    about: AboutTable | SealedTable,
    workload: Maker | Workload | int,
    *,
    epsilon: Real,
    delta: Real = 0.0,
    alpha: Real | None = None,
    beta: Real = 0.05,
    rounds: int | None = None,
    share: Real = 0.5,
    accountants: Sequence[str] | None = None,
) -> MwemBounds:
    """What MWEM would do to a table: noise per round by each accountant, and error bounds.

    ``about`` is ``wn.plan.table(schema, rows=)``, where a number of cells may stand for the schema,
    or a sealed table; ``workload`` is a workload or its number of queries.
    ``rounds`` is the recommended number unless given. Bounds hold in expectation, and
    with probability 1 - ``beta``.

    ``alpha`` is a largest error to be promised with probability 1 - ``beta``, a fraction of the
    rows: where no number of rows is stated the plan is for the fewest rows that allow it, else for
    the fewest rounds that reach it. [FastMWEM, Thm 3.1 and 3.3, with constants]
    """
    positive(epsilon=epsilon)
    delta_range(delta=delta)
    probability(beta=beta)
    public = about_table(about)
    n, kind, rows_per_person = public.rows, public.relation, public.rows_per_person
    cells, queries, memory = _sizes(public, workload)
    if alpha is not None:
        if rounds is not None:
            raise ParameterError("rounds follow from alpha; leave out one of them")
        probability(alpha=alpha)
        promised = Promised(
            cells, queries, float(alpha), float(beta), int(rows_per_person), epsilon, delta,
            kind, exact("share", share),
        )  # fmt: skip
        n, rounds = promised.fewest_rows() if n is None else (n, promised.fewest_rounds(int(n)))
    elif n is None:
        raise ParameterError(
            "the number of rows is missing; give wn.plan.table(schema, rows=), or alpha= to find it"
        )
    recommended = default_rounds(
        cells=cells,
        queries=queries,
        total=int(n),
        rows_per_person=int(rows_per_person),
        rho=float(zcdp_rho(epsilon, delta)) if exact("delta", delta) else None,
        epsilon=float(epsilon),
    )
    if rounds is not None:
        count(rounds=rounds)
    taken = recommended if rounds is None else int(rounds)
    asked = accountants is not None
    if accountants is None:
        accountants = ("pure",)
        if exact("delta", delta):  # "best" is what a release runs; alpha is promised by sums
            accountants = ("pure", "zcdp") if alpha is not None else ("pure", "zcdp", "best")
    rows_listed: list[MwemRow] = []
    for name in accountants:
        try:
            plan = calibrate_rounds(
                taken,
                epsilon=epsilon,
                delta=0.0 if name == "pure" else delta,
                relation=kind,
                share=exact("share", share),
                accountant=name,
            )
        except GuaranteeError:
            if (
                rows_listed and not asked
            ):  # as in a release: too many rounds for the tight accountant
                continue
            raise
        if asked or all(plan.accountant != row.accountant for row in rows_listed):
            rows_listed.append(
                _row(
                    plan.accountant, plan, cells, queries, int(n), int(rows_per_person), float(beta)
                )
            )
    return MwemBounds(
        cells,
        queries,
        int(n),
        int(rows_per_person),
        float(epsilon),
        float(delta),
        str(kind),
        taken,
        recommended,
        memory,
        tuple(rows_listed),
        float(beta),
    )


@dataclass(frozen=True)
class Promised:
    """Which rounds and how many rows promise an error; by sums, which take no time."""

    cells: int
    queries: int
    alpha: float
    beta: float
    rows_per_person: int
    epsilon: Real
    delta: Real
    relation: Relation
    share: Fraction

    def _plan(self, rounds: int) -> RoundsPlan:
        return calibrate_rounds(
            rounds,
            epsilon=self.epsilon,
            delta=self.delta,
            relation=self.relation,
            share=self.share,
            accountant="zcdp" if exact("delta", self.delta) else "pure",
        )

    def _rows(self, plan: RoundsPlan, rounds: int) -> float:
        """The rows for these rounds; the noise is that of a plan of others, as it would grow."""
        grown = rounds / plan.rounds
        more = math.sqrt(grown) if exact("delta", self.delta) else grown
        learnt = regret(self.cells, rounds)
        noisy = noisy_error(
            plan.measurement,
            rounds,
            plan.noise_multiplier * more * self.rows_per_person,
            2 * self.rows_per_person * more / plan.selection_epsilon,
            self.queries,
            self.beta,
        )
        return math.inf if learnt >= self.alpha else noisy / (self.alpha - learnt)

    def _fewest(self) -> int:
        """So many rounds that the updates themselves are within alpha."""
        return math.floor(REGRET**2 * math.log(max(self.cells, 2)) / self.alpha**2) + 1

    def fewest_rows(self) -> tuple[int, int]:
        """The fewest rows, and the rounds with them: the noise grows with the rounds."""
        least = self._fewest()
        about = self._plan(4 * least)
        tried = [math.ceil(least * 1.05**step) for step in range(1, 120)]
        rounds = min(tried, key=lambda each: self._rows(about, each))
        return math.ceil(self._rows(self._plan(rounds), rounds)), rounds

    def fewest_rounds(self, n: int) -> int:
        """The fewest rounds for n rows."""
        least = self._fewest()
        about = self._plan(2 * least)
        for step in range(1, 120):
            rounds = math.ceil(least * 1.05**step)
            if self._rows(about, rounds) <= n and self._rows(self._plan(rounds), rounds) <= n:
                return rounds
        rows, _ = self.fewest_rows()
        raise ParameterError(
            f"alpha={self.alpha:g} cannot be promised with {n:,} rows; it needs {rows:,}, a "
            "larger epsilon, or a larger alpha"
        )


def _row(
    name: str,
    plan: RoundsPlan,
    cells: int,
    queries: int,
    n: int,
    rows_per_person: int,
    beta: float,
) -> MwemRow:
    spread = MEASUREMENTS[plan.measurement].deviation
    noise_rows = plan.noise_multiplier * rows_per_person * spread
    selection = 2 * rows_per_person / (plan.selection_epsilon * n)
    bound = expected_error_bound(
        cells=cells,
        queries=queries,
        rounds=plan.rounds,
        noise=noise_rows / n,
        selection=selection,
    )
    return MwemRow(
        name,
        plan.measurement,
        plan.rounds,
        plan.selection_epsilon,
        plan.noise_multiplier,
        noise_rows,
        noise_rows / n,
        min(1.0, selection * (math.log(2 * queries) + 1)),
        bound,
        min(1.0, confident_error_bound(plan, cells, queries, n, rows_per_person, beta)),
    )


def _sizes(about: AboutTable, workload: Any) -> tuple[int, int, int]:
    cells = about.cells
    if isinstance(workload, Maker):
        if about.schema is None:
            raise ParameterError(
                "a workload needs a schema, not a number of cells; give the schema"
            )
        size = workload.size(about.schema)
        return cells, size, BYTES_PER_CELL * cells + workload.memory(about.schema)
    if isinstance(workload, Workload):
        return cells, workload.size, BYTES_PER_CELL * cells + workload.memory()
    count(queries=workload)
    return cells, int(workload), BYTES_PER_CELL * cells
