"""``winnow.classes``: a universe that nobody lists, as classes of candidates with equal scores."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from winnow.core.checks import Real, count, exact
from winnow.core.noisy_top.given import ClassSource, Steps
from winnow.core.noisy_top.grid import Grid
from winnow.core.relation import Relation
from winnow.core.sealed import Sealed
from winnow.core.unit import PERSON, Unit
from winnow.core.utility import Utility
from winnow.errors import DataError, ParameterError
from winnow.foreign import guarded


@dataclass(frozen=True)
class SealedClasses:
    """Private classes of candidates of a universe whose size is public, or that nobody knows."""

    source: Sealed[ClassSource]
    total: int | None
    """How many candidates there are; None: nobody knows, and the others have count 0."""
    utility: Utility
    steps: Steps
    unit: Unit = PERSON
    max_items: int | None = None
    """The most candidates that one person has; None: not bounded."""

    @property
    def relation(self) -> Relation:
        """Which datasets are neighbours."""
        return self.utility.relation

    def __repr__(self) -> str:
        size = "an unknown universe" if self.total is None else f"{self.total} candidates"
        return f"<sealed classes of {size}>"


@guarded
def classes(
    given: Iterable[Any],
    *,
    total: int | None,
    lowest: Real = 0,
    sensitivity: Real | tuple[Real, Real] = 1,
    monotone: bool = False,
    relation: str | Relation = Relation.ADD_REMOVE,
    max_items: int | None = None,
) -> SealedClasses:
    """Candidates in classes of equal scores, for ``winnow.select`` and ``winnow.top_k``.

    For universes that are too large to list: all strings of some length, all subsets, all splits
    of a tree, a grid of hyperparameters. ``given`` holds the classes, each as ``(score,
    members)`` with a sequence of all its members, or as ``(score, how many, draw)`` with a
    function that draws one: ``draw(uniform)`` gets ``uniform.below(n)`` and
    ``uniform.choice(sequence)``. Classes with the same score are added up. An iterator (of a
    search from the best down) is asked only as far as the draw needs; its classes must come by
    decreasing score.

    ``total`` is how many candidates there are, a public number that the classes add up to: those
    that nobody has are a class, too. ``total=None`` says that nobody knows the universe: then
    scores are 0 or more, all that is not listed has 0, and a mechanism may answer None.

    ``lowest`` is a public bound: scores below it count as it. ``sensitivity``, ``monotone`` and
    ``relation`` say how far one person moves any score, as in ``winnow.seal_scores``, and
    ``max_items`` how many candidates one person has at most, where that is bounded.

    The guarantee is that of the mechanism on all candidates, under two conditions that Winnow
    cannot check: which candidates exist does not depend on the data (``total=None``: candidates
    of count 0 are none), and a function draws uniformly from the candidates of its class.
    """
    utility = Utility.declare(sensitivity, monotone=monotone, relation=relation)
    least = exact("lowest", lowest)
    if max_items is not None:
        count(max_items=max_items)
    if total is not None:
        count(total=total)
    elif least != 0:
        raise ParameterError(
            f"lowest={lowest}: in an unknown universe all that is not listed has score 0; leave "
            "it out, or give total="
        )
    if isinstance(given, dict | str | bytes) or not isinstance(given, Iterable):
        raise ParameterError(
            "classes are a list of (score, members) or (score, how many, function); a dict of "
            "scores goes to winnow.select as it is"
        )
    source = ClassSource(given)
    steps = Steps(Grid.fine(utility), least)
    if not source.lazy:
        for known in source.known:
            steps.of(known.score)  # refuses what does not fit
        if total is not None and sum(known.size for known in source.known) != total:
            raise DataError(
                f"the classes do not add up to total={total}: list the candidates of the lowest "
                "score, too, as a class; if nobody knows how many there are, give total=None"
            )
    size = None if total is None else int(total)
    return SealedClasses(
        Sealed(source, "classes of candidates"), size, utility, steps, max_items=max_items
    )
