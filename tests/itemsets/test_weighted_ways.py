"""Weighted counts or another selection: what was released decides, and every way has its share."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from reference.inside import Tape
from winnow import Relation
from winnow.audit.fidelity import chi_square_p_value
from winnow.core.baskets import Baskets
from winnow.itemsets.audit.weighted import of_people, or_canonical, or_selected, weighted
from winnow.itemsets.kernels.mine import ItemsetRanks
from winnow.itemsets.mechanisms import chosen
from winnow.itemsets.mechanisms.chosen import (
    LONG_SHARE,
    WeightedOrCanonical,
    WeightedOrSelected,
    long_scores,
)
from winnow.itemsets.mechanisms.weighted import WeightedCounts
from winnow.privacy.accountants import pure_cost
from winnow.select.audit.model import log_permute_and_flip
from winnow.select.mechanisms.canonical import Canonical
from winnow.select.mechanisms.canonical_adaptive import CanonicalAdaptive
from winnow.select.mechanisms.repeated import Repeated
from winnow.select.methods import LOOK_SHARE

ONE = of_people(1, Relation.ADD_REMOVE)


def ranks() -> ItemsetRanks:
    rows = [(0, 1)] * 4 + [(0, 2)] * 3
    items = np.array([item for row in rows for item in row], np.int32)
    return ItemsetRanks(Baskets(np.arange(0, 15, 2), items, 3), 2, known_items=True)


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, Fraction]]:
    """What draws anything after the support, and the epsilon that it has."""
    seen: list[tuple[str, Fraction]] = []

    def watched(made: type, method: str, epsilon: Any) -> None:
        honest = getattr(made, method)

        def noted(self: Any, *given: Any) -> Any:
            seen.append((made.__name__, Fraction(epsilon(self))))
            return honest(self, *given)

        monkeypatch.setattr(made, method, noted)

    watched(WeightedCounts, "drawn", lambda made: made.epsilon)
    watched(Canonical, "_draw", lambda made: made.epsilon)
    watched(CanonicalAdaptive, "length_of", lambda made: made._for_length)
    watched(Repeated, "_draw", lambda made: made.inner.epsilon * made.k)
    watched(WeightedOrCanonical, "_long", lambda made: LONG_SHARE * made.epsilon)
    return seen


def released(monkeypatch: pytest.MonkeyPatch, support: int) -> None:
    """Let this be the noisy support, far from the one of the baskets."""
    monkeypatch.setattr(chosen, "noisy_support", lambda *given: support)


@pytest.mark.parametrize(
    ("support", "long", "ways"),
    [
        (200, 0, ["CanonicalAdaptive", "Canonical"]),
        (19, 0, ["WeightedCounts"]),
        (20, 128, ["WeightedOrCanonical", "CanonicalAdaptive", "Canonical"]),
        (199, 2, ["WeightedOrCanonical", "CanonicalAdaptive", "WeightedCounts"]),
    ],
)
def test_each_way_of_a_set_or_counts_spends_all_and_no_more(
    monkeypatch, drawn, support, long, ways
) -> None:
    released(monkeypatch, support)
    expected = {2: 99.0, 128: 0.0, 0: 0.0}[long]
    monkeypatch.setattr(WeightedOrCanonical, "expected", lambda *given: expected)
    made = WeightedOrCanonical(Fraction(2), 2, 100)
    made._draw(ranks(), ONE, Tape.seeded(1))
    assert [name for name, _ in drawn] == ways
    assert sum(epsilon for _, epsilon in drawn) == (1 - LOOK_SHARE) * 2


@pytest.mark.parametrize(("support", "way"), [(5, "Repeated"), (4, "WeightedCounts")])
def test_each_way_of_a_selection_or_counts_spends_all_and_no_more(
    monkeypatch, drawn, support, way
) -> None:
    released(monkeypatch, support)
    or_selected()._draw(ranks(), ONE, Tape.seeded(1))
    assert drawn == [(way, (1 - LOOK_SHARE) * 2)]


@pytest.mark.parametrize(("made", "ways"), [(or_selected(), 2), (or_canonical(), 3)])
@pytest.mark.parametrize("relation", list(Relation))
def test_each_way_is_charged_what_it_spends(made, ways, relation) -> None:
    support, rest = made.promise(relation).event.events
    assert pure_cost(support).epsilon == LOOK_SHARE * 2
    assert [pure_cost(way).epsilon for way in rest.events] == [(1 - LOOK_SHARE) * 2] * ways
    if ways == 3:  # the last one may end in two ways, of one cost
        first, *_, last = rest.events[-1].events
        assert pure_cost(first).epsilon == LONG_SHARE * 2
        assert len({pure_cost(way).epsilon for way in last.events}) == 1 < len(last.events)


@pytest.mark.parametrize("relation", list(Relation))
@pytest.mark.parametrize("made", [weighted(), weighted(Fraction(1, 1000)), or_selected()])
def test_the_support_is_stated_too(made, relation) -> None:
    stated = made.guarantee(made.promise(relation))
    counts = made.counts if isinstance(made, WeightedOrSelected) else made.counts()
    last = counts.guarantee(relation)
    assert stated.epsilon >= float(LOOK_SHARE * 2) + last.epsilon - 1e-12
    assert stated.epsilon == pytest.approx(2, rel=1e-6) and stated.delta == last.delta


def test_how_long_baskets_are_is_drawn_by_permute_and_flip() -> None:
    made, lengths = or_canonical(), np.repeat([2, 3, 7, 30], [200, 150, 300, 60])
    chances = np.exp(
        log_permute_and_flip(float(made.long_scale(ONE)) * long_scores(lengths, 2)[None, :])[0]
    )
    asked = [length for length in chosen.LENGTHS if length >= 2]
    found = [made._long(lengths, 2, ONE, Tape.seeded(seed)) for seed in range(1000)]
    seen = np.array([found.count(length) for length in asked] + [0])
    assert chances.max() < 0.9 and chi_square_p_value(seen, chances) > 1e-6
