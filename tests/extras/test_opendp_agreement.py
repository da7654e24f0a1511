"""OpenDP's noisy max draws from the same law: an independent implementation agrees.

Fixed seeds on our side, OpenDP's own randomness on the other: the test rejects at
p < 1e-6, so it fails a correct pair once in a million runs.
"""

import numpy as np
import pytest
from scipy import stats

import winnow as wn
from reference.mechanisms import ExponentialMechanism, LipschitzMechanism, PermuteAndFlip

pytestmark = pytest.mark.extras

DRAWS = 20_000
SCORES = np.array([3, 2, 2, 0])


@pytest.mark.parametrize("mechanism", [ExponentialMechanism(1.0), PermuteAndFlip(1.0)])
def test_opendp_noisy_max_has_the_same_distribution(mechanism: LipschitzMechanism) -> None:
    dp = pytest.importorskip("opendp.prelude")
    dp.enable_features("contrib")
    measure = (
        dp.zero_concentrated_divergence()
        if isinstance(mechanism, ExponentialMechanism)
        else dp.max_divergence()
    )
    space = dp.vector_domain(dp.atom_domain(T="i64")), dp.linf_distance(T="i64")
    theirs_draw = space >> dp.m.then_noisy_max(measure, scale=2.0)
    theirs = np.bincount([theirs_draw(SCORES) for _ in range(DRAWS)], minlength=4)
    utility = wn.Utility.declare(1.0)
    ours = np.bincount(mechanism.simulate(SCORES, utility, DRAWS, seed=1)[:, 0], minlength=4)
    assert stats.chi2_contingency([ours, theirs]).pvalue > 1e-6
