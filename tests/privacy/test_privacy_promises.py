"""The guarantee table: every row, and the refusal of everything else."""

from __future__ import annotations

import itertools
from fractions import Fraction

import pytest

from winnow import GuaranteeError, InputError, Relation
from winnow.privacy import (
    ApproxDP,
    BoundedRange,
    DiscreteLaplace,
    Gaussian,
    PureDP,
    Repeat,
    Row,
    promise,
    pure_cost,
    rows,
    zcdp_cost,
)

SELECTION_LAWS = ("gumbel", "exponential", "laplace", "logistic", "half-logistic")
INTEGER_LAWS = ("discrete-laplace", "discrete-gaussian")
REDUCTIONS = (
    "argmax", "top-set", "top-sequence", "top-leads", "peeled-sequence", "joint", "canonical",
    "first-above", "large-margin", "indexed", "indexed-slack", "additive",
    "additive-joint",
)  # fmt: skip

COVERED = {
    *((law, "argmax") for law in SELECTION_LAWS),
    *((law, "top-set") for law in SELECTION_LAWS),
    *((law, "canonical") for law in SELECTION_LAWS),
    *((law, "top-sequence") for law in SELECTION_LAWS),
    *((law, "top-leads") for law in SELECTION_LAWS),
    ("gumbel", "joint"),
    ("gumbel", "indexed"),
    ("gumbel", "indexed-slack"),
    ("gumbel", "limited-domain"),
    ("gamma", "top-sequence"),
    ("laplace", "top-set-approximate"),
    ("discrete-laplace", "stability-threshold"),
    ("discrete-laplace", "capped-rounds"),
    ("exponential", "peeled-sequence"),
    ("gumbel", "halving"),
    ("gumbel", "joint-quantiles"),
    ("laplace", "first-above"),
    ("laplace", "large-margin"),
    ("laplace", "distance-to-instability"),
    ("gumbel", "bounded-growth"),
    *((law, "additive") for law in INTEGER_LAWS),
    ("discrete-box", "additive"),
    ("discrete-gaussian", "additive-joint"),
}

both = pytest.mark.parametrize("relation", list(Relation))


def test_the_table_has_exactly_the_rows_that_are_proved() -> None:
    assert {(row.law, row.reduction) for row in rows()} == COVERED
    assert len(rows()) == len(COVERED)


@pytest.mark.parametrize("row", rows(), ids=lambda row: f"{row.law}-{row.reduction}")
@both
def test_every_row_says_what_is_released_and_why(row: Row, relation: Relation) -> None:
    assert relation in row.relations
    of_integers = (
        row.reduction in ("additive", "stability-threshold") and row.charge != "PureDP(epsilon)"
    )
    number = {"noise_multiplier": 2} if of_integers else {"epsilon": 1}
    if row.reduction == "additive-joint":
        number = {"squared_ratio": 1, "least_variance": 2}
    delta = 1e-6 if "delta" in row.charge else 0
    if row.reduction == "capped-rounds":
        number |= {"updates": 2, "steps": 20}
    promised = promise(row.law, row.reduction, relation, delta=delta, **number)
    assert promised.event.relation is relation
    assert promised.citation == row.citation and row.citation in promised.statement
    assert row.released in promised.statement


@pytest.mark.parametrize(
    ("law", "reduction"),
    [
        pair
        for pair in itertools.product((*SELECTION_LAWS, *INTEGER_LAWS), REDUCTIONS)
        if pair not in COVERED
    ],
)
@both
def test_no_other_combination_is_promised(law: str, reduction: str, relation: Relation) -> None:
    with pytest.raises(GuaranteeError, match=f"{law}.*{reduction}.*{relation}.*there is: "):
        promise(law, reduction, relation, epsilon=1, kappa=2)


def test_an_unknown_law_is_refused_with_the_list_of_laws() -> None:
    with pytest.raises(GuaranteeError, match=r"cauchy.*half-logistic"):
        promise("cauchy", "argmax", "add-remove", epsilon=1)


