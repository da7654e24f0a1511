"""Certified bounds of lazy draws cover the rounding of the public answers, on all sides.

Answers are moved by less than the rounding that ``Distribution.slack`` allows; a draw that meets a
score above its bound would end in an InternalError, and that would depend on private counts.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from reference.inside import Tape
from winnow import Schema, Workload, marginals
from winnow.core.noisy_top.proposals import TapeWords
from winnow.core.workloads.bits import BitsPart, pack
from winnow.release.rounds.kernels.block_sampler import BlockSampler
from winnow.release.rounds.kernels.clocked_sampler import ClockedSampler
from winnow.release.rounds.kernels.distribution import Distribution, uniform_distribution

pytestmark = pytest.mark.extras  # compiles the loops of lazy selection

SCHEMA = Schema.parse({"a": 6, "b": 5, "c": 4, "d": 8})
EVERYTHING = Workload(SCHEMA, (BitsPart(SCHEMA, pack(np.ones((1, 960), np.bool_))),))
TABLES = marginals(2).over(SCHEMA) + marginals(3).over(SCHEMA)


def empty_but_for_rounding(workload: Workload, total: int) -> tuple[Distribution, int]:
    """All maintained answers are 0, and one inside a parent cell is a little less."""
    distribution = uniform_distribution(workload, total)
    firsts, parents = distribution.blocks()
    query = int(firsts[parents >= 0][5])
    answers, mass = distribution.maintained_answers()
    answers[:-1] = 0.0
    answers[query] = -mass * distribution.slack / 2
    return distribution, query


def test_a_block_is_bounded_above_although_an_answer_is_negative() -> None:
    distribution, query = empty_but_for_rounding(TABLES, 1 << 30)
    counts = np.zeros(TABLES.size, np.int64)
    firsts, parents = distribution.blocks()
    counts[query], counts[firsts[parents < 0][0]] = 12, 18
    rate = Fraction(math.log(2) / 4 * (1 - 1e-8))  # 12 rows: just below 3 ln 2
    sampler = BlockSampler(counts, distribution, rate)
    # blocks below the best are not evaluated beforehand
    sampler._plain = tuple(sampler._blocks._replace(depth=0))
    words = TapeWords(Tape.seeded(1))
    drawn = [sampler.draw(distribution, words)[0] for _ in range(2000)]
    assert query in drawn


def test_the_largest_exponent_of_all_is_bounded_although_an_answer_is_negative() -> None:
    workload = TABLES + EVERYTHING
    distribution, query = empty_but_for_rounding(workload, 1 << 30)
    counts = np.zeros(workload.size, np.int64)
    counts[query] = 2 << 30
    sampler = ClockedSampler(counts, distribution, Fraction(1, 1024))
    assert sampler.draw(distribution, TapeWords(Tape.seeded(2))) == (query, 1)


@pytest.mark.parametrize("drift", [-(2.0**-30), 2.0**-30])
def test_the_largest_exponent_of_all_is_bounded_although_the_mass_drifts(drift: float) -> None:
    total = 1 << 44
    distribution = uniform_distribution(EVERYTHING, total)
    distribution._mass *= 1.0 + drift
    sampler = ClockedSampler(np.zeros(1, np.int64), distribution, Fraction(1, 1 << 17))
    assert sampler.draw(distribution, TapeWords(Tape.seeded(3))) == (0, -1)
    assert distribution.slack > abs(drift)


def test_the_mass_of_dense_queries_drifts_by_less_than_its_slack() -> None:
    rng = np.random.default_rng(4)
    workload = Workload(SCHEMA, (BitsPart(SCHEMA, pack(rng.random((40, 960)) < 0.4)),))
    distribution = uniform_distribution(workload, 1000)
    for step in range(900):
        distribution.update(int(rng.integers(40)), (0.5, -0.5)[step % 2])
        exact = math.fsum(distribution._weights)
        assert abs(distribution._mass - exact) <= distribution.slack * exact / 32
