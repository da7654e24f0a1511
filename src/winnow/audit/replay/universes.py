"""Replays of select and top_k on universes in classes of equal scores."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from winnow.audit.replay.compare import Replay, ReplayPlace
from winnow.audit.replay.people import People
from winnow.audit.replay.selections import HOLDERS, ITEMS, counted, variant_of
from winnow.core.relation import Relation
from winnow.read.classes import classes
from winnow.select.methods import SELECT_METHODS as ONE_OF_CLASSES
from winnow.select.methods import Lipschitz, PickMethod
from winnow.select.top_k_methods import Canonical, CanonicalAdaptive, Joint, LimitedDomain
from winnow.select.verb import select, top_k


def universe_replays() -> Iterator[Replay]:
    """One entry for each method that takes classes."""
    made: list[PickMethod] = [Joint(), Canonical(), CanonicalAdaptive(), LimitedDomain()]
    made += [
        Lipschitz(noise="logistic") if each is Lipschitz else each() for each in ONE_OF_CLASSES
    ]
    for method in made:
        options: dict[str, Any] = {"method": method, "epsilon": 2.0}
        options |= {"delta": 0.2, "epsilon": 20.0} if method.needs_delta else {}
        at_once = type(method) not in ONE_OF_CLASSES
        if not at_once:
            yield _from_classes(select, options, known=not method.needs_delta)
        yield _from_classes(
            top_k, options | {"k": 2}, known=True, groups=(int(at_once), 2),
            relation=Relation.SUBSTITUTION,
        )  # fmt: skip


def _from_classes(
    verb: Callable[..., Any],
    options: dict[str, Any],
    *,
    known: bool,
    relation: Relation = Relation.ADD_REMOVE,
    groups: tuple[int, int] = (1, 2),
) -> Replay:
    def call(people: People, place: ReplayPlace) -> Any:
        counts = counted(people)
        given: list[Any] = [(number, [item]) for item, number in counts.items()]
        given.append((0, 1000, lambda uniform: f"other {uniform.below(1000)}"))
        universe = classes(
            given, total=len(ITEMS) + 1000 if known else None, monotone=True, relation=relation,
            max_items=3,
        )  # fmt: skip
        return verb(universe, seed=place.seed, **options)

    said = {"method": options["method"].word()}
    kind = "a public" if known else "an unknown"
    name = f"{verb.__name__}, {variant_of(options)}, {kind} universe"
    return Replay("classes", name, call, HOLDERS, relation, said, groups=groups)
