"""What to expect before spending: public or assumed numbers in, chances and errors out.

Nothing here opens sealed data, draws randomness or charges a budget.
"""

from winnow.plan.select import SelectPlan, select

__all__ = ["SelectPlan", "select"]
