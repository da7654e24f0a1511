"""What to expect before spending: public or assumed numbers in, chances and errors out.

Nothing here opens sealed data or charges a budget; what is simulated has a stated seed.
"""

from winnow.algorithms.lp_plan import LpPlan
from winnow.plan.interactive import InteractiveComparison, interactive
from winnow.plan.large_margin import MarginPlan, Shell, large_margin
from winnow.plan.learn import LearnPlan, LearnRow, learn
from winnow.plan.lp import lp, lp_optimum
from winnow.plan.release import ReleasePlan, ReleaseRow, release
from winnow.plan.select import SelectPlan, select
from winnow.plan.topk import TopKPlan, top_k
from winnow.plan.topk_probabilities import epsilon_for_top, top_chance, top_sequence_chance
from winnow.plan.topk_rows import SimulatedError, TopKRow

__all__ = [
    "InteractiveComparison",
    "LearnPlan",
    "LearnRow",
    "LpPlan",
    "MarginPlan",
    "ReleasePlan",
    "ReleaseRow",
    "SelectPlan",
    "Shell",
    "SimulatedError",
    "TopKPlan",
    "TopKRow",
    "epsilon_for_top",
    "interactive",
    "large_margin",
    "learn",
    "lp",
    "lp_optimum",
    "release",
    "select",
    "top_chance",
    "top_k",
    "top_sequence_chance",
]
