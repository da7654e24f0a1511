"""The table of mechanisms for itemsets and for universes in classes, by the words of users.

Nothing heavy is imported: a class is loaded when it is built.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from winnow.errors import ParameterError
from winnow.foreign import shown

ITEMSETS = "itemsets"
CLASSES = "classes"
"""Select and top_k on universes that are given in classes of equal scores."""


@dataclass(frozen=True)
class MechanismRow:
    """A mechanism by the word that users write."""

    verb: str
    word: str
    home: str
    """The class, by its full name."""
    takes: Mapping[str, str]
    """Its parameters, each with what is asked of the verb."""
    options: tuple[str, ...] = ()
    """What a user may say that others of the verb do not take."""
    needs_delta: bool = False
    may_use_delta: bool = False

    def build(self, asked: Mapping[str, Any]) -> Any:
        """The mechanism with what was asked."""
        module, _, name = self.home.rpartition(".")
        made = getattr(import_module(module), name)
        return made(**{p: asked[source] for p, source in self.takes.items()})

    def refuse_unused(self, delta: Any, said: Mapping[str, Any]) -> None:
        """Refuse a delta or an option that this mechanism does not take, or a missing delta."""
        if self.needs_delta and delta == 0:
            raise ParameterError(f"{self.word} needs delta > 0, for example delta=1e-6")
        if not self.needs_delta and delta != 0:
            others = [row.word for row in rows(self.verb) if row.needs_delta]
            raise ParameterError(
                f"delta={float(delta):g}: {self.word} is pure epsilon-DP and has no use for it; "
                f"leave out delta, or choose {others[0]}"
            )
        for option, value in said.items():
            if value is not None and value is not False and option not in self.options:
                takers = " and ".join(row.word for row in rows(self.verb) if option in row.options)
                if option == "noise":
                    raise ParameterError(f"{self.word} has its own noise; noise= is for {takers}")
                raise ParameterError(f"{option} is for {takers}; {self.word} has none")


def rows(verb: str) -> tuple[MechanismRow, ...]:
    """The mechanisms of a verb."""
    return tuple(row for row in TABLE if row.verb == verb)


def words(verb: str) -> tuple[str, ...]:
    """The words of its mechanisms."""
    return tuple(row.word for row in rows(verb))


def row_named(verb: str, word: Any) -> MechanismRow:
    """The row of a word; another word is refused with the list of those that there are."""
    allowed = words(verb)
    if word not in allowed:
        raise ParameterError(
            f"mechanism={shown(word)} is unknown; choose one of: {', '.join(allowed)}"
        )
    return next(row for row in rows(verb) if row.word == word)


_LIST = {"epsilon": "epsilon", "k": "k"}
_WITH_DELTA = {"epsilon": "epsilon", "delta": "delta"}


def _ranked(verb: str) -> tuple[MechanismRow, ...]:
    """Mechanisms that ask for classes of equal scores, from the top down."""
    return (
        MechanismRow(
            verb,
            "large-margin",
            "winnow.select.mechanisms.large_margin.LargeMargin",
            {**_WITH_DELTA, "thresholds": "thresholds"},
            options=("thresholds",),
            needs_delta=True,
        ),
        MechanismRow(
            verb,
            "limited-domain",
            "winnow.select.mechanisms.unknown_domain.LimitedDomain",
            {
                **_WITH_DELTA,
                "k": "k",
                "max_items": "moved",
                "reach": "reach",
                "accountant": "accountant",
            },
            options=("reach",),
            needs_delta=True,
        ),
        MechanismRow(
            verb,
            "distance-to-instability",
            "winnow.select.mechanisms.conditional.DistanceToInstability",
            _WITH_DELTA,
            needs_delta=True,
        ),
        MechanismRow(
            verb,
            "choosing",
            "winnow.select.mechanisms.conditional.Choosing",
            {**_WITH_DELTA, "growth": "growth"},
            options=("growth",),
            needs_delta=True,
        ),
        *(
            MechanismRow(
                verb, word, f"winnow.select.mechanisms.lipschitz.{name}", {"epsilon": "epsilon"}
            )
            for word, name in (
                ("exponential", "ExponentialMechanism"),
                ("permute-and-flip", "PermuteAndFlip"),
                ("noisy-max", "ReportNoisyMax"),
            )
        ),
        MechanismRow(
            verb,
            "joint",
            "winnow.select.mechanisms.joint.Joint",
            _LIST,
        ),
        MechanismRow(
            verb,
            "canonical",
            "winnow.select.mechanisms.canonical.Canonical",
            {**_LIST, "gamma": "gamma", "noise": "noise"},
            options=("noise", "gamma"),
        ),
        MechanismRow(
            verb,
            "canonical-adaptive",
            "winnow.select.mechanisms.canonical_adaptive.CanonicalAdaptive",
            _LIST,
        ),
    )


TABLE: tuple[MechanismRow, ...] = (
    *_ranked(ITEMSETS),
    MechanismRow(
        ITEMSETS,
        "weighted",
        "winnow.itemsets.mechanisms.weighted.WeightedItemsets",
        {
            **_WITH_DELTA,
            "k": "k",
            "private": "private",
            "accountant": "accountant",
            "max_items": "max_items",
        },
        may_use_delta=True,
    ),
    *_ranked(CLASSES),
    MechanismRow(
        CLASSES,
        "lipschitz",
        "winnow.select.mechanisms.lipschitz.LipschitzMechanism",
        {"epsilon": "epsilon", "noise": "noise"},
        options=("noise",),
    ),
)
