"""How candidates are picked, as objects with their options; ``method=`` takes them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from winnow.core.checks import Real
from winnow.core.options import Method, Option
from winnow.errors import ParameterError

if TYPE_CHECKING:
    from winnow.select.about import AboutScores
    from winnow.select.crossing.selection import Selection

NoiseName = Literal["gumbel", "exponential", "laplace", "logistic", "half-logistic"]
"""The noise laws by name; a test holds them against those that there are."""
NOISE = Option("The noise law.", "NAME")

SCORES, PRIVATE_LABELS, CLASSES = "public lists", "private labels", "classes"
"""What a method picks from: a public list, labels found in the data, classes of a universe."""


LOOK_SHARE = Fraction(1, 40)
"""The part of epsilon for a look that decides what follows: of counts at some ranks, of the support
of an itemset. Errors scale as 1/epsilon, so it costs log(40/39) of a logarithm."""


@dataclass(frozen=True, kw_only=True)
class Sizes:
    """The public numbers that a mechanism is built from."""

    epsilon: Real
    """For what this mechanism releases; what others beside it need is taken off already."""
    delta: Real = 0.0
    k: int = 1
    with_counts: bool = False
    """Whether the mechanism itself is to release noisy counts."""
    accountant: str = "best"
    """What adds up its rounds: "pure" under a budget that adds up epsilons."""


class PickMethod(Method, ABC):
    """How candidates are picked. One of your own builds a mechanism from public numbers."""

    picks_from: ClassVar[tuple[str, ...]] = (SCORES,)
    needs_delta: ClassVar[bool] = False

    @abstractmethod
    def mechanism(self, about: AboutScores, sizes: Sizes) -> Selection:
        """The mechanism that draws, with all its parameters; it may refuse the numbers."""


class SelectMethod(PickMethod):
    """How one candidate, or k at once, are selected."""

    picks_from: ClassVar[tuple[str, ...]] = (SCORES, CLASSES)


@dataclass(frozen=True, kw_only=True)
class PermuteAndFlip(SelectMethod):
    """Exponential noise on every score; the default, never worse than the exponential mechanism."""

    def mechanism(self, about: AboutScores, sizes: Sizes) -> Selection:
        """Exponential noise on every score."""
        from winnow.select.mechanisms import lipschitz

        return lipschitz.PermuteAndFlip(sizes.epsilon, kappa=sizes.k)


@dataclass(frozen=True, kw_only=True)
class Exponential(SelectMethod):
    """The exponential mechanism; for a list in order, or many selections that compose."""

    def mechanism(self, about: AboutScores, sizes: Sizes) -> Selection:
        """Gumbel noise on every score."""
        from winnow.select.mechanisms.lipschitz import ExponentialMechanism

        return ExponentialMechanism(sizes.epsilon, kappa=sizes.k)


@dataclass(frozen=True, kw_only=True)
class NoisyMax(SelectMethod):
    """Laplace noise on every score (report noisy max); for comparison, or leads over losers."""

    def mechanism(self, about: AboutScores, sizes: Sizes) -> Selection:
        """Laplace noise on every score."""
        from winnow.select.mechanisms.lipschitz import ReportNoisyMax

        return ReportNoisyMax(sizes.epsilon, kappa=sizes.k)


@dataclass(frozen=True, kw_only=True)
class Lipschitz(SelectMethod):
    """Noise of a distribution that you choose, on every score."""

    noise: Annotated[NoiseName | None, NOISE] = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.noise is None:
            raise ParameterError(
                f"lipschitz needs noise=; choose one of: {', '.join(NoiseName.__args__)}"  # type: ignore[attr-defined]
            )

    def mechanism(self, about: AboutScores, sizes: Sizes) -> Selection:
        """Noise of the law on every score."""
        from winnow.core.laws import Law
        from winnow.select.mechanisms.lipschitz import LipschitzMechanism

        assert self.noise is not None
        return LipschitzMechanism(sizes.epsilon, Law.parse(self.noise), sizes.k)


@dataclass(frozen=True, kw_only=True)
class LargeMargin(SelectMethod):
    """One of very many candidates, few of them near the best; needs a delta."""

    needs_delta: ClassVar[bool] = True

    thresholds: Annotated[
        Literal["tight", "printed"],
        Option("Those of the search: tight by default, or as printed in the paper.", "NAME"),
    ] = "tight"

    def mechanism(self, about: AboutScores, sizes: Sizes) -> Selection:
        """A search for the margin, and a choice among those above it."""
        from winnow.select.mechanisms import large_margin

        if sizes.k != 1:
            raise ParameterError(f"k={sizes.k}: large-margin selects one candidate; leave out k")
        return large_margin.LargeMargin(sizes.epsilon, sizes.delta, self.thresholds)


class FromClassesOnly(SelectMethod):
    """A method for universes in classes, which may answer that there is none."""

    picks_from: ClassVar[tuple[str, ...]] = (CLASSES,)
    needs_delta: ClassVar[bool] = True

    def mechanism(self, about: AboutScores, sizes: Sizes) -> Selection:
        """Nothing picks from a list of scores here."""
        raise ParameterError(
            f"{self.word()} is for wn.classes and wn.itemsets; choose another method"
        )


@dataclass(frozen=True, kw_only=True)
class DistanceToInstability(FromClassesOnly):
    """The best itemset or class member, or none; for comparison. Needs a delta."""


@dataclass(frozen=True, kw_only=True)
class Choosing(FromClassesOnly):
    """One itemset or class member, or none; for few candidates per person."""

    growth: Annotated[
        int | None,
        Option(
            "The most candidates of one person, such as itemsets, where the data have no "
            "max_items=.",
            "L",
            least=1,
        ),
    ] = None


def bound_on_growth(growth: int | None, moved: int | None) -> int:
    """By how many candidates one person can make the candidates grow.

    ``growth`` is what was said of the method, and ``moved`` what follows from the data's bounds.
    """
    bound = moved if growth is None else growth
    if bound is None:
        raise ParameterError(
            "choosing needs a bound on the candidates of one person: read baskets with max_items=, "
            "or declare growth= (classes: wn.classes(..., max_items=))"
        )
    if moved is not None and bound < moved:
        raise ParameterError(
            f"growth={bound}, and by the max_items= of the data one person may have {moved} "
            "candidates; leave out growth=, or bound the data by a smaller max_items="
        )
    return bound


OF_SCORES: tuple[type[SelectMethod], ...] = (
    PermuteAndFlip,
    Exponential,
    NoisyMax,
    Lipschitz,
    LargeMargin,
)
"""For a public list of candidates, and for classes."""
OF_CLASSES: tuple[type[SelectMethod], ...] = (DistanceToInstability, Choosing)
SELECT_METHODS: tuple[type[PickMethod], ...] = (*OF_SCORES, *OF_CLASSES)


def check_delta(method: PickMethod, delta: Real, others: tuple[type[PickMethod], ...]) -> None:
    """Refuse a delta that a method has no use for, or one that is missing."""
    from winnow.core.checks import exact

    given = exact("delta", delta)
    if method.needs_delta and given == 0:
        raise ParameterError(f"{method.word()} needs delta > 0, for example delta=1e-6")
    if not method.needs_delta and given != 0:
        with_delta = next(each.word() for each in others if each.needs_delta)
        raise ParameterError(
            f"delta={float(given):g}: {method.word()} is pure epsilon-DP and has no use for it; "
            f"leave out delta, or choose {with_delta}"
        )


def check_kind(method: PickMethod, kind: str, others: tuple[type[PickMethod], ...]) -> None:
    """Refuse a method that does not pick from such data."""
    if kind in method.picks_from:
        return
    fitting = [each.word() for each in others if kind in each.picks_from]
    raise ParameterError(
        f"{method.word()} is for {' and '.join(method.picks_from)}, and these are {kind}; choose "
        f"one of: {', '.join(fitting)}"
    )
