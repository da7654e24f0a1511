"""Order and leads of noisy scores: their law, exactly rounded, for the same epsilon."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from scipy.stats import chi2

import winnow as wn
from reference.audited import Case, counts, enumerate_case
from reference.inside import Law, Tape
from winnow.core.noisy_top.draw import contenders
from winnow.select.audit.leads import WithLeads, broken_leads
from winnow.select.mechanisms.lipschitz import LipschitzMechanism, NoisyTopWithLeads

PEOPLE = counts(wn.Relation.ADD_REMOVE)
SCORES = {"a": 41, "b": 39, "c": 20, "d": 2}


@pytest.mark.slow
@pytest.mark.parametrize(
    "mechanism",
    [NoisyTopWithLeads(1.0, "laplace"), NoisyTopWithLeads(2.0, "exponential", 2)],
    ids=str,
)
def test_winners_and_leads_have_their_exact_law(mechanism) -> None:
    """Chi-square over 400 draws; false alarms once in 10^6."""
    audited, draws, scores = WithLeads(mechanism), 400, np.array([3, 2, 0])
    model = audited.model(PEOPLE.utility)
    law = np.exp(model.log_probabilities(scores[None, :]))[0]
    assert law.sum() == pytest.approx(1, abs=1e-9)
    rows = Counter(map(tuple, audited.simulate(scores, PEOPLE.utility, draws, 3).tolist()))
    expected = {tuple(o): draws * p for o, p in zip(model.outcomes(3).tolist(), law, strict=True)}
    statistic = sum((rows[o] - mean) ** 2 / max(mean, 0.5) for o, mean in expected.items())
    assert chi2.sf(statistic, len(expected) - 1) > 1e-6


def test_enumeration_catches_the_broken_twin_and_only_that() -> None:
    _, broken, honest = broken_leads()
    for mechanism, fine in ((broken, False), (honest, True)):
        results = enumerate_case(Case(mechanism, PEOPLE), quick=True)
        assert all(result.passed for result in results) is fine


def test_the_order_of_every_law_keeps_its_epsilon_and_uses_it_up() -> None:
    """Enumerated; with exponential noise the bound is reached."""
    for law in Law:
        case = Case(LipschitzMechanism(1.0, law, 2, in_order=True), PEOPLE)
        results = list(enumerate_case(case, quick=True))
        assert all(result.passed for result in results)


def test_leads_are_those_of_the_noise_on_the_tape() -> None:
    scores = np.array([50, 48, 47, 3])
    for law in (Law.LAPLACE, Law.LOGISTIC):
        found = contenders(scores, Tape.seeded(4), law, Fraction(1, 3), 4)
        order = found.winners()
        low, high = found._bounds()
        noisy = dict(zip(found.ids.tolist(), (low + high) / 2 * 3, strict=True))
        leads = [noisy[a] - noisy[b] for a, b in pairwise(order)]
        assert found.leads(order, Fraction(1)) == [round(lead) for lead in leads]
        fine = found.leads(order, Fraction(1, 1000))
        assert fine == pytest.approx([1000 * lead for lead in leads], abs=0.6)


def test_the_verb_releases_pairs_for_the_same_epsilon() -> None:
    found = wn.select(
        wn.seal_scores(SCORES, monotone=True),
        epsilon=3,
        k=3,
        method="noisy-max",
        with_leads=True,
        seed=1,
    )
    assert [label for label, _ in found.value] == ["a", "b", "c"]
    assert all(isinstance(lead, int) and lead >= 0 for _, lead in found.value)
    assert found.guarantee.epsilon == 3
    assert "with leads" in found.receipt.mechanism
    assert found.to_pandas().columns.tolist()[:2] == ["item", "lead"]
    inside = wn.select(
        wn.seal_scores(SCORES, monotone=True), epsilon=3, k=2, with_leads=True, seed=1
    ).value
    assert inside[0][1] is not None and inside[1][1] is None
    halves = wn.seal_scores({"x": 0.5, "y": 0.25}, sensitivity=0.5)
    one = wn.select(halves, epsilon=3, method="noisy-max", with_leads=True, seed=1).value
    assert one[0] in "xy" and isinstance(one[1], float)


def test_oneshot_lists_are_in_order_if_asked() -> None:
    found = wn.top_k(SCORES, k=3, epsilon=30, method="oneshot", ordered=True, seed=1)
    assert found.value == ["a", "b", "c"] and "in order" in found.receipt.mechanism
    assert found.receipt.event == wn.top_k(SCORES, k=3, epsilon=30, method="oneshot").receipt.event


@pytest.mark.parametrize(
    ("how", "match"),
    [
        ({"with_leads": True}, "2 or more"),
        ({"with_leads": True, "method": "large-margin", "delta": 0.1}, "no leads"),
        ({"with_leads": 1}, "True or False"),
    ],
)
def test_what_has_no_leads_is_refused(how, match) -> None:
    with pytest.raises(wn.ParameterError, match=match):
        wn.select(SCORES, epsilon=1, **how)
