"""The lazy miner against Borgelt's eclat (pyfim)."""

from __future__ import annotations

import numpy as np
import pytest

from reference.itemset_supports import baskets_of
from winnow.itemsets.kernels.mine import ItemsetRanks

pytestmark = pytest.mark.extras


@pytest.mark.parametrize("size", [2, 3, 4])
@pytest.mark.parametrize("mean", [6, 25])
def test_the_lazy_miner_lists_what_eclat_lists(size: int, mean: int) -> None:
    fim = pytest.importorskip("fim")
    rng = np.random.default_rng(mean + size)
    weights = 1 / (1 + np.arange(60)) ** 0.7
    rows = [
        sorted(set(rng.choice(60, size=k, p=weights / weights.sum()).tolist()))
        for k in rng.poisson(mean, 3000)
    ]
    ranks = ItemsetRanks(baskets_of(rows, 60), size, known_items=True)
    ranks.lower(20)
    ours = ranks.listing(sum(ranks.classes()[1]))
    theirs = fim.eclat(rows, target="s", zmin=size, zmax=size, supp=-20)
    assert set(ours) == {(support, tuple(sorted(itemset))) for itemset, support in theirs}
