"""How labels that nobody listed are found, as objects with their options."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, ClassVar

from winnow.core.options import Option
from winnow.errors import ParameterError
from winnow.select.methods import PRIVATE_LABELS, PickMethod, Sizes

if TYPE_CHECKING:
    from winnow.select.about import AboutScores
    from winnow.select.crossing.private_labels import UnknownDomain
    from winnow.select.crossing.selection import Selection

USUAL_LABELS = 100
"""So many labels of a person weigh something where nobody says how many. Of caps of 10, 30, 100,
300 and 1,000 it loses the least on the logs of ``winnow.select.generated_logs`` at (epsilon, delta)
of (.3, 1e-6) and (1, 1e-6), and at (3, 1e-6) and (1, 1e-9) at most .01 more than 300."""


class LabelsMethod(PickMethod):
    """A method for labels found in the data."""

    picks_from: ClassVar[tuple[str, ...]] = (PRIVATE_LABELS,)
    needs_delta: ClassVar[bool] = True

    def mechanism(self, about: AboutScores, sizes: Sizes) -> Selection:
        """Nothing picks from a public list here."""
        raise ParameterError(f"{self.word()} is for labels found in the data")

    @abstractmethod
    def among_private(self, about: AboutScores, sizes: Sizes) -> UnknownDomain:
        """The mechanism that draws among labels that are private themselves."""


@dataclass(frozen=True, kw_only=True)
class WeightedGaussian(LabelsMethod):
    """Gaussian noise on weights of people that are spread over their labels: for several each."""

    cap: Annotated[
        int | None,
        Option(
            "So many labels of a person weigh something (default: 100, or the bound on items).",
            "L",
            least=1,
            most=1000,
        ),
    ] = None
    rounds: Annotated[
        int | None,
        Option(
            "2: what a first round finds is dropped, and the weight goes to other labels. Chosen "
            "by expected labels where it is not said.",
            "N",
            least=1,
            most=2,
        ),
    ] = None

    def among_private(self, about: AboutScores, sizes: Sizes) -> UnknownDomain:
        """Discrete Gaussian noise on spread weights, and a threshold from its tail."""
        from winnow.select.label_choice import best_rounds
        from winnow.select.mechanisms import weighted_gaussian

        most = self.most(about)
        rounds = self.rounds
        if rounds is None:
            rounds = best_rounds(about, sizes, most) if about.weighed else 1
        return weighted_gaussian.WeightedGaussian(
            epsilon=sizes.epsilon,
            delta=sizes.delta,
            k=sizes.k,
            max_items=most,
            with_counts=sizes.with_counts,
            spread=about.weighed,
            rounds=rounds,
            accountant=sizes.accountant,
        )

    def most(self, about: AboutScores) -> int:
        """The most labels of a person that weigh something."""
        if not about.weighed:
            if about.max_items is None:
                raise ParameterError(
                    "weighted-gaussian needs the log itself, or a bound on the items of a person; "
                    "count with wn.counts(log, item=, person=), or seal ready counts with "
                    "max_items="
                )
            if self.cap is not None and self.cap < about.max_items:
                raise ParameterError(
                    f"cap={self.cap}: these counts hold up to {about.max_items} items of a person "
                    "and do not say whose; leave out cap="
                )
            return about.max_items
        most = USUAL_LABELS if self.cap is None else self.cap
        return most if about.max_items is None else min(most, about.max_items)


@dataclass(frozen=True, kw_only=True)
class TruncatedLaplace(LabelsMethod):
    """Laplace noise that stays below a threshold: for a bound on the items of a person."""

    def among_private(self, about: AboutScores, sizes: Sizes) -> UnknownDomain:
        """Bounded noise on every count; labels above its bound leave."""
        from winnow.select.mechanisms import truncated_laplace

        return truncated_laplace.TruncatedLaplace(
            epsilon=sizes.epsilon,
            delta=sizes.delta,
            k=sizes.k,
            max_items=about.max_items,
            with_counts=sizes.with_counts,
        )


@dataclass(frozen=True, kw_only=True)
class OptimalRule(LabelsMethod):
    """Every label with the largest chance that privacy allows: for people with one label each."""

    def among_private(self, about: AboutScores, sizes: Sizes) -> UnknownDomain:
        """A chance for each number of people."""
        from winnow.select.mechanisms import optimal_rule

        return optimal_rule.OptimalRule(
            epsilon=sizes.epsilon,
            delta=sizes.delta,
            k=sizes.k,
            max_items=about.max_items,
        )


OF_LABELS: tuple[type[LabelsMethod], ...] = (WeightedGaussian, TruncatedLaplace, OptimalRule)
"""For all labels that stand out, without a number of them."""
