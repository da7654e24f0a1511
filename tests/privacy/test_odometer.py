"""What was spent so far without a cap: valid at whatever moment somebody stops and reads."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal, getcontext
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import winnow as wn
from winnow.core.relation import Relation
from winnow.privacy import (
    AnyOf,
    ApproxDP,
    BoundedRange,
    CappedRounds,
    Compose,
    DiscreteLaplace,
    Event,
    Gaussian,
    PureDP,
    Repeat,
    Truncated,
    guarantee_of,
    zcdp_cost,
)
from winnow.privacy.ledger import Ledger, RecordedBudget
from winnow.privacy.spent import ORDERS, WEIGHTS, SpentSoFar, orders_of

HERE = Relation.ADD_REMOVE


def spent(*events: Event) -> SpentSoFar:
    found = SpentSoFar(HERE)
    for event in events:
        found = found.after(event)
    return found


def reached(epsilon: float, readings: list[float]) -> float:
    """E[(1 - e^(reading - L))+] for who stops randomized responses at the best moment, exactly."""
    likely, last = 1 / (1 + math.exp(-epsilon)), len(readings) - 1

    def now(n: int) -> np.ndarray:
        losses = (2 * np.arange(n + 1) - n) * epsilon
        return -np.expm1(np.minimum(readings[n] - losses, 0.0))

    best = now(last)
    for n in range(last - 1, -1, -1):
        best = np.maximum(now(n), likely * best[1:] + (1 - likely) * best[:-1])
    return float(best[0])


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [0.05, 0.2, 0.5])
@pytest.mark.parametrize("delta", [1e-2, 1e-4])
def test_nobody_gains_by_choosing_when_to_stop(epsilon: float, delta: float) -> None:
    event, read = PureDP(epsilon, HERE), [SpentSoFar(HERE)]
    for _ in range(400):
        read.append(read[-1].after(event))
    assert reached(epsilon, [each.epsilon(delta) for each in read]) <= delta


def test_what_holds_at_a_fixed_time_does_not_hold_at_a_chosen_one() -> None:
    """The twin reads what a closed plan of so many events states."""
    epsilon, delta = 0.5, 1e-2
    twin = [0.0]
    for n in range(1, 60):
        event = Repeat(PureDP(epsilon, HERE), n)
        twin.append(guarantee_of(event, delta, accountant="tight").epsilon)
    assert reached(epsilon, twin) > 1.2 * delta


def test_orders_and_weights_were_fixed_beforehand_and_weights_sum_to_one_at_most() -> None:
    assert WEIGHTS.sum() <= 1 and (WEIGHTS > 0).all() and len(WEIGHTS) == len(ORDERS)


@pytest.mark.parametrize("size", [1e-6, 1e-3, 0.1, 1, 5])
def test_every_order_of_an_event_is_its_worst_law(size: float) -> None:
    u = ORDERS[ORDERS * size < 200]
    p = 1 / (1 + math.exp(-size))
    found = orders_of(PureDP(size, HERE))[: len(u)]
    worst = np.log(p * np.exp(u * size) + (1 - p) * np.exp(-u * size))
    assert (found >= worst - 1e-15).all()
    assert (found <= worst * (1 + 1e-6) + 1e-11).all()
    assert (
        orders_of(DiscreteLaplace(1 / size, HERE)) >= orders_of(PureDP(size, HERE)) - 1e-15
    ).all()

    found = orders_of(BoundedRange(size, HERE))[: len(u)]
    t = np.linspace(0, size, 20_001)[:, None]
    mass = np.expm1(t - size) / math.expm1(-size)
    grid = np.log(np.max(mass * np.exp(u * t) + (1 - mass) * np.exp(u * (t - size)), axis=0))
    assert (found >= grid - 1e-15).all()
    assert (found <= grid * (1 + 1e-3) + 1e-11).all()


@pytest.mark.parametrize("size", ["0.0007376655282885664", "0.002", "1e-5"])
def test_large_orders_of_a_range_are_rounded_up(size: str) -> None:
    """Against the formula in fifty digits, where all its logarithms but one are near 0."""
    getcontext().prec = 50
    found = orders_of(BoundedRange(float(size), HERE))
    r = Decimal(size)
    for u, claimed in list(zip(map(Decimal, ORDERS.tolist()), found.tolist(), strict=True))[12:]:
        above, part = (1 - (-r * (1 + u)).exp()).ln(), (1 - (-r * u).exp()).ln()
        t = above + (u / (1 + u)).ln() + r - part
        exact = above + u * t - (1 + u).ln() - (1 - (-r).exp()).ln()
        assert exact <= Decimal(claimed) <= exact * (1 + Decimal("1e-3"))


def test_compositions_add_and_choices_take_the_largest() -> None:
    pure, normal = PureDP(0.3, HERE), Gaussian(4, HERE)
    both = orders_of(Compose((pure, Repeat(normal, 3))))
    assert both == pytest.approx(orders_of(pure) + 3 * orders_of(normal))
    either = orders_of(AnyOf((pure, normal)))
    assert (either == np.maximum(orders_of(pure), orders_of(normal))).all()
    assert orders_of(normal) == pytest.approx(ORDERS * (1 + ORDERS) / 32)


def test_deltas_of_events_come_on_top() -> None:
    capped = CappedRounds(20, 0.05, 80, HERE)
    events = ApproxDP(0.2, 1e-7, HERE), Truncated(Gaussian(5, HERE), 2e-7), capped
    own = sum(float(zcdp_cost(event).delta) for event in events)
    stated = spent(*events).guarantee(1e-6)
    assert stated.delta == pytest.approx(1e-6 + own)
    inner = PureDP(0.2, HERE), Gaussian(5, HERE), Repeat(PureDP(0.05, HERE), 80)
    assert stated.epsilon == pytest.approx(spent(*inner).epsilon(1e-6))


def test_a_reading_is_no_more_than_the_sum_and_little_more_than_what_a_closed_plan_states() -> None:
    assert spent(PureDP(0.1, HERE), BoundedRange(0.2, HERE)).epsilon(1e-9) <= 0.3 * (1 + 1e-12)
    assert SpentSoFar(HERE).epsilon(1e-6) == 0
    for event in (Gaussian(4.3, HERE), Repeat(BoundedRange(0.1, HERE), 100), Gaussian(0.5, HERE)):
        closed = guarantee_of(event, 1e-6).epsilon
        assert closed <= spent(event).epsilon(1e-6) <= 1.2 * closed


def frame() -> wn.SealedTable:
    rows = pd.DataFrame({"a": [0, 1] * 50, "b": [0, 1, 2, 3] * 25})
    return wn.read_table(rows, schema={"a": 2, "b": 4}, unit="row", relation="add-remove")


VERBS: dict[str, Callable[[wn.Budget], object]] = {
    "select": lambda odometer: wn.select([41, 40, 3], epsilon=0.5, budget=odometer),
    "tabulate": lambda odometer: wn.tabulate(
        frame(), ["a", "b"], epsilon=0.5, delta=1e-6, budget=odometer
    ),
    "release": lambda odometer: wn.release(
        frame(), wn.marginals(1), epsilon=0.5, delta=1e-6, budget=odometer
    ),
    "ask": lambda odometer: wn.ask(
        frame().stating(100), epsilon=5, delta=1e-6, max_queries=5, budget=odometer
    ),
}


@pytest.mark.parametrize("verb", VERBS)
def test_an_odometer_serves_verbs_with_the_noise_of_a_release_alone(verb: str) -> None:
    odometer = wn.Odometer()
    released = VERBS[verb](odometer)
    assert odometer.events == (released.receipt.event,)  # type: ignore[attr-defined]
    assert 0 < odometer.spent_at(1e-6).epsilon < 10
    with pytest.raises(wn.GuaranteeError, match=r"spent_at"):
        _ = odometer.left


def test_an_odometer_is_about_one_unit_and_one_relation() -> None:
    odometer = wn.Odometer()
    VERBS["tabulate"](odometer)
    assert "each row" in str(odometer.spent_at(1e-6))
    with pytest.raises(wn.RelationMismatch, match="odometer under add-remove"):
        odometer.charge(PureDP(1, Relation.SUBSTITUTION))
    people = wn.counts(pd.DataFrame({"who": [1, 2], "what": ["a", "b"]}), item="what", person="who")
    with pytest.raises(wn.RelationMismatch, match="one row"):
        wn.top_k(people, k=1, epsilon=1, delta=1e-6, budget=odometer)
    assert len(odometer.events) == 1


def test_it_reads_what_another_budget_was_charged(tmp_path: Path) -> None:
    ledger = Ledger.open(tmp_path / "ledger", create=True)
    ledger.open_dataset("data", epsilon=5, delta=1e-6)
    recorded, own = RecordedBudget(ledger, "data"), wn.Budget(5, 1e-6)
    for budget in (recorded, own):
        for _ in range(3):
            budget.charge(Gaussian(8, HERE))
        read = wn.Odometer.of(budget)
        assert read.spent_at(1e-6) == spent(*[Gaussian(8, HERE)] * 3).guarantee(1e-6)
    session = wn.Session(budget=wn.Odometer())
    session.select([1, 2], epsilon=1)
    assert session.budget.accountant == "odometer"


def test_it_draws_delta_against_epsilon(tmp_path: Path) -> None:
    odometer = wn.Odometer()
    odometer.charge(Gaussian(8, HERE))
    assert odometer.plot(tmp_path / "spent.svg") == tmp_path / "spent.svg"
    drawn = (tmp_path / "spent.svg").read_text()
    assert "<svg" in drawn
    (first, high), (last, low) = odometer.profile([1e-3, 1e-9])
    assert first < last and high > low
    assert "Spent so far" in odometer._repr_html_()
    assert "1 charges" not in repr(odometer)
    with pytest.raises(wn.ParameterError):
        odometer.spent_at(0)
