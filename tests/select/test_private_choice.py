"""Which method for private labels: the default against both of them, on generated counts."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest

from winnow.core.utility import Utility
from winnow.select.about import AboutScores
from winnow.select.choice import library
from winnow.select.label_methods import TruncatedLaplace
from winnow.select.methods import Sizes
from winnow.select.predicted import of_noise, of_threshold
from winnow.select.table import choose, private_mechanism, private_noises
from winnow.select.top_k_methods import LimitedDomain

COUNTS = Utility.declare(1, monotone=True)
RANKS = np.arange(1, 801)
FAMILIES = {
    "Zipf": 40_000 / RANKS,
    "flat": np.full(800, 900.0),
    "steps": 9_000 / 2 ** np.floor(np.log2(RANKS)),
}


def asked(k: int, epsilon: float, most: int | None) -> tuple[AboutScores, Sizes]:
    about = AboutScores(utility=COUNTS, private=True, max_items=most)
    return about, Sizes(epsilon=epsilon, delta=1e-6, k=k)


def missed(method, about: AboutScores, sizes: Sizes, counts: np.ndarray) -> float:
    """The mean largest error; what is not released counts as an item that nobody has."""
    wanted, off = np.sort(counts)[::-1][: sizes.k], []
    for row in private_mechanism(method, about, sizes).simulate(counts, COUNTS, 8, 1):
        got = np.zeros(sizes.k)
        got[: len(row)] = counts[row]
        off.append(np.abs(wanted - got).max())
    return float(np.mean(off))


@pytest.mark.extras
def test_the_default_is_near_the_better_method_for_private_labels() -> None:
    """From one item per person, where noise on all is less, to hundreds, where rounds are."""
    factors, words = [], set()
    for name, k, epsilon, most in product(FAMILIES, (20,), (0.2, 2.0), (1, 8, 300)):
        counts = np.rint(FAMILIES[name]).astype(np.int64)
        about, sizes = asked(k, epsilon, most)
        word = choose("auto", about, sizes, None).method.word()
        found = {
            each.word(): missed(each, about, sizes, counts)
            for each in (TruncatedLaplace(), LimitedDomain())
        }
        words.add(word)
        factors.append((found[word] + 1 / epsilon) / (min(found.values()) + 1 / epsilon))
    assert words == {"truncated-laplace", "limited-domain"}
    assert np.mean([factor <= 1.15 for factor in factors]) >= 0.85
    assert math.exp(np.mean(np.log(factors))) <= 1.15


@pytest.mark.parametrize(
    ("most", "word"), [(1, "truncated-laplace"), (None, "limited-domain"), (500, "limited-domain")]
)
def test_many_items_per_person_are_left_to_the_limited_domain(most: int | None, word: str) -> None:
    about, sizes = asked(5, 1.0, most)
    assert choose("auto", about, sizes, None).method.word() == word


def test_counts_that_are_wanted_come_with_noise_on_all_of_them() -> None:
    about, sizes = asked(5, 1.0, 500)
    wanted = Sizes(epsilon=sizes.epsilon, delta=sizes.delta, k=sizes.k, with_counts=True)
    assert choose("auto", about, wanted, None).method.word() == "truncated-laplace"


def test_a_threshold_only_ever_adds_to_the_error() -> None:
    for profile, law in product(library(500, 10), ("laplace", "gumbel")):
        free = of_noise(profile, law, 20.0, ordered=True)
        levels = [of_threshold(profile, law, 20.0, at, ordered=True) for at in (-1e9, 1e3, 1e9)]
        assert levels[0] == free
        assert [each.error for each in levels] == sorted(each.error for each in levels)
        assert levels[2].recall <= 1e-3


def test_the_thresholds_of_the_choice_are_those_of_the_mechanisms() -> None:
    about, sizes = asked(5, 1.0, 3)
    planned = private_noises(about, sizes)
    noisy = private_mechanism(TruncatedLaplace(), about, sizes)
    listed = private_mechanism(LimitedDomain(), about, sizes)
    assert planned["truncated-laplace"].level == noisy.threshold(COUNTS)
    assert planned["truncated-laplace"].scale == float(noisy.scale(COUNTS))
    assert planned["limited-domain"].level == listed.lead(COUNTS)
    assert planned["limited-domain"].reach == listed.reach
