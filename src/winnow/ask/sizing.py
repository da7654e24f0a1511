"""Everything of an interactive session that is fixed before the data are looked at.

Utility [PMW, Section IV-A, with the errata]. Let |noise| <= nu in every round, as a fraction of
the n rows. An update happens when the noisy answer is further than T from the hypothesis, so the
true answer is further than T - nu = g. Multiplicative weights then lower the relative entropy to
the data by at least 2 g^2 (Hoeffding's lemma, at step 4 g; ``interactive`` takes steps that are
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
from winnow.ask.constants import InteractivePlan, InteractiveRequest
from winnow.ask.independent_answers import IndependentAnswers, answer_bound
from winnow.ask.sub_universe import domain_of, sampled, with_phi
from winnow.core.checks import count, exact, one_of, positive, probability, public_rows
from winnow.errors import DataError, ParameterError
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

CALIBRATIONS = ("target-charging", "paper")
MOST_UPDATES = 10**6
PROVED = "proved"
"""The word for one threshold throughout, under which no update need be given away."""
FREE = 0.5
"""The part of the updates that may gain nothing, for a low threshold."""
LOW = 1.2
"""The low threshold, as a multiple of the noise that no round exceeds."""
_MANY = 20
"""Updates, of which some can be given away."""


def plan_interactive(request: InteractiveRequest) -> InteractivePlan:
    """Fix everything, or say what is impossible; nothing is charged here."""
    positive(epsilon=request.epsilon)
    probability(delta=request.delta, beta=request.beta)
    count(max_queries=request.max_queries, rows_per_person=request.rows_per_person)
    one_of(CALIBRATIONS, calibration=request.calibration)
    if isinstance(request.warm_start, str):
        return warm_start.better_start(request, plan_interactive)
    plan = _planned(request)
    return replace(plan, typical=warm_start.typical_error(plan, request))


def _planned(request: InteractiveRequest) -> InteractivePlan:
    """The plan at given shares of the charge."""
    if isinstance(request.fallback, str):
        one_of((warm_start.AUTO,), fallback=request.fallback)
        request = replace(request, fallback=0)
    rows = rows_of(request)
    request = sampled(with_phi(request, rows))
    domain, gamma = domain_of(request)
    if request.calibration == "paper":
        return _paper(request, rows, domain, gamma)
    warm, spare = _shares(request)
    prior = None if warm == 0 else Gaussian(_multiplier(request, warm), request.relation)
    fallback = None
    if spare > 0:
        fallback = IndependentAnswers(int(request.max_queries), _multiplier(request, spare))
    ways = warm_start.ways_of(None if request.universe is not None else request.shape)
    mix = 1.0 if prior is None else warm_start.mix_of(ways)
    entropy = math.log(max(domain, 2)) - math.log(mix)
    updates = _updates(request, rows, entropy, float(1 - warm - spare))
    if prior is not None and ways == warm_start.PAIRS and warm_start.by_default(request):
        updates = warm_start.capped_updates(updates, entropy, ends=fallback is None)
    initial = _first(prior, fallback, request)
    accountant = request.accountant if initial is None else "zcdp"
    capped = calibrate_capped(
        updates,
        epsilon=request.epsilon,
        delta=request.delta,
        relation=request.relation,
        accountant=accountant,
        initial=initial,
        lost=request.lost,
    )
    noise = noise_bound(
        capped.epsilon, rows, request.rows_per_person, request.max_queries, _noise_beta(request)
    )
    every = updates >= request.max_queries  # then each question may have a fresh answer
    lowered = not every and fallback is None and _lowered(updates, request)
    gap = 0.0 if every else _gap(entropy, updates, request)
    proved = 0.0 if every else gap + noise + gamma
    threshold = proved if every or fallback is None else min(LOW * noise + gamma, proved)
    if request.threshold is not None and request.threshold != PROVED:
        positive(threshold=request.threshold)
        threshold = float(request.threshold)
    low = min(LOW * noise + gamma, proved) if lowered else None
    if min(max(proved, noise), max(threshold, noise)) >= 1:
        raise ParameterError(
            f"at epsilon={request.epsilon}, delta={request.delta} an answer could be off by all of "
            f"the {rows:,} rows, so nothing would be learned; ask for a larger epsilon, fewer "
            "questions, or more rows"
        )
    return InteractivePlan(
        request.cells,
        domain,
        rows,
        int(request.rows_per_person),
        int(request.max_queries),
        float(request.beta),
        updates,
        capped.epsilon,
        capped.steps,
        threshold,
        noise,
        max(threshold - noise - gamma, 0.0),
        "measured",
        4 * gap,
        request.calibration,
        gamma,
        None if request.universe is None else domain,
        int(request.universe_seed),
        None if prior is None else float(prior.noise_multiplier),
        threshold >= proved or fallback is not None,
        capped.event,
        capped.guarantee,
        accountant,
        entropy,
        low,
        ways if prior is not None else 1,
        mix,
        request.listed,
        None if fallback is None else float(fallback.noise_multiplier),
        0.0 if fallback is None else _fallback_bound(fallback, request, rows),
    )


def _lowered(updates: int, request: InteractiveRequest) -> bool:
    """Whether some updates are given away for a low threshold."""
    return request.threshold is None and updates >= _MANY


def _gap(entropy: float, updates: int, request: InteractiveRequest) -> float:
    """g: by how much the hypothesis must be off at an update, for so many of them to suffice."""
    counted = updates * (1 - FREE) if _lowered(updates, request) else updates
    return math.sqrt(entropy / (2 * counted))


def _needed(entropy: float, updates: int, request: InteractiveRequest) -> float:
    """The same where every update counts."""
    return math.sqrt(entropy / (2 * updates))


Gap = Callable[[float, int, InteractiveRequest], float]


def noise_bound(epsilon: float, rows: int, rows_per_person: int, rounds: int, beta: float) -> float:
    """nu: discrete Laplace noise stays below it in all rounds but for probability beta.

    Pr[|Z| >= m] = 2 p^m/(1 + p) for p = e^(-1/scale). In finer grid units the bound is
    smaller as a fraction of the rows.
    """
    scale = rows_per_person / epsilon
    p = math.exp(-1 / scale)
    tail = math.log(rounds / beta) + math.log(2 / (1 + p))
    return math.ceil(scale * tail * (1 + 1e-12)) / rows


def rows_of(request: InteractiveRequest) -> int:
    """The public number of rows: as given, or the table's own where that is public."""
    rows = public_rows(request.rows, request.public_rows)
    if rows is None:
        raise ParameterError(
            "the number of rows is private here and answers are fractions of it; give a public "
            "number with rows="
        )
    if rows < 1:
        raise DataError("the table has no rows; there is nothing to ask")
    return rows


