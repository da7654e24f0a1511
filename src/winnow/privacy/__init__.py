"""Events, guarantees, accountants, calibration and budgets. No data and no randomness here."""

from winnow.privacy.accountants import PureCost, ZcdpCost, pure_cost, zcdp_cost
from winnow.privacy.budget import Budget, Usage
from winnow.privacy.calibration import Calibration, calibrate
from winnow.privacy.capped_plan import CappedPlan, calibrate_capped
from winnow.privacy.closed_plan import RoundsPlan, calibrate_rounds, paper_round_epsilon
from winnow.privacy.conversion import zcdp_delta, zcdp_epsilon, zcdp_rho
from winnow.privacy.event_json import from_json, to_json
from winnow.privacy.events import (
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
    describe,
)
from winnow.privacy.grant import Grant, single_use_grant
from winnow.privacy.guarantee import Guarantee, guarantee_of
from winnow.privacy.promises import Promise, Row, promise, rows
from winnow.privacy.substitution import as_substitution
from winnow.privacy.tight import tight_delta, tight_epsilon

__all__ = [
    "ApproxDP",
    "BoundedRange",
    "Budget",
    "Calibration",
    "CappedPlan",
    "CappedRounds",
    "Compose",
    "DiscreteLaplace",
    "Event",
    "Gaussian",
    "Grant",
    "Guarantee",
    "Promise",
    "PureCost",
    "PureDP",
    "Repeat",
    "RoundsPlan",
    "Row",
    "Truncated",
    "Usage",
    "ZcdpCost",
    "as_substitution",
    "calibrate",
    "calibrate_capped",
    "calibrate_rounds",
    "describe",
    "from_json",
    "guarantee_of",
    "paper_round_epsilon",
    "promise",
    "pure_cost",
    "rows",
    "single_use_grant",
    "tight_delta",
    "tight_epsilon",
    "to_json",
    "zcdp_cost",
    "zcdp_delta",
    "zcdp_epsilon",
    "zcdp_rho",
]
