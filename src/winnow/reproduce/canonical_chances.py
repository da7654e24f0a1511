"""The chances of the four mechanisms of Canonical, Section 7, on public counts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from winnow.domain.utility import Utility
from winnow.mechanisms import Canonical, ExponentialMechanism, PermuteAndFlip
from winnow.mechanisms.selection import Selection
from winnow.plan.topk_probabilities import chances_of_canonical, epsilon_for_top, top_chance
from winnow.plan.topk_subsets import good, great
from winnow.random.laws import Law
from winnow.reproduce.canonical_draws import SetDraws
from winnow.reproduce.experiment import Run
from winnow.reproduce.sources import Counts

UTILITY = Utility.declare(1, monotone=True)
NAMES = ("CANONICAL", "CANONICAL, γ = 1", "ONESHOT (exponential)", "PEELING (Gumbel)")
EVENTS = {"top": "TOP", "great": "GREAT", "good": "GOOD"}


def mechanism_of(name: str, epsilon: float, k: int) -> Any:
    """One of the four mechanisms of Section 7."""
    if name == NAMES[0]:
        return Canonical(epsilon, k, noise=Law.GUMBEL)
    if name == NAMES[1]:
        return Canonical(epsilon, k, 1, Law.GUMBEL)
    return (PermuteAndFlip if name == NAMES[2] else ExponentialMechanism)(epsilon, kappa=k)


def chances(
    counts: Counts,
    k: int,
    epsilons: Sequence[float],
    simulated: SetDraws | None,
    utility: Utility = UTILITY,
) -> dict[str, dict[str, list[float]]]:
    """By mechanism and event, the chance at each epsilon."""
    found: dict[str, dict[str, list[float]]] = {}
    for name in NAMES:
        rows: dict[str, list[float]] = {"top": []}
        for epsilon in epsilons:
            mechanism = mechanism_of(name, float(epsilon), k)
            if isinstance(mechanism, Canonical):
                exact = chances_of_canonical(mechanism, counts, utility)
                rows["top"].append(exact.top)
                rows.setdefault("great", []).append(exact.great)
                rows.setdefault("good", []).append(exact.good)
            else:
                rows["top"].append(float(top_chance(mechanism, counts, utility) or 0.0))
                if simulated is not None:
                    scale = float(mechanism.scale(utility))
                    law = mechanism.noise
                    drawn = simulated.chances(law, scale, (great(k), good(k)), k)
                    rows.setdefault("great", []).append(drawn[0])
                    rows.setdefault("good", []).append(drawn[1])
        found[name] = rows
    return found


def epsilons_of(run: Run, low: float = 1e-3, high: float = 100.0) -> list[float]:
    """Points of an epsilon axis."""
    return [float(e) for e in np.geomspace(low, high, run.pick(20, 61))]


def window(run: Run, makers: Sequence[Selection], counts: Counts, k: int) -> list[float]:
    """Epsilons from where the first mechanism begins to find the top k to where the last does."""
    ends = [
        epsilon_for_top(m, counts, k, p, utility=UTILITY) for p in (0.02, 0.999) for m in makers
    ]
    reached = [e for e in ends if e]
    return epsilons_of(run, min(reached) / 4, 1.5 * max(reached)) if reached else epsilons_of(run)
