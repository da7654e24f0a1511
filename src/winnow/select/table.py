"""Selection mechanisms by the words that users write."""

from __future__ import annotations

from winnow.core.checks import Real, exact, one_of
from winnow.core.laws import Law
from winnow.errors import InputError
from winnow.select.large_margin import LargeMargin
from winnow.select.mechanism import (
    ExponentialMechanism,
    LipschitzMechanism,
    PermuteAndFlip,
    ReportNoisyMax,
)

SELECTION = ("permute-and-flip", "exponential", "noisy-max", "lipschitz", "large-margin")


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
    one_of(SELECTION, mechanism=mechanism)
    if mechanism == "large-margin":
        if k != 1:
            raise InputError(f"k={k}: large-margin selects one candidate; leave out k")
        if noise is not None:
            raise InputError("large-margin has its own noise; leave out noise")
        if exact("delta", delta) == 0:
            raise InputError(
                "large-margin needs delta > 0, for example delta=1e-6; "
                "with delta=0 use permute-and-flip"
            )
        return LargeMargin(epsilon, delta, thresholds or "tight")
    if exact("delta", delta) != 0:
        raise InputError(
            f"delta={delta}: {mechanism} is pure epsilon-DP and has no use for it; leave out delta"
        )
    if thresholds is not None:
        raise InputError(f"thresholds are for large-margin; {mechanism} has none")
    if mechanism == "lipschitz":
        if noise is None:
            raise InputError(f"lipschitz needs noise=; choose one of: {', '.join(Law)}")
        return LipschitzMechanism(epsilon, Law.parse(noise), k)
    if noise is not None:
        raise InputError(
            f"{mechanism} has its own noise; use mechanism='lipschitz' to choose noise={noise!r}"
        )
    match mechanism:
        case "exponential":
            return ExponentialMechanism(epsilon, kappa=k)
        case "noisy-max":
            return ReportNoisyMax(epsilon, kappa=k)
        case _:
            return PermuteAndFlip(epsilon, kappa=k)
