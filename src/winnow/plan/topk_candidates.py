"""Which mechanisms a top-k plan compares."""

from __future__ import annotations

from dataclasses import dataclass

from winnow.domain.checks import Real, exact
from winnow.errors import InputError
from winnow.mechanisms.selection import Selection
from winnow.mechanisms.topk_naming import KNOWN_DOMAIN, WITH_DELTA, TopKOptions, top_k_named
from winnow.random.laws import Law


@dataclass(frozen=True)
class Candidate:
    """A mechanism by its word, without its epsilon."""

    word: str
    k: int
    delta: Real
    options: TopKOptions

    def at(self, epsilon: Real) -> Selection:
        """The mechanism at an epsilon; what it does not take is refused."""
        return top_k_named(
            self.word, epsilon=epsilon, delta=self.delta, k=self.k, options=self.options
        )

    def at_any(self) -> Selection:
        """The mechanism at some epsilon that it allows."""
        return self.at(0.1)

    @property
    def label(self) -> str:
        """The word, and the noise where it was chosen."""
        return f"{self.word} ({self.options.noise})" if self.options.noise else self.word


@dataclass(frozen=True)
class Wishes:
    """What the user said about mechanisms."""

    k: int
    delta: Real
    gamma: Real
    noise: str | Law | None
    max_items_per_user: int | None
    lists_only: bool

    def one(self, word: str) -> Candidate:
        """The mechanism of this word; wishes that it cannot meet are refused."""
        gamma = self.gamma if word == "canonical" or exact("gamma", self.gamma) * 2 != 1 else None
        most = self.max_items_per_user if word == "laplace" else None
        options = TopKOptions(noise=self.noise, gamma=gamma, max_items_per_user=most)
        candidate = Candidate(word, self.k, self.delta, options)
        if self.lists_only and not candidate.at_any().ordered:
            raise InputError(
                f"{candidate.label} releases a set, which has no order; leave out ordered=True, "
                "or plan joint"
            )
        return candidate

    def all(self) -> tuple[list[Candidate], dict[str, str]]:
        """All mechanisms that apply, and why the others do not."""
        found, skipped = [], {}
        for word in KNOWN_DOMAIN:
            candidates = self._variants(word)
            if word in WITH_DELTA and exact("delta", self.delta) == 0:
                skipped[word] = "it needs delta > 0"
            elif word == "laplace" and self.max_items_per_user is None:
                skipped[word] = "it needs max_items_per_user"
            elif word == "oneshot-approximate" and exact("delta", self.delta) * 20 > 1:
                skipped[word] = "it needs delta up to 0.05"
            elif self.lists_only and not candidates[0].at_any().ordered:
                skipped[word] = "it releases a set, which has no order"
            else:
                found += candidates
        return found, skipped

    def _variants(self, word: str) -> list[Candidate]:
        """The mechanism, with each noise that is worth a row of its own."""
        noises: list[str | Law | None] = [None]
        if word == "canonical":
            noises = [Law.EXPONENTIAL, Law.GUMBEL] if self.noise is None else [self.noise]
        elif word == "oneshot":
            # only Gumbel noise has an order to give
            default = Law.GUMBEL if self.lists_only else Law.EXPONENTIAL
            noises = [default if self.noise is None else self.noise]
        delta = self.delta if word in WITH_DELTA else 0
        gamma = self.gamma if word == "canonical" else None
        most = self.max_items_per_user if word == "laplace" else None
        return [
            Candidate(word, self.k, delta, TopKOptions(noise, gamma, max_items_per_user=most))
            for noise in noises
        ]
