"""A look at three counts: what it sees, what follows, what it is charged, and where it pays."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import winnow as wn
from reference.inside import Tape
from winnow.core.noisy_top.count_classes import CountClasses
from winnow.core.noisy_top.in_memory import InMemory
from winnow.core.utility import Utility
from winnow.privacy import guarantee_of
from winnow.select.about import AboutScores
from winnow.select.choice import library
from winnow.select.crossing.selection import Selection
from winnow.select.errors import best_order, l_infinity
from winnow.select.looking import LookRule, library_counts, ranks_seen
from winnow.select.mechanisms.looked import LookedAt, at_ranks, rounded_down
from winnow.select.methods import LOOK_SHARE, Sizes
from winnow.select.table import choose

COUNTS = Utility.declare(1, monotone=True)
ASKED = {"epsilon": 0.01, "delta": 1e-6, "k": 10}
"""A set of ten of a thousand items, where steep counts and flat ones want different methods."""


def chosen(items: int = 1_000, ordered: bool | None = False, **more) -> LookedAt:
    about = AboutScores(utility=COUNTS, candidates=items)
    made = choose("auto", about, Sizes(**{**ASKED, **more}), ordered).mechanism
    assert isinstance(made, LookedAt)
    return made


@pytest.mark.parametrize("k", [1, 3, 10, 400])
def test_the_ranks_are_those_around_k(k: int) -> None:
    ranks = ranks_seen(1_000, k)
    assert k in ranks and list(ranks) == sorted(set(ranks))
    assert min(ranks) == max(k // 4, 1) and max(ranks) == min(4 * k, 1_000)


def test_what_is_seen_are_the_counts_at_the_ranks_in_memory_and_in_classes() -> None:
    rng = np.random.default_rng(1)
    counts = rng.integers(0, 30, 500)
    ranks = (1, 2, 10, 499, 500)
    true = np.sort(counts)[::-1][np.array(ranks) - 1]
    assert at_ranks(InMemory(counts), ranks).tolist() == true.tolist()
    classes = CountClasses(dict(zip(*np.unique(counts, return_counts=True), strict=True)))
    assert [classes.count_at(rank - 1) for rank in ranks] == true.tolist()
    halves = at_ranks(InMemory(counts + 0.5), ranks)
    assert halves.tolist() == true.tolist()
    assert rounded_down(np.array([1e300, -1e300, 2.5])).tolist() == [2**50, -(2**50), 2]


def test_steep_and_flat_counts_are_followed_by_what_errs_least_on_them() -> None:
    made = chosen()
    ranks = np.array(made.rule.ranks, float)
    steep, flat = 200_000 / ranks**1.2, np.full(len(ranks), 3_000.0)
    assert made.rule.words[made.rule.place(steep)] == "canonical"
    assert made.rule.words[made.rule.place(flat)] == "peel-gumbel"


def test_what_is_drawn_is_what_the_method_after_the_look_draws() -> None:
    made, tape = chosen(), Tape.seeded(7)
    counts = np.rint(200_000 / np.arange(1, 1_001) ** 1.2).astype(np.int64)
    seen = at_ranks(InMemory(counts), made.rule.ranks) + made.noise(
        COUNTS, Tape.seeded(7).child("look")
    )
    way = made.ways[made.rule.place(seen.astype(float))]
    expected = way.of_scores(counts, COUNTS, Tape.seeded(7).child("selection"))
    assert made.of_scores(counts, COUNTS, tape) == expected


def test_the_look_and_what_follows_add_up_to_what_was_asked_for() -> None:
    for ordered in (False, True, None):
        about = AboutScores(utility=COUNTS, candidates=1_000)
        plan = choose("auto", about, Sizes(**ASKED), ordered).plan(COUNTS.relation)
        assert plan.guarantee.epsilon <= 0.01 and plan.guarantee.delta <= 1e-6
    made = chosen()
    assert LookedAt.rest(1) + LOOK_SHARE == 1
    assert LookedAt.noise_scale(Fraction(1, 100), COUNTS) == 4_000
    event = made.promise(COUNTS.relation).event
    assert guarantee_of(event, delta=Fraction(1, 10**6)).epsilon <= 0.0101


def test_a_look_is_taken_only_where_it_pays_on_the_library() -> None:
    made = chosen()
    assert made.rule.pays() and made.rule.gain() > 0
    expected = library_counts(made.rule)
    assert expected.shape == (len(library(1_000, 10)), len(made.rule.ranks))
    alone = LookRule(made.rule.noises[:1], 1_000, 10, 100.0, False, 4_000.0)
    assert not alone.pays()  # there is nothing to decide
    blind = LookRule(made.rule.noises, 1_000, 10, 100.0, False, 1e9)
    assert not blind.pays()  # nothing is seen through this noise


def test_a_budget_or_counts_beside_the_list_leave_the_look_out() -> None:
    about = AboutScores(utility=COUNTS, candidates=1_000)
    for more in ({"accountant": "summed"}, {"accountant": "pure"}, {"with_counts": True}):
        made = choose("auto", about, Sizes(**ASKED, **more), False)
        assert made.method.word() != "looked" and not isinstance(made.mechanism, LookedAt)


def test_a_user_reads_what_was_looked_at_and_cannot_name_it() -> None:
    counts = np.rint(200_000 / np.arange(1, 1_001) ** 1.2).astype(np.int64).tolist()
    found = wn.top_k(counts, ordered=False, seed=1, **ASKED)
    assert found.receipt.mechanism.startswith("looked, k=10: the counts at ranks 2, 10, 40")
    assert "a fortieth of epsilon" in found.receipt.reason
    assert len(set(found.value)) == 10 and found.guarantee.epsilon <= 0.01
    with pytest.raises(wn.ParameterError, match="looked"):
        wn.top_k(counts, method="looked", **ASKED)


def test_a_plan_with_a_look_is_printed_and_written_down() -> None:
    plan = wn.plan.top_k(wn.plan.counts(candidates=1_000), ordered=False, **ASKED)
    assert "ranks 2, 10, 40" in str(plan) and plan.to_dict()["method"] == "looked"
    assert plan.error is None or plan.error > 0


def test_a_look_is_near_the_better_one_of_what_may_follow() -> None:
    """Twenty draws each, of the largest error; a factor of two is five of its deviations."""
    rng, made = np.random.default_rng(3), chosen()
    for counts in (400_000 * np.exp(1.1 * rng.normal(size=1_000) - 3), np.full(1_000, 3_000.0)):
        true = np.sort(np.rint(counts).astype(np.int64))[::-1].copy()

        def off(mechanism: Selection, true: np.ndarray = true) -> float:
            rows = best_order(true, mechanism.simulate(true, COUNTS, 20, 1))
            return float(l_infinity(true, rows).mean())

        assert off(made) <= 2 * min(map(off, made.ways)) + 100
