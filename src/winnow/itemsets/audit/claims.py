"""Audits of itemset selection on baskets: enumeration, sampling, fidelity, broken twins."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np

from winnow.audit.broken import with_epsilon
from winnow.audit.cases import Case
from winnow.audit.driver import enumeration, listing
from winnow.audit.enumeration import Pair
from winnow.audit.fidelity import chi_square_p_value, fidelity_of, fidelity_result
from winnow.audit.neighbours import Declared, counts
from winnow.audit.probabilities import Model, hockey_stick, model_of
from winnow.audit.result import AuditResult, as_twin
from winnow.audit.sampling import Sampled, _expected, sample_case
from winnow.core.laws import Law
from winnow.core.noisy_top.universe import ExplicitRanks
from winnow.core.relation import Relation
from winnow.core.tape import Tape
from winnow.itemsets.about import items_moved
from winnow.itemsets.audit.model import OnBaskets, broken_on_baskets, neighbours
from winnow.select.mechanisms.canonical import Canonical
from winnow.select.mechanisms.canonical_adaptive import CanonicalAdaptive
from winnow.select.mechanisms.conditional import Choosing, DistanceToInstability
from winnow.select.mechanisms.joint import Joint
from winnow.select.mechanisms.large_margin import LargeMargin
from winnow.select.mechanisms.lipschitz import LipschitzMechanism
from winnow.select.mechanisms.margin_search import laplace_tests
from winnow.select.mechanisms.repeated import Repeated
from winnow.select.mechanisms.unknown_domain import LimitedDomain

ONE = counts(Relation.ADD_REMOVE)
TWO = Declared("people with up to two baskets", Relation.ADD_REMOVE, 2, monotone=True)
REPLACED = counts(Relation.SUBSTITUTION)
_ENOUGH = 1_000
"""For so many draws the pair is chosen: for few, no pair would tell anything."""


def cases(*, quick: bool = False) -> list[Case]:
    """The mechanisms on public items, and those that need no list of items."""
    found = []
    for declared, rows in ((ONE, 1),) if quick else ((ONE, 1), (TWO, 2), (REPLACED, 1)):
        loose = OnBaskets(LargeMargin(0.2, 0.9))  # where a tiny instance feels its delta
        found += [Case(loose, declared)]
        found += [Case(mechanism, declared) for mechanism in selections(1.0, rows)]
    return found


def selections(epsilon: float, rows: int) -> list[OnBaskets]:
    """One of each kind; epsilon is that of the pure ones, a person has so many baskets."""
    moved = items_moved(3, 2, rows)
    return [
        OnBaskets(LargeMargin(6.0, 0.1)),
        OnBaskets(LargeMargin(6.0, 0.1, last_rank=6), known=False),
        OnBaskets(Choosing(4.0, 0.1, moved or 1), known=False),
        OnBaskets(LipschitzMechanism(epsilon, Law.EXPONENTIAL)),
        OnBaskets(LipschitzMechanism(epsilon, Law.GUMBEL)),
        OnBaskets(LipschitzMechanism(epsilon, Law.LAPLACE)),
        OnBaskets(Joint(epsilon, 2)),
        OnBaskets(Canonical(epsilon, 2)),
        OnBaskets(CanonicalAdaptive(12 * epsilon, 2)),  # a long way for so few baskets
        OnBaskets(Repeated(LipschitzMechanism(epsilon / 2, Law.EXPONENTIAL), 2)),
        OnBaskets(DistanceToInstability(2.0, 0.1), known=False),
        OnBaskets(LimitedDomain(2.0, 0.2, 1, moved, reach=2), known=False),
    ]


def baskets_enumerated(*, quick: bool = False) -> Iterator[AuditResult]:
    """The audit of every itemset mechanism on all small sets of baskets."""
    yield search_scales()
    for case in cases(quick=quick):
        yield enumerate_baskets(case, quick=quick)


def enumerate_baskets(case: Case, *, quick: bool = False) -> AuditResult:
    """The worst loss over all neighbouring sets of baskets."""
    epsilon, delta = case.claimed
    one, other = neighbours(case.declared, 4 if quick or case.declared is not ONE else 9)
    log_p, log_q = (case.model.log_probabilities(side) for side in (one, other))
    with np.errstate(invalid="ignore", over="ignore"):
        if delta:
            p, q = np.exp(log_p), np.exp(log_q)
            loss = np.maximum(hockey_stick(p, q, epsilon), hockey_stick(q, p, epsilon))
        else:
            loss = np.abs(np.where(log_p == log_q, 0.0, log_p - log_q)).max(axis=1)
    place = int(loss.argmax())
    found, worst = (
        float(loss[place]),
        Pair(tuple(one[place].tolist()), tuple(other[place].tolist())),
    )
    claimed = delta or epsilon
    what = (
        f"the outputs are (epsilon, delta)-close at epsilon={epsilon:g}"
        if delta
        else "no output's log-probability moves by more than epsilon"
    )
    return enumeration(
        f"{case.mechanism.name}, {case.declared.name}: between neighbouring baskets {what}.",
        case.mechanism,
        case.declared.relation,
        claimed,
        found,
        f"over {len(loss)} pairs of neighbours; largest between the numbers of baskets {worst} of "
        "the kinds ab, ac, bc, abc",
    )


def search_scales() -> AuditResult:
    """The noises themselves: tests of outputs are weak against scales that are a little off."""
    epsilon = Fraction(3, 4)
    tests, mechanism = laplace_tests(epsilon, Tape.seeded(0)), LargeMargin(epsilon, 0.1)
    measured = (*tests.common, tests.scale, mechanism._choice_scale(REPLACED.utility))
    printed = (3 / epsilon, 6 / epsilon, 12 / epsilon, epsilon / 6)
    return listing(
        "large-margin: the noises of the search have the scales 3, 6 and 12 over epsilon, and "
        "the choice has the exponent epsilon/6, as exact fractions, in units of the sensitivity.",
        mechanism.name,
        "LMM, Alg 1",
        len(printed),
        [str(a) for a, b in zip(printed, measured, strict=True) if a != b],
    )


@lru_cache(maxsize=4)
def plans(*, quick: bool, seed: int) -> tuple[Sampled, ...]:
    """What is drawn: fast samplers often enough to bound epsilon, the others for fidelity."""
    many, few = (200, 40) if quick else (500, 120)
    planned = []
    for i, mechanism in enumerate(selections(4.0, 1)[: 4 if quick else None]):
        inner = mechanism.inner
        fast = isinstance(inner, LipschitzMechanism) and inner.noise is not Law.LAPLACE
        planned.append(plan(Case(mechanism, ONE), many if fast else few, seed + 2 * i))
    return tuple(planned)


def plan(case: Case, draws: int, seed: int) -> Sampled:
    """A case with the pair of neighbours on which so many draws should show most."""
    one, other = neighbours(case.declared, 4)
    p, q = (np.exp(case.model.log_probabilities(side)) for side in (one, other))
    expected, delta = max(draws // 2, _ENOUGH), case.claimed[1]
    shown = np.maximum(_expected(p, q, expected, delta), _expected(q, p, expected, delta))
    place = int(shown.argmax())
    pair = Pair(tuple(one[place].tolist()), tuple(other[place].tolist()))
    return Sampled(case, pair, draws, seed)


def baskets_sampled(*, quick: bool = False, seed: int) -> Iterator[AuditResult]:
    """Draws from mined baskets prove no more than is claimed, where there are many."""
    for planned in plans(quick=quick, seed=seed):
        if planned.draws >= 200:
            yield sample_case(planned)


def baskets_faithful(*, quick: bool = False, seed: int) -> Iterator[AuditResult]:
    """Draws from mined baskets follow the exact probabilities; so does the stopping rank."""
    for planned in plans(quick=quick, seed=seed):
        model = model_of(planned.case.mechanism, planned.case.declared.utility)
        yield fidelity_of(planned, model)
    yield stopping_rank_in_the_zero_block(60 if quick else 300, seed)


def stopping_rank_in_the_zero_block(draws: int, seed: int, size: int = 40) -> AuditResult:
    """Drawn by its hazard, against the probabilities of one test after another."""
    mechanism, utility = LargeMargin(4.0, 0.9, one_by_one=0), ONE.utility
    model: Any = model_of(LargeMargin(4.0, 0.9), utility)
    scores, root = np.array([7] + [0] * size), Tape.seeded(seed)
    margins = (scores[0] - scores[1:]) / float(utility.half_width)
    expected = model.stopping_probabilities(margins[None, :])[0]
    search = mechanism.search(utility)
    ranks = [
        search.stopping_rank(ExplicitRanks(scores), root.child(f"{r}")) or 0 for r in range(draws)
    ]
    observed = np.append(np.bincount(ranks, minlength=size + 2)[1:], 0)
    p_value = chi_square_p_value(observed, expected)
    return fidelity_result(
        f"large-margin: the stopping rank among {size} candidates of count 0, drawn by its hazard, "
        "is that of one test after another.",
        mechanism.name,
        "LMM, Alg 1",
        p_value,
        f"{draws} draws",
        relation=str(ONE.relation),
    )


def baskets_twins(*, quick: bool = False, seed: int) -> Iterator[AuditResult]:
    """Every broken twin under every audit that has to catch it, and wrong scales."""
    for place, twin in enumerate(broken_on_baskets()):
        case = Case(twin.broken, twin.declared)
        yield as_twin(twin.fault, "Enumeration", enumerate_baskets(case, quick=True))
        if not twin.draws:
            continue
        planned = plan(case, twin.draws, seed + 5000 + 2 * place)
        yield as_twin(twin.fault, "Sampling", sample_case(planned))
        honest: Model = model_of(twin.honest, twin.declared.utility)
        yield as_twin(twin.fault, "Fidelity", fidelity_of(planned, honest))
    for planned in plans(quick=quick, seed=seed):
        # Where an epsilon is so large that a larger one changes nothing, a smaller one does.
        large = CanonicalAdaptive.title in planned.case.mechanism.name
        factor = Fraction(1, 16) if large else Fraction(16)
        other = with_epsilon(planned.case.mechanism, factor)
        result = fidelity_of(planned, model_of(other, planned.case.declared.utility))
        yield as_twin("the scale is off by a factor 16", "Fidelity", result)
