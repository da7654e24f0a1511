"""The noise of a session whose answers have noise of their own, from public numbers."""

from __future__ import annotations

from winnow.ask.independent_answers import IndependentAnswers, answer_bound
from winnow.ask.sizes import IndependentSizes, Sized
from winnow.ask.terms import Terms
from winnow.privacy import Calibration, Event, calibrate


def sized_independent(terms: Terms) -> Sized[IndependentSizes]:
    """The smallest noise that the charge allows; nothing is charged here."""
    queries, width = int(terms.max_queries), int(terms.rows_per_person)
    noise = _noise(terms, queries)
    multiplier, beta = 1 / noise.parameter, float(terms.beta)
    sizes = IndependentSizes(
        rows=terms.rows,
        rows_per_person=width,
        max_queries=queries,
        beta=beta,
        accountant=noise.accountant,
        multiplier=multiplier,
        noise=answer_bound(multiplier, width, queries, beta) / terms.rows,
    )
    return Sized(sizes, noise.guarantee)


def _noise(terms: Terms, queries: int) -> Calibration:
    """The smallest noise that the budget allows; its parameter is 1/multiplier."""

    def event(parameter: float) -> Event:
        return IndependentAnswers(queries, 1 / parameter).promise(terms.relation).event

    return calibrate(
        event,
        epsilon=terms.epsilon,
        delta=terms.delta,
        accountant="best" if terms.accountant == "tight" else "zcdp",
    )