def _noise_beta(request: InteractiveRequest) -> float:
    """A sampled universe takes half of the failure probability."""
    whole = request.universe is None or request.listed is not None
    parts = (1 if whole else 2) * (1 if exact("fallback", request.fallback) == 0 else 2)
    return float(request.beta) / parts


def _shares(request: InteractiveRequest) -> tuple[Fraction, Fraction]:
    """The parts of the charge for tables beforehand, and for independent answers at the end."""
    shares = exact("warm_start", request.warm_start), exact("fallback", request.fallback)
    names = ("warm_start", "fallback")
    for name, share in zip(names, shares, strict=True):
        if not 0 <= share < 1:
            raise ParameterError(
                f"{name}={getattr(request, name)} is not a share in [0, 1); give 0.1 for a tenth, "
                "'auto', or 0 for none"
            )
    if sum(shares) >= 1:
        raise ParameterError("warm_start and fallback leave nothing for the rounds; lower them")
    if shares[1] > 0 and (request.alpha is not None or request.threshold == PROVED):
        raise ParameterError(
            "alpha and threshold='proved' are for updates that last, a fallback is for when they "
            "run out; leave out one of them"
        )
    return shares


def _multiplier(request: InteractiveRequest, share: Fraction) -> float:
    """Of Gaussian noise that this share of the charge pays for."""
    rho = float(zcdp_rho(request.epsilon, request.delta)) * float(share)
    return float(f"{1 / math.sqrt(2 * rho) * 1.0001:.5g}")


def _first(
    prior: Gaussian | None, fallback: IndependentAnswers | None, request: InteractiveRequest
) -> Event | None:
    """What is charged beside the rounds, as the mechanism states it."""
    events: list[Event] = [] if prior is None else [prior]
    if fallback is not None:
        events.append(fallback.promise(request.relation).event)
    if len(events) > 1:
        return Compose(tuple(events))
    return events[0] if events else None


def _fallback_bound(fallback: IndependentAnswers, request: InteractiveRequest, rows: int) -> float:
    """No noise of these answers is larger, as a fraction of the rows, but for half of beta."""
    found = answer_bound(
        float(fallback.noise_multiplier), int(request.rows_per_person), fallback.queries,
        _noise_beta(request),
    )  # fmt: skip
    return found / rows


