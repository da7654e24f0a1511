"""Which way to answer: a hypothesis that learns, independent noise, or the better of the two."""

from __future__ import annotations

from dataclasses import replace

from winnow.algorithms.independent_plan import IndependentPlan, plan_independent
from winnow.algorithms.interactive_plan import InteractivePlan, InteractiveRequest
from winnow.algorithms.interactive_sizing import plan_interactive
from winnow.domain.checks import exact, one_of, probability
from winnow.errors import InputError
from winnow.privacy import Budget

WEIGHTS, INDEPENDENT, RECOMMENDED = "multiplicative-weights", "independent", "recommended"
METHODS = (WEIGHTS, INDEPENDENT, RECOMMENDED)

Plan = InteractivePlan | IndependentPlan


def chosen_plan(
    method: str, request: InteractiveRequest, budget: Budget | None
) -> tuple[Plan, str]:
    """The constants of a session, from public numbers only, and why this method."""
    one_of(METHODS, method=method)
    if method == INDEPENDENT:
        return _useful(plan_independent(_for_independent(request, budget))), ""
    if method == WEIGHTS:
        return plan_interactive(_for_weights(request, budget)), ""
    bare = InteractiveRequest(
        request.cells, request.epsilon, request.delta, request.max_queries, request.beta,
        request.relation, request.rows_per_person, request.public_rows, request.rows,
    )  # fmt: skip
    single = plan_independent(_for_independent(bare, budget))
    try:
        weights = plan_interactive(_for_weights(request, budget))
    except InputError:
        return _useful(single), "recommended: multiplicative weights would learn nothing here"
    compared = (
        f"recommended: an error bound of {{:.3g}} against {{:.3g}} for {request.max_queries:,} "
        "questions"
    )
    if weights.bound < single.bound:
        return weights, compared.format(weights.bound, single.bound)
    return _useful(single), compared.format(single.bound, weights.bound)


def _useful(plan: IndependentPlan) -> IndependentPlan:
    if plan.bound >= 1:
        raise InputError(
            f"with independent noise answers could be {plan.noise:.3g} of the rows off, so nothing "
            "would be learned; ask for a larger epsilon, fewer questions, or more rows"
        )
    return plan


def _for_independent(request: InteractiveRequest, budget: Budget | None) -> InteractiveRequest:
    """Under a budget: what its rho pays for, without the delta that it keeps for other events."""
    if budget is None:
        return request
    probability(delta=request.delta)
    delta, reserved = exact("delta", request.delta), exact("delta", budget.left.delta_cap)
    if budget.accountant == "zcdp" and reserved < delta:
        delta -= reserved
    return replace(request, accountant="zcdp", delta=delta)


def _for_weights(request: InteractiveRequest, budget: Budget | None) -> InteractiveRequest:
    if budget is None:
        return request
    probability(delta=request.delta)
    lost = min(exact("delta", budget.left.delta), exact("delta", request.delta) / 2)
    if budget.accountant != "zcdp" or lost <= 0:
        raise InputError(
            "multiplicative weights need a zcdp budget with a part of delta set aside: open it "
            "with delta_for_events, for example a tenth of delta; or use method='independent'"
        )
    return replace(request, accountant="zcdp", lost=lost)
