"""Top-k mechanisms by the words that users write, and the automatic choice among them."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from winnow.core.checks import Real, exact, one_of
from winnow.core.laws import Law
from winnow.errors import InputError
from winnow.select.crossing import Selection
from winnow.select.mechanism import LipschitzMechanism
from winnow.topk.mechanisms.approximate_oneshot import ApproximateOneshot
from winnow.topk.mechanisms.canonical import Canonical
from winnow.topk.mechanisms.gamma import GammaMechanism
from winnow.topk.mechanisms.joint import Joint
from winnow.topk.mechanisms.noisy_counts import NoisyCounts, WithCounts
from winnow.topk.mechanisms.peeling import PeelGumbel, PeelPermuteAndFlip
from winnow.topk.mechanisms.unknown_domain import LimitedDomain, StabilityThreshold

KNOWN_DOMAIN = (
    "joint",
    "canonical",
    "oneshot",
    "peel-permute-and-flip",
    "peel-gumbel",
    "gamma",
    "laplace",
    "oneshot-approximate",
)
UNKNOWN_DOMAIN = ("limited-domain", "stability")
WITH_DELTA = ("peel-gumbel", "oneshot-approximate", *UNKNOWN_DOMAIN)
ORDERED = ("joint", "peel-permute-and-flip", "peel-gumbel", "gamma", "laplace", *UNKNOWN_DOMAIN)


@dataclass(frozen=True)
class TopKOptions:
    """What a user may say about a top-k mechanism besides its name; None: not said."""

    noise: str | Law | None = None
    gamma: Real | None = None
    rounded: bool = False
    reach: int | None = None
    max_items_per_user: int | None = None
    with_counts: bool = False
    accountant: str = "best"


def top_k_named(
    mechanism: str, *, epsilon: Real, delta: Real, k: int, options: TopKOptions
) -> Selection:
    """The mechanism of this name on a public list of items; options it lacks are refused."""
    one_of(KNOWN_DOMAIN, mechanism=mechanism)
    _refuse_unused(mechanism, delta, options)
    total = exact("epsilon", epsilon)
    if mechanism == "laplace":
        if options.max_items_per_user is None:
            raise InputError(
                "laplace adds noise for all items of a person at once and needs "
                "max_items_per_user=; count with that bound, or use joint"
            )
        return NoisyCounts(total, k, options.max_items_per_user, options.with_counts)
    share = total / 2 if options.with_counts else total
    chosen = _selection(mechanism, share, delta, k, options)
    if options.with_counts:
        return WithCounts(chosen, total / 2, k, options.max_items_per_user)
    return chosen


def _selection(
    mechanism: str, epsilon: Fraction, delta: Real, k: int, options: TopKOptions
) -> Selection:
    match mechanism:
        case "joint":
            return Joint(epsilon, k)
        case "canonical":
            gamma = Fraction(1, 2) if options.gamma is None else options.gamma
            noise = Law.parse(options.noise or Law.EXPONENTIAL)
            return Canonical(epsilon, k, gamma, noise, options.rounded)
        case "oneshot":
            noise = Law.parse(options.noise or Law.EXPONENTIAL)
            return LipschitzMechanism(epsilon, noise, k)
        case "peel-permute-and-flip":
            return PeelPermuteAndFlip(epsilon, k)
        case "peel-gumbel":
            return PeelGumbel(epsilon, delta, k, options.accountant)
        case "gamma":
            return GammaMechanism(epsilon, k)
        case _:
            return ApproximateOneshot(epsilon, delta, k)


def unknown_domain_named(
    mechanism: str, *, epsilon: Real, delta: Real, k: int, options: TopKOptions
) -> LimitedDomain | StabilityThreshold:
    """The mechanism of this name where the labels themselves are private."""
    one_of(UNKNOWN_DOMAIN, mechanism=mechanism)
    _refuse_unused(mechanism, delta, options)
    bound = options.max_items_per_user
    if mechanism == "stability":
        return StabilityThreshold(epsilon, delta, k, bound, options.with_counts)
    return LimitedDomain(
        epsilon, delta, k, bound, options.with_counts, options.reach, options.accountant
    )


def _refuse_unused(mechanism: str, delta: Real, options: TopKOptions) -> None:
    if mechanism in WITH_DELTA:
        if exact("delta", delta) == 0:
            raise InputError(f"{mechanism} needs delta > 0, for example delta=1e-6")
    elif exact("delta", delta) != 0:
        raise InputError(
            f"delta={delta}: {mechanism} is pure epsilon-DP and has no use for it; leave out "
            "delta, or choose peel-gumbel"
        )
    if options.noise is not None and mechanism not in ("canonical", "oneshot"):
        raise InputError(f"{mechanism} has its own noise; noise= is for canonical and oneshot")
    if mechanism != "canonical" and (options.gamma is not None or options.rounded):
        raise InputError(f"gamma and rounded are for canonical; {mechanism} has neither")
    if options.reach is not None and mechanism != "limited-domain":
        raise InputError(f"reach is for limited-domain; {mechanism} has none")


def automatic(
    *, k: int, epsilon: Real, delta: Real, ordered: bool | None, max_items_per_user: int | None
) -> tuple[str, str]:
    """A mechanism chosen by public facts only, and the reason for the receipt.

    Noisy counts pay for the items of a person, the others for k: with few items per person
    they win. Otherwise one draw over whole lists (joint) or sets (canonical) is best while k
    is small; peeling with Gumbel noise grows like sqrt(k) and passes them where delta > 0
    [Joint, Section 4.3: around k = 30].
    """
    if max_items_per_user == 1 or (max_items_per_user and 5 * max_items_per_user <= k):
        return "laplace", f"at most {max_items_per_user} items per person, far fewer than k={k}"
    if exact("delta", delta) > 0 and k > 30:
        return "peel-gumbel", f"delta > 0 and k={k} is above 30: composition over k rounds wins"
    if ordered is False:
        return "canonical", "a set is enough: one draw over all subsets"
    return "joint", f"a list in order with k={k}: one draw over all sequences"


def automatic_unknown(max_items_per_user: int | None, with_counts: bool) -> tuple[str, str]:
    """The choice where labels are private."""
    if max_items_per_user is not None:
        return "stability", f"labels are private; at most {max_items_per_user} items per person"
    if with_counts:
        raise InputError(
            "noisy counts of private labels need a bound on the items of a person; count with "
            "max_items_per_user="
        )
    return "limited-domain", "labels are private and the items of a person are not bounded"