def _updates(request: InteractiveRequest, rows: int, entropy: float, share: float) -> int:
    """The cap: as given, for a given alpha, or where the bound is about smallest."""
    if request.updates is not None:
        count(updates=request.updates)
        if request.alpha is not None:
            raise ParameterError("give updates= or alpha=, not both")
        return int(request.updates)
    gamma = domain_of(request)[1]
    rho = float(zcdp_rho(request.epsilon, request.delta)) * share
    spread = math.sqrt(2 * math.log(3 / float(request.delta)))

    def bound(updates: int, *, gap: Gap = _gap) -> float:
        # Steps as the binomial tail needs them, a round's epsilon as rho allows: near enough.
        steps = 2 * updates + 2 * spread * math.sqrt(updates) + spread**2
        size = math.sqrt(2 * rho / steps)
        noise = noise_bound(
            size, rows, request.rows_per_person, request.max_queries, _noise_beta(request)
        )
        if updates >= request.max_queries and request.threshold in (None, PROVED):
            return noise
        return gap(entropy, updates, request) + 2 * noise + gamma

    most = min(MOST_UPDATES, int(request.max_queries))
    choices = sorted({*(round(1.02**i) for i in range(700) if 1.02**i <= most), most})
    # As if no update were given away: most sessions need few of them, and less noise.
    best = min(choices, key=lambda updates: bound(updates, gap=_needed))
    if request.alpha is None:
        return best
    probability(alpha=request.alpha)
    for updates in choices:
        if bound(updates) <= float(request.alpha):
            return updates
    raise ParameterError(
        f"alpha={request.alpha} is below what this budget allows, about "
        f"{bound(best):.3g}; raise it, or ask fewer questions"
    )


def _paper(request: InteractiveRequest, rows: int, domain: int, gamma: float) -> InteractivePlan:
    """The printed constants of Figure 1, with what they are really worth by our accounting."""
    given = (request.updates, request.threshold, request.alpha)
    shares = exact("warm_start", request.warm_start), exact("fallback", request.fallback)
    if any(value is not None for value in given) or any(shares):
        raise ParameterError(
            "calibration='paper' has the printed constants; leave out updates, threshold, alpha, "
            "warm_start and fallback"
        )
    epsilon, delta, n = float(request.epsilon), float(request.delta), rows
    log_m = math.log(max(domain, 2))
    sigma = 10 * math.log(1 / delta) * log_m**0.25 / (math.sqrt(n) * epsilon)
    tail = math.log(request.max_queries) + math.log(1 / float(request.beta))
    # a question makes at most one update, so that a short session is charged for few
    updates = max(1, min(math.floor(n * math.sqrt(log_m)), int(request.max_queries)))
    if updates > MOST_UPDATES:
        raise ParameterError(
            f"the printed constants allow {updates:,} updates, too many to account for; ask at "
            f"most {MOST_UPDATES:,} questions, or use calibration='target-charging'"
        )
    size = float(f"{request.rows_per_person / (n * sigma) / 1.0001:.5g}")
    steps = _steps_for(updates, size, delta / 2)
    rounds = CappedRounds(updates, size, steps, request.relation)
    stated = guarantee_of(rounds, request.delta, "zcdp")
    if stated.epsilon > epsilon:
        raise ParameterError(
            "the printed constants are not proved private at this epsilon and delta; use "
            "calibration='target-charging'"
        )
    return InteractivePlan(
        request.cells,
        domain,
        rows,
        int(request.rows_per_person),
        int(request.max_queries),
        float(request.beta),
        updates,
        size,
        steps,
        4 * sigma * tail + gamma,
        noise_bound(size, n, request.rows_per_person, request.max_queries, _noise_beta(request)),
        2 * sigma * tail,
        "fixed",
        log_m**0.25 / math.sqrt(n),
        "paper",
        gamma,
        None if request.universe is None else domain,
        int(request.universe_seed),
        None,
        True,
        rounds,
        stated,
        "zcdp",
        listed=request.listed,
    )


def _steps_for(updates: int, size: float, lost: float) -> int:
    """Steps that lose no more mass than this."""
    spread = math.sqrt(2 * math.log(1 / lost))
    steps = math.ceil(2 * updates * (1 + size) + 2 * spread * math.sqrt(updates) + spread**2)
    while lost_mass(updates, exact("epsilon", size), steps) > Fraction(lost):
        steps = math.ceil(1.02 * steps)
    return steps
