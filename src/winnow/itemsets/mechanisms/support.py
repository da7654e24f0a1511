"""The noisy support at a rank: what it is charged, its noise, and what is composed with it."""

from __future__ import annotations

from fractions import Fraction

from winnow.core.checks import Real, exact
from winnow.core.noise import discrete_laplace_array
from winnow.core.noisy_top.draw import SMALLEST_SCALE
from winnow.core.noisy_top.universe import Universe
from winnow.core.relation import Relation
from winnow.core.tape import Tape
from winnow.core.utility import Utility
from winnow.errors import ParameterError
from winnow.privacy import Compose, Guarantee, Promise, promise
from winnow.privacy.rounding import stated_at_least
from winnow.select.methods import LOOK_SHARE


def support_promise(epsilon: Real, relation: Relation) -> Promise:
    """What the noisy support at a rank is charged."""
    multiplier = 1 / (LOOK_SHARE * exact("epsilon", epsilon))
    return promise("discrete-laplace", "additive", relation, noise_multiplier=multiplier)


def support_scale(epsilon: Real, utility: Utility) -> Fraction:
    """The scale of the noise in the support at a rank."""
    return utility.one_sided / (LOOK_SHARE * exact("epsilon", epsilon))


def noisy_support(universe: Universe, k: int, epsilon: Real, utility: Utility, tape: Tape) -> int:
    """The k-th largest support with discrete Laplace noise.

    Where fewer than k itemsets have any it is 0: the universe holds all that nobody has, too. One
    person moves every support within an interval, under either relation, so the k-th largest
    moves within the same: its sensitivity is `one_sided`. [Canonne-Kamath-Steinke 2020]
    """
    noise = discrete_laplace_array(tape, 1, support_scale(epsilon, utility))
    return int(universe.scores_at([k - 1])[0]) + int(noise[0])


def check_support(epsilon: Real, utility: Utility) -> None:
    """Refuse a noisy support that does not fit 64 bits."""
    if not SMALLEST_SCALE < support_scale(epsilon, utility) < 2**50:
        raise ParameterError("epsilon is too small or too large for noisy counts of 64 bits")


def composed(*parts: Promise) -> Promise:
    """Several promises, one after the other."""
    return Promise(
        Compose(tuple(part.event for part in parts)),
        "; ".join(dict.fromkeys(part.citation for part in parts)),
        " ".join(dict.fromkeys(part.statement for part in parts)),
    )


def added_up(epsilon: Real, *rest: Guarantee) -> Guarantee:
    """The share of the support, and the dearest of what may follow."""
    dearest = max(exact("epsilon", each.epsilon) for each in rest)
    total = LOOK_SHARE * exact("epsilon", epsilon) + dearest
    delta = max(each.delta for each in rest)
    return Guarantee(stated_at_least(total), delta, rest[0].relation)
