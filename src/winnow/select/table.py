"""Selection mechanisms by the words that users write."""

from __future__ import annotations

from winnow.core.checks import Real, exact
from winnow.core.laws import Law
from winnow.errors import ParameterError
from winnow.mechanisms import SELECT, row_named
from winnow.select.large_margin import LargeMargin
from winnow.select.mechanism import LipschitzMechanism


def selection_named(
    mechanism: str,
    *,
    epsilon: Real,
    delta: Real = 0.0,
    k: int = 1,
    noise: str | Law | None = None,
    thresholds: str | None = None,
) -> LipschitzMechanism | LargeMargin:
    """The selection mechanism of this name; options that it does not have are refused."""
    row = row_named(SELECT, mechanism)
    if row.needs_delta and k != 1:
        raise ParameterError(f"k={k}: {mechanism} selects one candidate; leave out k")
    row.refuse_unused(exact("delta", delta), {"noise": noise, "thresholds": thresholds})
    if "noise" in row.options and noise is None:
        raise ParameterError(f"{mechanism} needs noise=; choose one of: {', '.join(Law)}")
    asked = {
        "epsilon": epsilon,
        "delta": delta,
        "k": k,
        "noise": None if noise is None else Law.parse(noise),
        "thresholds": thresholds or "tight",
    }
    chosen: LipschitzMechanism | LargeMargin = row.build(asked)
    return chosen
