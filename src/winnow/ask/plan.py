"""Ask interactively, or put independent noise on every answer? From public numbers only.

Both error bounds hold for all k answers at once with probability 1 - beta. Independent Gaussian
noise grows with sqrt(k), multiplicative weights with log k: few questions are better answered
one by one, very many from a hypothesis. What is recommended has the smaller mean error to expect:
a bound on all errors of a hypothesis is far above what its answers usually miss.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from winnow.ask.constants import InteractivePlan, InteractiveRequest
from winnow.ask.independent_plan import IndependentPlan, plan_independent
from winnow.ask.listed import universe_of
from winnow.ask.sizing import plan_interactive
from winnow.ask.warm_start import AUTO
from winnow.core.checks import Real, count, positive, probability
from winnow.core.notebook import Card, InNotebook, ruled, text_card
from winnow.core.relation import Relation
from winnow.core.schema import Schema, cells_text
from winnow.errors import InputError, ParameterError
from winnow.foreign import guarded

INTERACTIVE, INDEPENDENT = "multiplicative weights", "independent Gaussian noise"
NEITHER = "neither: nothing would be learned"


@dataclass(frozen=True)
class InteractiveComparison(InNotebook):
    """Two ways to answer k questions under the same budget, and which has the smaller errors."""

    cells: int
    n: int
    max_queries: int
    epsilon: float
    delta: float
    beta: float
    relation: str
    session: InteractivePlan | None
    """None: the session would learn nothing."""
    independent: IndependentPlan

    @property
    def independent_deviation(self) -> float:
        """The standard deviation of one answer with independent noise, as a fraction of n."""
        return self.independent.deviation

    @property
    def independent_bound(self) -> float:
        """The bound on answers with independent noise; above 1 they say nothing."""
        return self.independent.noise

    @property
    def interactive_bound(self) -> float:
        """The bound on answers from the hypothesis; 1 where there is none to be had."""
        return 1.0 if self.session is None else self.session.bound

    @property
    def interactive_usual(self) -> float:
        """The error that answers from the hypothesis usually keep to, and state themselves."""
        return 1.0 if self.session is None else self.session.usual

    @property
    def interactive_typical(self) -> float:
        """The mean error of an answer from the hypothesis, to expect."""
        return 1.0 if self.session is None else self.session.typical

    @property
    def independent_typical(self) -> float:
        """The mean error of an answer with independent noise."""
        return self.independent.typical

    @property
    def recommended(self) -> str:
        """What has the smaller mean error, if its bound is below all of the rows."""
        useless = self.independent_bound >= 1
        if self.interactive_usual >= 1 and useless:
            return NEITHER
        better = self.interactive_typical < self.independent_typical or useless
        return INTERACTIVE if better and self.session is not None else INDEPENDENT

    @property
    def recommended_method(self) -> str:
        """The same, as ``winnow.open_interactive`` calls it."""
        names = {INTERACTIVE: "multiplicative-weights", INDEPENDENT: "independent"}
        return names.get(self.recommended, "none")

    def _card(self) -> Card:
        return text_card(str(self))

    def to_dict(self) -> dict[str, Any]:
        """The comparison as plain data, ready for JSON."""
        return {
            "cells": self.cells,
            "n": self.n,
            "max_queries": self.max_queries,
            "epsilon": self.epsilon,
            "delta": self.delta,
            "beta": self.beta,
            "relation": self.relation,
            "interactive_bound": self.interactive_bound,
            "interactive_usual": self.interactive_usual,
            "interactive_typical": self.interactive_typical,
            "independent_deviation": self.independent_deviation,
            "independent_typical": self.independent_typical,
            "independent_bound": self.independent_bound,
            "recommended": self.recommended,
            "method": self.recommended_method,
            "session": None if self.session is None else self.session.to_dict(),
        }

    def table(self) -> list[list[str]]:
        """The comparison as a table, its first line the headings."""
        updates = "-" if self.session is None else f"{self.session.updates:,}"
        fresh = "-" if self.session is None else f"{min(1.0, self.session.noise):.3g}"
        return [
            ["method", "error bound", "usually", "mean error", "updates"],
            [
                INTERACTIVE,
                f"{self.interactive_bound:.3g}",
                f"{self.interactive_usual:.3g} (fresh: {fresh})",
                f"{self.interactive_typical:.3g}",
                updates,
            ],
            [
                INDEPENDENT,
                f"{min(1.0, self.independent_bound):.3g}",
                f"{min(1.0, self.independent_bound):.3g} "
                f"(deviation {min(1.0, self.independent_deviation):.3g})",
                f"{self.independent_typical:.3g}",
                "-",
            ],
        ]

    def __str__(self) -> str:
        lines = self.table()
        shown = ruled(lines, texts=range(len(lines[0])))
        title = (
            f"{self.max_queries:,} questions about {self.n:,} rows, {cells_text(self.cells)} "
            f"cells, epsilon={self.epsilon:.6g}, delta={self.delta:.6g}, "
            f"{Relation(self.relation).sentence}"
        )
        return "\n".join(
            [
                title,
                f"fractions of the rows; bounds hold for all answers together with probability "
                f"{1 - self.beta:g}",
                "",
                *shown,
                "",
                f"recommended: {self.recommended}",
            ]
        )


@guarded
def interactive(
    schema: Schema | Mapping[str, Any] | str | Path | int,
    *,
    n: int,
    epsilon: Real,
    delta: Real,
    max_queries: int = 10_000,
    beta: Real = 0.05,
    rows_per_person: int = 1,
    relation: str | Relation = Relation.SUBSTITUTION,
    **options: Any,
) -> InteractiveComparison:
    """Compare an interactive session with independent Gaussian noise for so many questions.

    ``schema`` is a schema or its number of cells; further options are those of
    ``winnow.open_interactive`` that size a session (updates, alpha, threshold, warm_start,
    fallback, calibration, universe, smoothness, phi). A warm start is planned where the schema is
    known.
    """
    count(n=n, max_queries=max_queries, rows_per_person=rows_per_person)
    positive(epsilon=epsilon)
    probability(delta=delta, beta=beta)
    kind = Relation.parse(relation)
    known, cells, shape = _cells(schema)
    unknown = set(options) - _OPTIONS
    if unknown:
        raise ParameterError(
            f"{', '.join(sorted(unknown))}: not an option of a plan; it has "
            f"{', '.join(sorted(_OPTIONS))}"
        )
    asked: dict[str, Any] = {
        "cells": cells, "epsilon": epsilon, "delta": delta, "max_queries": max_queries,
        "beta": beta, "relation": kind, "rows_per_person": rows_per_person, "rows": n,
        "shape": shape,
    }  # fmt: skip
    if "universe" in options:
        options["universe"], asked["listed"] = universe_of(known, options["universe"])
    for share in ("warm_start", "fallback"):
        if options.get(share, AUTO) == AUTO:
            asked[share] = options.pop(share, AUTO)
    independent = plan_independent(InteractiveRequest(**asked))
    try:
        session = plan_interactive(InteractiveRequest(**asked, **options))
    except InputError:
        if options:
            raise
        session = None
    return InteractiveComparison(
        cells,
        int(n),
        int(max_queries),
        float(epsilon),
        float(delta),
        float(beta),
        str(kind),
        session,
        independent,
    )


_OPTIONS = {
    "updates", "alpha", "threshold", "warm_start", "fallback", "calibration", "universe",
    "smoothness", "phi",
}  # fmt: skip


def _cells(schema: Any) -> tuple[Schema | None, int, tuple[int, ...] | None]:
    """The schema where it is known, the number of cells, and the sizes of the columns."""
    if isinstance(schema, int) and not isinstance(schema, bool):
        count(cells=schema)
        return None, int(schema), None
    parsed = Schema.parse(schema)
    return parsed, parsed.cells, parsed.shape
