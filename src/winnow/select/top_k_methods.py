"""How the k most common items are found, as objects with their options.

A method builds a mechanism from public numbers; the mechanism, with its proof, lies in
``winnow.select.mechanisms``. Nothing heavy is imported before it is built.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from winnow.core.checks import Real
from winnow.core.options import Method, Option
from winnow.errors import ParameterError
from winnow.select.methods import (
    CLASSES,
    NOISE,
    PRIVATE_LABELS,
    SCORES,
    SELECT_METHODS,
    NoiseName,
    PickMethod,
    Sizes,
)

if TYPE_CHECKING:
    from winnow.select.about import AboutScores
    from winnow.select.crossing.private_labels import UnknownDomain
    from winnow.select.crossing.selection import Selection

GAMMA = Fraction(3, 5)
"""Canonical's gamma where nobody says one, for the loss that is not rounded.

On 30 of the 32 profiles of ``benchmarks/gamma.py`` the true top k comes out with chance 0.9 for
less epsilon than at the paper's 1/2, by an eighth in the median; on two, whose k-th and next
scores are nearly equal, for up to 17 % more. It is a public number: the guarantee is the same
for every gamma. A plan finds the best one for a profile (``plan.best_gamma(scores)``).
"""


class TopKMethod(PickMethod):
    """How the k most common items are found.

    One of your own is a frozen dataclass that derives from this one. Its ``mechanism`` builds, from
    public numbers, a mechanism that derives from ``winnow.select.crossing.selection.Selection``.
    """

    counts_are_free: ClassVar[bool] = False
    """Whether its mechanism has noisy counts at hand; otherwise they take half of epsilon."""

    @abstractmethod
    def mechanism(self, about: AboutScores, sizes: Sizes) -> Selection:
        """The mechanism that draws, with all its parameters; it may refuse the numbers."""


@dataclass(frozen=True, kw_only=True)
class Joint(TopKMethod):
    """One draw over all ordered lists of k items; for k up to about 50."""

    picks_from: ClassVar[tuple[str, ...]] = (SCORES, CLASSES)

    def mechanism(self, about: AboutScores, sizes: Sizes) -> Selection:
        """One draw of the exponential mechanism over all lists."""
        from winnow.select.mechanisms import joint

        return joint.Joint(sizes.epsilon, sizes.k)


@dataclass(frozen=True, kw_only=True)
class Canonical(TopKMethod):
    """One draw over all sets of k items; for a set without an order."""

    picks_from: ClassVar[tuple[str, ...]] = (SCORES, CLASSES)

    gamma: Annotated[
        Real | None,
        Option(
            "How much the last item counts against the first one missed; by default 0.6, and 0.5 "
            "for itemsets, where people have one item each, or where the loss is rounded.",
            "G",
            least=0,
            most=1,
        ),
    ] = None
    noise: Annotated[NoiseName, NOISE] = "exponential"
    rounded: Annotated[bool, Option("The loss in whole people.")] = False

    def mechanism(self, about: AboutScores, sizes: Sizes) -> Selection:
        """Noise on the loss of every set."""
        from winnow.core.laws import Law
        from winnow.select.mechanisms import canonical

        one_item = about.max_items == 1 and not self.rounded
        usual = Fraction(1, 2) if self.rounded or one_item else GAMMA
        return canonical.Canonical(
            sizes.epsilon,
            sizes.k,
            usual if self.gamma is None else self.gamma,
            Law.parse(self.noise),
            self.rounded,
            one_item,
        )


@dataclass(frozen=True, kw_only=True)
class Looked(TopKMethod):
    """What is chosen automatically where a small noisy look at three counts pays for itself."""

    picks_from: ClassVar[tuple[str, ...]] = (SCORES,)

    def mechanism(self, about: AboutScores, sizes: Sizes) -> Selection:
        """It is made by the choice alone."""
        raise ParameterError("a look at counts is taken by method='auto' alone; leave method out")


@dataclass(frozen=True, kw_only=True)
class CanonicalAdaptive(TopKMethod):
    """A set of the items that stand out, at most k, without a delta; for itemsets and classes."""

    picks_from: ClassVar[tuple[str, ...]] = (CLASSES,)

    def mechanism(self, about: AboutScores, sizes: Sizes) -> Selection:
        """Nothing picks from a list of scores here."""
        raise ParameterError(
            "canonical-adaptive is for wn.classes and wn.itemsets; choose another method"
        )


@dataclass(frozen=True, kw_only=True)
class Oneshot(TopKMethod):
    """Noise on every score, scaled to k; for scores that are not counts."""

    noise: Annotated[NoiseName, NOISE] = "exponential"

    def mechanism(self, about: AboutScores, sizes: Sizes) -> Selection:
        """Noise of the law on every score."""
        from winnow.core.laws import Law
        from winnow.select.mechanisms.lipschitz import LipschitzMechanism

        return LipschitzMechanism(sizes.epsilon, Law.parse(self.noise), sizes.k)


@dataclass(frozen=True, kw_only=True)
class PeelPermuteAndFlip(TopKMethod):
    """Rounds of permute-and-flip; best for k = 1, otherwise for comparison."""

    def mechanism(self, about: AboutScores, sizes: Sizes) -> Selection:
        """k rounds of permute-and-flip."""
        from winnow.select.mechanisms import peeling

        return peeling.PeelPermuteAndFlip(sizes.epsilon, sizes.k)


@dataclass(frozen=True, kw_only=True)
class PeelGumbel(TopKMethod):
    """Rounds of the exponential mechanism, composed with a delta; for k above about 50."""

    needs_delta: ClassVar[bool] = True

    def mechanism(self, about: AboutScores, sizes: Sizes) -> Selection:
        """k rounds of the exponential mechanism, drawn at once."""
        from winnow.select.mechanisms import peeling

        return peeling.PeelGumbel(sizes.epsilon, sizes.delta, sizes.k, sizes.accountant)


@dataclass(frozen=True, kw_only=True)
class Gamma(TopKMethod):
    """One noise vector scaled to the largest error; an ordered list, for very few items."""

    def mechanism(self, about: AboutScores, sizes: Sizes) -> Selection:
        """One radius, and uniform noise within it."""
        from winnow.select.mechanisms.gamma import GammaMechanism

        return GammaMechanism(sizes.epsilon, sizes.k)


class NoisyCountsMethod(TopKMethod):
    """Noise on every count, for all items of a person at once."""

    counts_are_free: ClassVar[bool] = True

    def most(self, about: AboutScores) -> int:
        """The most items of a person, without which the noise cannot be sized."""
        if about.max_items is None:
            raise ParameterError(
                f"{self.word()} adds noise for all items of a person at once and needs "
                "max_items=; count with that bound (ready counts: "
                "wn.seal_counts(..., max_items=)), or use joint"
            )
        return about.max_items


@dataclass(frozen=True, kw_only=True)
class Laplace(NoisyCountsMethod):
    """Laplace noise on every count; counts come at no extra cost. For few items per person."""

    def mechanism(self, about: AboutScores, sizes: Sizes) -> Selection:
        """Discrete Laplace noise on every count."""
        from winnow.select.mechanisms.noisy_counts import NoisyCounts

        return NoisyCounts(sizes.epsilon, sizes.k, self.most(about), sizes.with_counts)


@dataclass(frozen=True, kw_only=True)
class Gaussian(NoisyCountsMethod):
    """Gaussian noise on every count; counts come at no extra cost. For several items per person."""

    needs_delta: ClassVar[bool] = True

    def mechanism(self, about: AboutScores, sizes: Sizes) -> Selection:
        """Discrete Gaussian noise on every count."""
        from winnow.select.mechanisms.gaussian_counts import GaussianCounts

        return GaussianCounts(
            epsilon=sizes.epsilon,
            delta=sizes.delta,
            k=sizes.k,
            max_items=self.most(about),
            with_counts=sizes.with_counts,
            accountant=sizes.accountant,
        )


@dataclass(frozen=True, kw_only=True)
class OneshotApproximate(TopKMethod):
    """The oneshot mechanism with a delta, as published; for comparison, at small epsilon."""

    needs_delta: ClassVar[bool] = True

    def mechanism(self, about: AboutScores, sizes: Sizes) -> Selection:
        """Laplace noise on every score."""
        from winnow.select.mechanisms.approximate_oneshot import ApproximateOneshot

        return ApproximateOneshot(epsilon=sizes.epsilon, delta=sizes.delta, k=sizes.k)


class PrivateLabelsMethod(TopKMethod):
    """A method for labels found in the data; it may release fewer than k."""

    picks_from: ClassVar[tuple[str, ...]] = (PRIVATE_LABELS,)
    counts_are_free: ClassVar[bool] = True
    needs_delta: ClassVar[bool] = True

    def mechanism(self, about: AboutScores, sizes: Sizes) -> Selection:
        """Nothing picks from a public list here."""
        raise ParameterError(f"{self.word()} is for labels found in the data")

    @abstractmethod
    def among_private(self, about: AboutScores, sizes: Sizes) -> UnknownDomain:
        """The mechanism that draws among labels that are private themselves."""


@dataclass(frozen=True, kw_only=True)
class LimitedDomain(PrivateLabelsMethod):
    """Private labels, with any number of items per person; needs a delta."""

    picks_from: ClassVar[tuple[str, ...]] = (PRIVATE_LABELS, CLASSES)

    reach: Annotated[
        int | None,
        Option("How many of the largest counts take part (default 100 K + 1000).", "N", least=1),
    ] = None

    def among_private(self, about: AboutScores, sizes: Sizes) -> UnknownDomain:
        """Noise on the largest counts, and a threshold at the first that takes no part."""
        from winnow.select.mechanisms import unknown_domain

        return unknown_domain.LimitedDomain(
            epsilon=sizes.epsilon,
            delta=sizes.delta,
            k=sizes.k,
            max_items=about.max_items,
            with_counts=sizes.with_counts,
            reach=self.reach,
            accountant=sizes.accountant,
        )


@dataclass(frozen=True, kw_only=True)
class Stability(PrivateLabelsMethod):
    """Private labels with counts at no extra cost, for few items per person; needs a delta."""

    def among_private(self, about: AboutScores, sizes: Sizes) -> UnknownDomain:
        """Noise on every count, and a threshold that a label of one person does not pass."""
        from winnow.select.mechanisms.unknown_domain import StabilityThreshold

        return StabilityThreshold(
            epsilon=sizes.epsilon,
            delta=sizes.delta,
            k=sizes.k,
            max_items=about.max_items,
            with_counts=sizes.with_counts,
        )


OF_LISTS: tuple[type[TopKMethod], ...] = (
    Joint,
    Canonical,
    Oneshot,
    PeelPermuteAndFlip,
    PeelGumbel,
    Gamma,
    Laplace,
    Gaussian,
    OneshotApproximate,
)
"""For a public list of items."""
OF_CLASSES_TOO: tuple[type[PickMethod], ...] = (CanonicalAdaptive, *SELECT_METHODS)
"""For classes; the methods of ``select`` take one candidate after another."""


def options_of(method: Method) -> dict[str, Any]:
    """What was said of a method, by the names of its options."""
    from winnow.core.options import options

    return {field.name: getattr(method, field.name) for field in options(type(method))}
