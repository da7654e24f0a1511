"""How a workload is answered, as objects with their options; ``winnow.release(..., method=)``."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal

from winnow.core.checks import Real
from winnow.core.options import Method, Option, options
from winnow.errors import ParameterError
from winnow.foreign import shown

if TYPE_CHECKING:
    from winnow.release.drawn import MethodPlan, Progress
    from winnow.release.prediction import Prediction
    from winnow.release.terms import ReleaseTerms

Groups = Sequence[Sequence[str]]
Law = Literal["gaussian", "laplace"]

_HERE = ("command",)
_ROUNDS = Option(
    "How many rounds there are; chosen from public numbers by default.", "T", least=1, served=1000
)
_SHARE = Option(
    "The part of a round's budget that selects what is measured.",
    "SHARE",
    above=0,
    below=1,
    where=_HERE,
)
_LAW = Option(
    "The noise of a measured count: gaussian wherever there is a delta= to use.",
    "NAME",
    where=_HERE,
)
_TOTAL = Option(
    "The part of the budget that measures a private number of rows: .02 by default.",
    "SHARE",
    above=0,
    below=1,
    where=_HERE,
)
_GROUPS = Option(
    "For large domains: fit groups of columns separately, such as a,b/c,d; they come out "
    "independent.",
    "A,B/C,D",
    where=_HERE,
)


class ReleaseMethod(Method, ABC):
    """How a workload is answered. One of your own plans a release from public facts."""

    @abstractmethod
    def plan(self, terms: ReleaseTerms, progress: Progress = None) -> MethodPlan:
        """All that is fixed before the rows are looked at."""

    @property
    def told(self) -> bool:
        """Whether any option is not its default."""
        return any(getattr(self, each.name) is not each.default for each in options(type(self)))

    def predicted(self, terms: ReleaseTerms) -> Prediction:
        """The errors to expect over all queries; of a method of your own nothing is known."""
        from winnow.release.prediction import unknown

        return unknown(self.word(), "nothing is known of its errors beforehand")

    def compared(self, terms: ReleaseTerms) -> Prediction | str:
        """What the choice among methods goes by; or why it cannot run."""
        return self.predicted(terms)

    def least(self, terms: ReleaseTerms) -> float:
        """A score that ``compared`` is not below, by little work; infinite: tables are better.

        Of a method that cannot run, and of one of your own, it says nothing: 0.
        """
        return 0.0


class MeasuredOnce(ReleaseMethod):
    """One measurement of numbers that are fixed beforehand, then a fit."""

    def plan(self, terms: ReleaseTerms, progress: Progress = None) -> MethodPlan:
        """One event of noise on whole numbers, then a fit."""
        from winnow.release.answered import answered_plan

        return answered_plan(self.word(), terms)

    def predicted(self, terms: ReleaseTerms) -> Prediction:
        """By exact formulas, as far as noise goes."""
        from winnow.release.answered import answered_errors

        return answered_errors(self.word(), terms).capped(terms.total)

    def compared(self, terms: ReleaseTerms) -> Prediction | str:
        """By exact formulas, where they take little time."""
        from winnow.release.answered import compared_errors

        return compared_errors(self.word(), terms)


class InRounds(ReleaseMethod):
    """Rounds, or a model, whose errors depend on the data: predicted for its defaults."""

    def predicted(self, terms: ReleaseTerms) -> Prediction:
        """By what is promised, or by what was seen on generated tables."""
        from winnow.release.prediction import unknown

        promised = getattr(self, "alpha", None) is not None and terms.total is not None
        if self.told and not promised:
            return unknown(
                self.word(), "nothing is known of the errors of these options beforehand"
            )
        made = self.compared(terms)
        if isinstance(made, str):
            return unknown(self.word(), made)
        return made if promised else made.capped(terms.total)


@dataclass(frozen=True, kw_only=True)
class Tables(MeasuredOnce):
    """Noise on all tables, prefixes and ranges, in the best proportions, as in ``tabulate``."""


@dataclass(frozen=True, kw_only=True)
class Toeplitz(MeasuredOnce):
    """The square root of the prefixes; for prefixes and ranges of one long column."""


@dataclass(frozen=True, kw_only=True)
class Explicit(MeasuredOnce):
    """The best matrix for any queries over up to about 1,000 cells, or noise on each query."""

    def least(self, terms: ReleaseTerms) -> float:
        """Without a matrix it is noise on each count of whole tables, which these start from."""
        from winnow.release.answered import tables_start_from_it

        return math.inf if tables_start_from_it(terms) else 0.0


@dataclass(frozen=True, kw_only=True)
class Adaptive(InRounds):
    """Rounds that select a badly answered table and measure it; for many tables and few people."""

    rounds: Annotated[int | None, _ROUNDS] = None
    share: Annotated[Real | None, _SHARE] = None
    measurement: Annotated[Law | None, _LAW] = None
    total_share: Annotated[Real | None, _TOTAL] = None
    groups: Annotated[Groups | str | None, _GROUPS] = None

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "groups", groups_in(self.groups))

    def plan(self, terms: ReleaseTerms, progress: Progress = None) -> MethodPlan:
        """Rounds of selection and measurement over whole tables."""
        from winnow.release.rounds.adaptive import adaptive_plan

        return adaptive_plan(self, terms, progress)

    def compared(self, terms: ReleaseTerms) -> Prediction | str:
        """By a rule of thumb."""
        from winnow.release.rounds.adaptive import predict_adaptive

        return predict_adaptive(self, terms)


@dataclass(frozen=True, kw_only=True)
class MWEM(InRounds):
    """Rounds that select a badly answered query and measure it; for very many queries."""

    rounds: Annotated[int | Sequence[int] | None, _ROUNDS] = None
    alpha: Annotated[
        Real | None,
        Option(
            "A largest error to be promised with probability .95, as a fraction of the rows: it "
            "takes the fewest rounds for it, with update=sign.",
            "A",
            above=0,
            below=1,
            where=_HERE,
        ),
    ] = None
    update: Annotated[
        Literal["gap", "hardt", "sign"] | None,
        Option(
            "How the distribution follows a measurement: gap (most accurate) by default, hardt, or "
            "sign, the one with a theorem.",
            "NAME",
            where=_HERE,
        ),
    ] = None
    step: Annotated[Real | None, Option("How far an update goes.", "ETA", above=0, where=_HERE)] = (
        None
    )
    replay: Annotated[
        int | None,
        Option("Passes over all measurements after each round.", "N", where=_HERE),
    ] = None
    result: Annotated[
        Literal["last", "average"] | None,
        Option("The last distribution, or the mean of all.", "NAME", where=_HERE),
    ] = None
    share: Annotated[Real | None, _SHARE] = None
    measurement: Annotated[Law | None, _LAW] = None
    total_share: Annotated[Real | None, _TOTAL] = None
    warm_start: Annotated[
        Real | None,
        Option(
            "The part of the budget for noisy tables of single columns to start from; a tenth "
            "where it should help, 0 for none.",
            "SHARE",
            least=0,
            below=1,
            where=_HERE,
        ),
    ] = None
    groups: Annotated[Groups | str | None, _GROUPS] = None
    universe: Annotated[
        Any,
        Option(
            "For large domains: fit on this many sampled cells (for smooth data only), or on those "
            "of a public list: for a command a CSV file with a label for each column.",
            "N|FILE",
            where=_HERE,
        ),
    ] = None
    universe_seed: Annotated[
        int, Option("The seed of cells that are sampled; it is public.", "N", where=_HERE)
    ] = 0
    smoothness: Annotated[
        Real | None,
        Option(
            "With universe=: no cell holds more than this part of the rows.",
            "XI",
            above=0,
            where=_HERE,
        ),
    ] = None
    phi: Annotated[
        Real | Literal["rows"] | None,
        Option(
            "With smoothness=: how far the data may be from what such cells can carry, as a "
            "fraction of the rows; rows: as far as independent rows are.",
            "PHI",
            least=0,
            where=_HERE,
        ),
    ] = None
    index: Annotated[
        Literal["flat", "lsh", "p-stable", "ivf", "hnsw"] | None,
        Option(
            "Select over an index, as the paper does. The distribution of the result is the "
            "same; it is slower.",
            "NAME",
            where=_HERE,
        ),
    ] = None
    slack: Annotated[
        Real,
        Option(
            "With index=: how far to trust it, in nats; each selection pays twice that.",
            "C",
            least=0,
            where=_HERE,
        ),
    ] = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "groups", groups_in(self.groups))
        sized = (self.rounds, self.step, self.groups, self.universe)
        if self.alpha is not None and (
            self.update not in (None, "sign") or any(each is not None for each in sized)
        ):
            raise ParameterError(
                "alpha= is promised for update='sign' with its own rounds and step, on all cells; "
                "leave out update, rounds, step, groups and universe"
            )

    def plan(self, terms: ReleaseTerms, progress: Progress = None) -> MethodPlan:
        """Rounds of selection and measurement over single queries."""
        from winnow.release.rounds.mwem_plan import mwem_plan

        return mwem_plan(self, terms, progress)

    def compared(self, terms: ReleaseTerms) -> Prediction | str:
        """By a rule of thumb, or by what is promised."""
        from winnow.release.rounds.mwem_plan import predict_mwem

        return predict_mwem(self, terms)


@dataclass(frozen=True, kw_only=True)
class Graphical(InRounds):
    """A graphical model of all columns; for tables with too many cells for a weight on each."""

    rounds: Annotated[int | None, _ROUNDS] = None
    share: Annotated[Real | None, _SHARE] = None
    first_share: Annotated[
        Real | None,
        Option(
            "The part of the budget that measures each column alone before the rounds.",
            "SHARE",
            above=0,
            below=1,
            where=_HERE,
        ),
    ] = None
    model_cells: Annotated[
        int | None,
        Option(
            "The most cells of the model; 100,000 by default, and more where noise is weak.",
            "N",
            least=1,
            most=2**31 - 1,
            where=_HERE,
        ),
    ] = None

    def plan(self, terms: ReleaseTerms, progress: Progress = None) -> MethodPlan:
        """All tables at once, each column alone, or rounds, as public numbers decide."""
        from winnow.release.graphical.model_plan import model_plan

        return model_plan(self, terms, progress)

    def compared(self, terms: ReleaseTerms) -> Prediction | str:
        """By a rule of thumb."""
        from winnow.release.graphical.predicted import predict_graphical

        return predict_graphical(self, terms)

    def least(self, terms: ReleaseTerms) -> float:
        """Rounds have at least this, and all tables at once are better without a model."""
        from winnow.release.graphical.predicted import least_in_rounds

        return least_in_rounds(terms)


METHODS = (Tables, Toeplitz, Explicit, Adaptive, MWEM, Graphical)
"""All that ``winnow.release`` chooses among."""


def groups_in(given: Any) -> tuple[tuple[str, ...], ...] | None:
    """Groups of columns, also from a text such as a,b/c,d."""
    if isinstance(given, str):
        given = [[name.strip() for name in group.split(",")] for group in given.split("/")]
    if given is None:
        return None
    if not isinstance(given, list | tuple) or any(isinstance(each, str) for each in given):
        raise ParameterError(
            f"groups={shown(given)} are not groups of columns; give them as in [['a', 'b'], ['c']]"
        )
    return tuple(tuple(each) for each in given)
