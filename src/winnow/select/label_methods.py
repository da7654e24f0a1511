"""How labels that nobody listed are found, as objects with their options."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from winnow.core.checks import Real, exact
from winnow.core.options import Option
from winnow.errors import ParameterError
from winnow.select.methods import PickMethod, Sizes
from winnow.select.top_k_methods import (
    OF_CLASSES_TOO,
    OF_LISTS,
    LimitedDomain,
    PrivateLabelsMethod,
    Stability,
)

if TYPE_CHECKING:
    from winnow.select.about import AboutScores
    from winnow.select.crossing.private_labels import UnknownDomain

USUAL_LABELS = 100
"""So many labels of a person weigh something where nobody says how many. Of caps of 10, 30, 100,
300 and 1,000 it loses the least on the logs of ``winnow.select.generated_logs`` at (epsilon, delta)
of (.3, 1e-6) and (1, 1e-6), and at (3, 1e-6) and (1, 1e-9) at most .01 more than 300."""


@dataclass(frozen=True, kw_only=True)
class WeightedGaussian(PrivateLabelsMethod):
    """Gaussian noise on weights that people spread over their labels; for several labels each."""

    cap: Annotated[
        int | None,
        Option(
            "The most labels of a person that count (default: 100, or the bound on items).",
            "L",
            least=1,
            most=1000,
        ),
    ] = None
    rounds: Annotated[
        int | None,
        Option(
            "With 2, labels that weigh almost nothing in a first round drop out, what it finds is "
            "set aside, and all weight goes to the others. By default the choice that should find "
            "more labels.",
            "N",
            least=1,
            most=2,
        ),
    ] = None
    peel: Annotated[
        Real | None,
        Option(
            "For a list of k: a share of the privacy loss that selects among the labels that "
            "were found, by how many people have them. By default the choice that should find "
            "more labels.",
            "SHARE",
            least=0,
            below=1,
        ),
    ] = None

    def among_private(self, about: AboutScores, sizes: Sizes) -> UnknownDomain:
        """Discrete Gaussian noise on spread weights, and a threshold from its tail."""
        from winnow.select.crossing.private_labels import EVERY
        from winnow.select.label_choice import best_rounds
        from winnow.select.label_recall import best_rounds_and_peel
        from winnow.select.mechanisms import weighted_gaussian

        most, rounds = self.most(about), self.rounds
        everything = sizes.k == EVERY
        if everything and self.peel:
            raise ParameterError("peel= is for the k most common labels; leave it out")
        peel = exact("peel", self.peel or 0)
        if everything and rounds is None:
            rounds = best_rounds(about, sizes, most)
        elif not everything and (rounds is None or self.peel is None):
            rounds, peel = best_rounds_and_peel(
                about, sizes, most, rounds, None if self.peel is None else peel
            )
        return weighted_gaussian.WeightedGaussian(
            epsilon=sizes.epsilon,
            delta=sizes.delta,
            k=sizes.k,
            max_items=most,
            with_counts=sizes.with_counts,
            spread=about.weighed,
            rounds=rounds or 1,
            peel=peel,
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
class TruncatedLaplace(PrivateLabelsMethod):
    """Laplace noise that stays below a threshold; needs a bound on the items of a person."""

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
class OptimalRule(PrivateLabelsMethod):
    """Each label with the largest probability that privacy allows; for one label per person."""

    def among_private(self, about: AboutScores, sizes: Sizes) -> UnknownDomain:
        """A chance for each number of people."""
        from winnow.select.mechanisms import optimal_rule

        return optimal_rule.OptimalRule(
            epsilon=sizes.epsilon,
            delta=sizes.delta,
            k=sizes.k,
            max_items=about.max_items,
        )


OF_LABELS: tuple[type[PrivateLabelsMethod], ...] = (WeightedGaussian, TruncatedLaplace, OptimalRule)
"""For all labels that stand out, without a number of them."""
OF_PRIVATE_LABELS: tuple[type[PrivateLabelsMethod], ...] = (
    LimitedDomain,
    Stability,
    WeightedGaussian,
    TruncatedLaplace,
)
"""For the k most common labels."""
TOP_K_METHODS: tuple[type[PickMethod], ...] = (
    *OF_LISTS,
    *OF_PRIVATE_LABELS,
    OptimalRule,
    *OF_CLASSES_TOO,
)