@both
def test_only_gumbel_noise_has_a_bounded_range(relation: Relation) -> None:
    assert promise("gumbel", "argmax", relation, epsilon=1).event == BoundedRange(1, relation)
    for law in SELECTION_LAWS[1:]:
        for reduction in ("argmax", "top-set", "top-sequence", "top-leads"):
            assert promise(law, reduction, relation, epsilon=1).event == PureDP(1, relation)


@both
@pytest.mark.parametrize("kappa", [2, 3, 7, 1000])
def test_peeled_gumbel_sums_to_epsilon_exactly(relation: Relation, kappa: int) -> None:
    for reduction in ("top-set", "top-sequence"):
        event = promise("gumbel", reduction, relation, epsilon=0.1, kappa=kappa).event
        assert event == Repeat(BoundedRange(Fraction(1, 10 * kappa), relation), kappa)
        assert pure_cost(event).epsilon == Fraction(1, 10)
        one = BoundedRange(Fraction(1, 10 * kappa), relation)
        assert zcdp_cost(event).rho == kappa * zcdp_cost(one).rho
        assert float(zcdp_cost(event).rho) == pytest.approx(0.01 / (8 * kappa), rel=1e-4)


def test_a_top_set_of_one_is_an_argmax() -> None:
    for law in SELECTION_LAWS:
        one = promise(law, "top-set", "add-remove", epsilon=1, kappa=1)
        assert one.event == promise(law, "argmax", "add-remove", epsilon=1).event


@both
def test_the_other_events(relation: Relation) -> None:
    assert promise("laplace", "first-above", relation, epsilon=1).event == PureDP(1, relation)
    margin = promise("laplace", "large-margin", relation, epsilon=1, delta=1e-6)
    assert margin.event == ApproxDP(1, 1e-6, relation)
    laplace = promise("discrete-laplace", "additive", relation, noise_multiplier=3)
    assert laplace.event == DiscreteLaplace(3, relation)
    gaussian = promise("discrete-gaussian", "additive", relation, noise_multiplier=3)
    assert gaussian.event == Gaussian(3, relation)


@pytest.mark.parametrize(
    ("law", "reduction", "given", "named"),
    [
        ("gumbel", "argmax", {}, "needs epsilon"),
        ("gumbel", "argmax", {"epsilon": 0}, "epsilon"),
        ("gumbel", "argmax", {"epsilon": 1, "noise_multiplier": 2}, "takes no noise_multiplier"),
        ("gumbel", "argmax", {"epsilon": 1, "delta": 1e-6}, "delta"),
        ("gumbel", "argmax", {"epsilon": 1, "kappa": 2}, "kappa=2"),
        ("gumbel", "top-set", {"epsilon": 1, "kappa": 0}, "kappa"),
        ("laplace", "first-above", {"epsilon": 1, "kappa": 2}, "kappa=2"),
        ("laplace", "large-margin", {"epsilon": 1}, "delta"),
        ("discrete-laplace", "additive", {"epsilon": 1}, "needs noise_multiplier"),
        ("discrete-gaussian", "additive", {"noise_multiplier": 1, "epsilon": 1}, "no epsilon"),
    ],
)
def test_a_parameter_is_needed_or_refused_but_never_ignored(
    law: str, reduction: str, given: dict[str, float], named: str
) -> None:
    with pytest.raises(InputError, match=named):
        promise(law, reduction, "add-remove", **given)  # type: ignore[arg-type]


def test_an_unknown_relation_is_refused() -> None:
    with pytest.raises(InputError, match="swap"):
        promise("gumbel", "argmax", "swap", epsilon=1)


def test_a_promise_keeps_the_form_in_which_its_number_was_given() -> None:
    """Promises are kept; 1 and 1.0 are equal and yet two of them."""
    for number in (1, 1.0, Fraction(1)):
        made = promise("gumbel", "argmax", "add-remove", epsilon=number)
        assert type(made.event.epsilon) is type(number)
        assert made is promise("gumbel", "argmax", "add-remove", epsilon=number)
