"""Canonical: the unordered set of k items in one draw over all subsets."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from winnow.core.checks import Real, exact, positive, set_counts
from winnow.core.laws import Law
from winnow.core.noisy_top.best_class import best_class
from winnow.core.noisy_top.classes import CanonicalClasses
from winnow.core.noisy_top.ranking import Ranking
from winnow.core.noisy_top.universe import Drawn, Universe
from winnow.core.relation import Relation
from winnow.core.tape import Tape
from winnow.core.utility import Utility
from winnow.errors import ParameterError
from winnow.privacy import Promise, promise
from winnow.read.scores import SealedScores
from winnow.select.crossing.private_labels import check_on_grid
from winnow.select.crossing.selection import Selection, check_lists, check_scale


@dataclass(frozen=True)
class Canonical(Selection):
    """Select a k-subset by noise on every subset's canonical loss.

    A subset that holds the best h items, misses the next, and reaches down to rank t has
    loss (1-gamma) x[h+1] - gamma x[t], and the top k itself (1-gamma) x[k] - gamma x[k]; the
    subset with the largest -epsilon loss/(2 Delta) + noise is released. gamma = 1/2 is the
    canonical loss: how many people stand between the subset and the top k; gamma = 1 looks
    at the last item alone.
    [Canonical, Def 3.4 and Thm 3.5, with h >= 0 as in the errata]

    Formal guarantees
        epsilon-DP under the relation of the utility; with Gumbel noise epsilon-bounded range.
        The loss moves no further than the scores do, and adding a constant to all scores
        changes all losses by the same amount, so Delta is the utility's `half_width`: 1/2 for
        counts under add/remove. [Canonical, Thm 3.5, 4.1 and A.15]
        For every gamma in [0, 1], in one line: the loss is (1-gamma) M - gamma m, M the larger of
        x[k] and the best score outside the subset, m the worst inside. Scores that move within
        [a, b] move M and m within [a, b], so the loss moves within an interval of length
        (1-gamma)(b-a) + gamma (b-a) = b - a.
        ``one_item=True``: one person has one item at most. Then Delta is multiplied by
        max(gamma, 1 - gamma), for counts in ones: half the noise at gamma = 1/2. Scores are rounded
        down to whole numbers, of which a person who adds at most 1 moves one by 0 or 1.
        Proof. Let item j get one person more. Sets without j keep m, and their M rises by 0 or 1:
        losses change within [0, 1-gamma]. Sets with j keep the best score outside.
        (i) x[k] rises: then x_j = x[k], and k-1 scores are larger. A set in which j alone is the
        worst is the top k, whose loss changes by 1 - 2 gamma; others with j change within
        [0, 1-gamma]. All changes lie in [min(0, 1-2 gamma), 1-gamma], whose length is
        max(gamma, 1-gamma).
        (ii) x[k] stays: sets with j change by 0 or -gamma, and by -gamma only if k-1 scores exceed
        x_j; sets without j change by 1-gamma only if x_j >= x[k]. Both together would be (i). So
        all changes lie in [0, 1-gamma] or in [-gamma, 0].
        One who leaves is the same backwards, and a replacement is one of each.
        ``rounded=True`` rounds the loss at gamma = 1/2 up to whole people [Canonical, Lemma
        3.1]. The shift argument does not survive rounding: there Delta is `one_sided`.

    Exact, and without visiting the d k classes: ``best_class`` over rectangles (h, t).
    """

    epsilon: Real
    k: int
    gamma: Real = Fraction(1, 2)
    noise: Law = Law.EXPONENTIAL
    rounded: bool = False
    one_item: bool = False
    title: ClassVar[str] = "canonical"

    def __post_init__(self) -> None:
        positive(epsilon=self.epsilon)
        set_counts(self, k="k")
        object.__setattr__(self, "noise", Law.parse(self.noise))
        if not 0 <= exact("gamma", self.gamma) <= 1:
            raise ParameterError(f"gamma={self.gamma} is outside [0, 1]; 1/2 is the canonical loss")
        if self.rounded and exact("gamma", self.gamma) != Fraction(1, 2):
            raise ParameterError(
                f"the rounded loss is defined for gamma=1/2 and gamma={self.gamma} was given; "
                "leave out one of the two"
            )

    @property
    def name(self) -> str:
        """What the receipt calls it."""
        loss = "rounded loss" if self.rounded else f"gamma={float(exact('gamma', self.gamma)):g}"
        items = ", one item per person" if self.one_item else ""
        return f"{self.title} ({self.noise} noise, {loss}{items}), k={self.k}"

    @property
    def ordered(self) -> bool:
        """A set: no order is released."""
        return False

    def promise(self, relation: Relation) -> Promise:
        """What one release is charged, and why."""
        return promise(self.noise, "canonical", relation, epsilon=self.epsilon)

    def scale(self, utility: Utility) -> Fraction:
        """The factor of the loss: epsilon/(2 Delta)."""
        sensitivity = utility.one_sided if self.rounded else utility.half_width
        if self._of_one_item(utility):
            gamma = exact("gamma", self.gamma)
            sensitivity *= max(gamma, 1 - gamma)
        return exact("epsilon", self.epsilon) / (2 * sensitivity)

    def _of_one_item(self, utility: Utility) -> bool:
        """Whether one person moves one count by one whole step: a public declaration."""
        lowered = 1 if utility.relation.people == 2 else 0  # one comes and another goes
        counts_people = utility.up == 1 and utility.down == lowered
        return self.one_item and not self.rounded and counts_people

    def check_public(self, utility: Utility, total: int | None) -> None:
        """Refuse what cannot be released, before anything is charged."""
        check_lists(self.title, self.k, total)
        check_scale(self.scale(utility))

    def check(self, scores: SealedScores) -> None:
        """Refuse what cannot be released, before anything is charged."""
        super().check(scores)
        check_on_grid(scores)

    def _draw(self, universe: Universe, utility: Utility, tape: Tape) -> Drawn:
        """The best class of sets, one set of it, and the candidates at its ranks.

        The proof for one item needs whole people: parts of one are rounded away there.
        """
        ranked = universe.by_rank(utility, self.k, whole=self._of_one_item(utility))
        classes = self._classes(ranked.ranking, ranked.utility)
        winner = best_class(classes, self.noise, tape.child("class"))
        stream = tape.child("member").stream()
        return Drawn(ranked.named(classes.sample(winner, stream), stream))

    def _classes(self, ranking: Ranking, in_steps: Utility) -> CanonicalClasses:
        if not self.rounded:
            scale = self.scale(in_steps)
            return CanonicalClasses(ranking, self.k, exact("gamma", self.gamma), scale)
        # ceil of (x[h+1] - x[t])/2 people, each worth one_sided steps; the exponent is
        # epsilon/2 per person
        return CanonicalClasses(
            ranking,
            self.k,
            Fraction(1, 2),
            exact("epsilon", self.epsilon) / 2,
            rounded_by=in_steps.one_sided,
        )
