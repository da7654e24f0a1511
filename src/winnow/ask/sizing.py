"""Everything of an interactive session that is fixed before the data are looked at.

Utility [PMW, Section IV-A, with the errata]. Let |noise| <= nu in every round, as a fraction of
the n rows. An update happens when the noisy answer is further than T from the hypothesis, so the
true answer is further than T - nu = g. Multiplicative weights then lower the relative entropy to
the data by at least 2 g^2 (Hoeffding's lemma, at step 4 g; ``session`` takes steps that are
at least as good). It starts at ln M at most, so with g = sqrt(ln M/(2 c)) fewer than c updates
happen: the session is not exhausted. Answers from the hypothesis err by at most T + nu = g + 2 nu,
fresh answers by at most nu. All k rounds have |noise| <= nu with probability 1 - beta when
nu n is the (beta/k)-quantile of the noise.

On a sub-universe V of the cells let some distribution on V answer every question within gamma of
the data [PMW, Lemmas IV.5 and V.2]: the threshold is T + gamma. V is a sample, of which the lemma
says it for questions that are fixed beforehand, or a public list, of which the user says it.

Most sessions need far fewer updates than that: a smaller threshold would serve them better. So
the threshold is low while it is affordable. Let Phi be the entropy at the start less what the
updates so far have gained for certain, 2 (|noisy - hypothesis| - nu)^2 each: public numbers.
While Phi <= 2 g^2 (left - 1), one more update that gains nothing leaves enough for the rest at
the proved threshold, and any smaller threshold may be used; otherwise the proved one is, whose
updates gain more than 2 g^2 each. So Phi <= 2 g^2 left at all times, and as the entropy is never
negative the session is not exhausted. With g^2 = ln M/(2 c (1 - lambda)) at least lambda c updates
are free in this way. The threshold of a round is a function of what was released before, which is
all that privacy asks of it.

With a fallback none of this is needed. A part of the charge is kept for k independent answers;
the threshold is the low one throughout, and what comes after the c-th update has noise of its own.
All errors are then at most the larger of low + nu and the bound of that noise, whatever the data
are and whatever is asked: each of the two kinds of noise has half of beta.

The cap c is chosen to make the bound small: more updates need a smaller g and more noise. With
c = k every question may have a fresh answer; the threshold is then 0 and all errors are at most nu.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

from winnow.ask import warm_start
from winnow.ask.independent_answers import IndependentAnswers, answer_bound
from winnow.ask.sizes import (
    Fallback,
    Rounds,
    Sized,
    Start,
    Threshold,
    WeighedCells,
    WeightsSizes,
)
from winnow.ask.sub_universe import domain_of, sampled, universe_of, with_phi
from winnow.ask.terms import Terms
from winnow.core.checks import exact
from winnow.errors import ParameterError
from winnow.privacy import (
    CappedRounds,
    Compose,
    Event,
    Gaussian,
    calibrate_capped,
    guarantee_of,
    zcdp_rho,
)
from winnow.privacy.capped import lost_mass
from winnow.privacy.limits import half_squared

MOST_UPDATES = 10**6
"""A limit of work."""
PROVED = "proved"
"""The word for one threshold throughout, under which no update need be given away."""
FREE = 0.5
"""The part of the updates that may gain nothing, for a low threshold."""
LOW = 1.2
"""The low threshold, as a multiple of the noise that no round exceeds."""
_MANY = 20
"""Updates, of which some can be given away."""


def sized_weights(terms: Terms) -> Sized[WeightsSizes]:
    """Fix everything, or say what is impossible; nothing is charged here."""
    if isinstance(terms.method.warm_start, str):
        return warm_start.better_start(terms, sized_weights)
    sized = _sized(terms)
    typical = warm_start.typical_error(sized.sizes, terms)
    return replace(sized, sizes=replace(sized.sizes, typical=typical))


def _sized(terms: Terms) -> Sized[WeightsSizes]:
    """The sizes at given shares of the charge."""
    if isinstance(terms.method.fallback, str):
        terms = terms.by(fallback=0)
    terms = sampled(with_phi(terms))
    universe = universe_of(terms)
    if terms.method.calibration == "paper":
        return _paper(terms, universe)
    try:
        return _calibrated(terms, universe)
    except ParameterError:  # shares of what rhos allow leave something for rhos to be sized by
        return _calibrated(replace(terms, accountant="zcdp"), universe)


def _calibrated(terms: Terms, universe: WeighedCells) -> Sized[WeightsSizes]:
    warm, spare = _shares(terms)
    prior = None if warm == 0 else Gaussian(_multiplier(terms, warm), terms.relation)
    fallback = None
    if spare > 0:
        fallback = IndependentAnswers(int(terms.max_queries), _multiplier(terms, spare))
    ways = warm_start.ways_of(None if terms.universe is not None else terms.shape)
    mix = 1.0 if prior is None else warm_start.mix_of(ways)
    entropy = math.log(max(universe.kept, 2)) - math.log(mix)
    updates = _updates(terms, entropy, float(1 - warm - spare))
    if prior is not None and ways == warm_start.PAIRS and warm_start.by_default(terms):
        updates = warm_start.capped_updates(updates, entropy, ends=fallback is None)
    initial = _first(prior, fallback, terms)
    capped = calibrate_capped(
        updates,
        epsilon=terms.epsilon,
        delta=terms.delta,
        relation=terms.relation,
        accountant=terms.accountant,
        initial=initial,
        lost=terms.lost,
    )
    noise = noise_bound(capped.epsilon, terms)
    sizes = WeightsSizes(
        rows=terms.rows,
        rows_per_person=int(terms.rows_per_person),
        max_queries=int(terms.max_queries),
        beta=float(terms.beta),
        accountant=terms.accountant,
        universe=universe,
        rounds=Rounds(updates=updates, epsilon=capped.epsilon, steps=capped.steps, noise=noise),
        threshold=_threshold(terms, updates, noise, entropy, ends=fallback is None),
        calibration=terms.method.calibration,
        start=None
        if prior is None
        else Start(multiplier=float(prior.noise_multiplier), ways=ways, mix=mix),
        fallback=None
        if fallback is None
        else Fallback(
            multiplier=float(fallback.noise_multiplier), noise=_fallback_bound(fallback, terms)
        ),
    )
    return Sized(sizes, capped.guarantee)


def _threshold(
    terms: Terms, updates: int, noise: float, entropy: float, *, ends: bool
) -> Threshold:
    """The threshold that is proved to last, or as asked; refused where nothing would be learned.

    `ends` says that nothing comes after the updates.
    """
    gamma, asked = domain_of(terms)[1], terms.method.threshold
    every = updates >= terms.max_queries  # then each question may have a fresh answer
    lowered = not every and ends and _lowered(updates, terms)
    gap = 0.0 if every else _gap(entropy, updates, terms)
    proved = 0.0 if every else gap + noise + gamma
    last = proved if every or ends else min(LOW * noise + gamma, proved)
    if asked is not None and asked != PROVED:
        last = float(asked)
    if min(max(proved, noise), max(last, noise)) >= 1:
        raise ParameterError(
            f"at epsilon={terms.epsilon}, delta={terms.delta} an answer could be off by all of "
            f"the {terms.rows:,} rows, so nothing would be learned; ask for a larger epsilon, "
            "fewer questions, or more rows"
        )
    return Threshold(
        last=last,
        gap=max(last - noise - gamma, 0.0),
        guaranteed=last >= proved or not ends,
        low=min(LOW * noise + gamma, proved) if lowered else None,
        entropy=entropy,
    )


def _lowered(updates: int, terms: Terms) -> bool:
    """Whether some updates are given away for a low threshold."""
    return terms.method.threshold is None and updates >= _MANY


def _gap(entropy: float, updates: int, terms: Terms) -> float:
    """g: by how much the hypothesis must be off at an update, for so many of them to suffice."""
    counted = updates * (1 - FREE) if _lowered(updates, terms) else updates
    return math.sqrt(entropy / (2 * counted))


def _needed(entropy: float, updates: int, terms: Terms) -> float:
    """What is needed where every update counts."""
    return math.sqrt(entropy / (2 * updates))


Gap = Callable[[float, int, Terms], float]


def noise_bound(epsilon: float, terms: Terms) -> float:
    """nu: discrete Laplace noise stays below it in all rounds but for its part of beta.

    Pr[|Z| >= m] = 2 p^m/(1 + p) for p = e^(-1/scale). In finer grid units the bound is
    smaller as a fraction of the rows.
    """
    scale = terms.rows_per_person / epsilon
    p = math.exp(-1 / scale)
    tail = math.log(terms.max_queries / _noise_beta(terms)) + math.log(2 / (1 + p))
    return math.ceil(scale * tail * (1 + 1e-12)) / terms.rows


def _noise_beta(terms: Terms) -> float:
    """A sampled universe takes half of the failure probability."""
    whole = terms.universe is None or terms.listed is not None
    parts = (1 if whole else 2) * (1 if exact("fallback", terms.method.fallback) == 0 else 2)
    return float(terms.beta) / parts


def _shares(terms: Terms) -> tuple[Fraction, Fraction]:
    """The parts of the charge for tables beforehand, and for independent answers at the end."""
    shares = exact("warm_start", terms.method.warm_start), exact("fallback", terms.method.fallback)
    if sum(shares) >= 1:
        raise ParameterError("warm_start and fallback leave nothing for the rounds; lower them")
    if shares[1] > 0 and (terms.method.alpha is not None or terms.method.threshold == PROVED):
        raise ParameterError(
            "alpha and threshold='proved' are for updates that last, a fallback is for when they "
            "run out; leave out one of them"
        )
    return shares


def _multiplier(terms: Terms, share: Fraction) -> float:
    """Of Gaussian noise that this share of the charge pays for."""
    target = exact("epsilon", terms.epsilon), exact("delta", terms.delta)
    rho = zcdp_rho(*target) if terms.accountant == "zcdp" else half_squared(*target)
    return float(f"{1 / math.sqrt(2 * float(rho) * float(share)) * 1.0001:.5g}")


def _first(
    prior: Gaussian | None, fallback: IndependentAnswers | None, terms: Terms
) -> Event | None:
    """What is charged beside the rounds, as the mechanism states it."""
    events: list[Event] = [] if prior is None else [prior]
    if fallback is not None:
        events.append(fallback.promise(terms.relation).event)
    if len(events) > 1:
        return Compose(tuple(events))
    return events[0] if events else None


def _fallback_bound(fallback: IndependentAnswers, terms: Terms) -> float:
    """No noise of these answers is larger, as a fraction of the rows, but for half of beta."""
    bound = answer_bound(
        float(fallback.noise_multiplier), int(terms.rows_per_person), fallback.queries,
        _noise_beta(terms),
    )  # fmt: skip
    return bound / terms.rows


def _updates(terms: Terms, entropy: float, share: float) -> int:
    """The cap: as given, for a given alpha, or where the bound is about smallest."""
    if terms.method.updates is not None:
        if terms.method.alpha is not None:
            raise ParameterError("give updates= or alpha=, not both")
        return int(terms.method.updates)
    gamma = domain_of(terms)[1]
    rho = float(zcdp_rho(terms.epsilon, terms.delta)) * share
    spread = math.sqrt(2 * math.log(3 / float(terms.delta)))

    def bound(updates: int, *, gap: Gap = _gap) -> float:
        # Steps as the binomial tail needs them, a round's epsilon as rho allows: near enough.
        steps = 2 * updates + 2 * spread * math.sqrt(updates) + spread**2
        size = math.sqrt(2 * rho / steps)
        noise = noise_bound(size, terms)
        if updates >= terms.max_queries and terms.method.threshold in (None, PROVED):
            return noise
        return gap(entropy, updates, terms) + 2 * noise + gamma

    most = min(MOST_UPDATES, int(terms.max_queries))
    choices = sorted({*(round(1.02**i) for i in range(700) if 1.02**i <= most), most})
    # As if no update were given away: most sessions need few of them, and less noise.
    best = min(choices, key=lambda updates: bound(updates, gap=_needed))
    if terms.method.alpha is None:
        return best
    for updates in choices:
        if bound(updates) <= float(terms.method.alpha):
            return updates
    raise ParameterError(
        f"alpha={terms.method.alpha} is below what this budget allows, about "
        f"{bound(best):.3g}; raise it, or ask fewer questions"
    )


def _paper(terms: Terms, universe: WeighedCells) -> Sized[WeightsSizes]:
    """The printed constants of Figure 1, with what they are really worth by our accounting."""
    given = (terms.method.updates, terms.method.threshold, terms.method.alpha)
    shares = exact("warm_start", terms.method.warm_start), exact("fallback", terms.method.fallback)
    if any(value is not None for value in given) or any(shares):
        raise ParameterError(
            "calibration='paper' has the printed constants; leave out updates, threshold, alpha, "
            "warm_start and fallback"
        )
    epsilon, delta, n = float(terms.epsilon), float(terms.delta), terms.rows
    log_m = math.log(max(universe.kept, 2))
    sigma = 10 * math.log(1 / delta) * log_m**0.25 / (math.sqrt(n) * epsilon)
    tail = math.log(terms.max_queries) + math.log(1 / float(terms.beta))
    # a question makes at most one update, so that a short session is charged for few
    updates = max(1, min(math.floor(n * math.sqrt(log_m)), int(terms.max_queries)))
    if updates > MOST_UPDATES:
        raise ParameterError(
            f"the printed constants allow {updates:,} updates, too many to account for; ask at "
            f"most {MOST_UPDATES:,} questions, or use calibration='target-charging'"
        )
    size = float(f"{terms.rows_per_person / (n * sigma) / 1.0001:.5g}")
    steps = _steps_for(updates, size, delta / 2)
    rounds = CappedRounds(updates, size, steps, terms.relation)
    stated = guarantee_of(rounds, terms.delta, "zcdp")
    if stated.epsilon > epsilon:
        raise ParameterError(
            "the printed constants are not proved private at this epsilon and delta; use "
            "calibration='target-charging'"
        )
    sizes = WeightsSizes(
        rows=n,
        rows_per_person=int(terms.rows_per_person),
        max_queries=int(terms.max_queries),
        beta=float(terms.beta),
        accountant="zcdp",
        universe=universe,
        rounds=Rounds(updates=updates, epsilon=size, steps=steps, noise=noise_bound(size, terms)),
        threshold=Threshold(
            last=4 * sigma * tail + universe.gamma, gap=2 * sigma * tail, guaranteed=True
        ),
        calibration="paper",
        fixed_step=log_m**0.25 / math.sqrt(n),
    )
    return Sized(sizes, stated)


def _steps_for(updates: int, size: float, lost: float) -> int:
    """Steps that lose no more mass than this."""
    spread = math.sqrt(2 * math.log(1 / lost))
    steps = math.ceil(2 * updates * (1 + size) + 2 * spread * math.sqrt(updates) + spread**2)
    while lost_mass(updates, exact("epsilon", size), steps) > Fraction(lost):
        steps = math.ceil(1.02 * steps)
    return steps
