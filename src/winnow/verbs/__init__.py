"""The verbs a user calls: each checks, charges, draws and releases, in that order."""

from winnow.verbs.above import above, open_above
from winnow.verbs.boost import boost
from winnow.verbs.classifier import PrivateClassifier
from winnow.verbs.frequent_itemsets import frequent_itemsets
from winnow.verbs.interactive import open_interactive, resume_interactive
from winnow.verbs.learn import learn
from winnow.verbs.max_inner_product import max_inner_product
from winnow.verbs.release import release
from winnow.verbs.release_wide import release_wide
from winnow.verbs.select import select
from winnow.verbs.solve_lp import solve_lp
from winnow.verbs.top_k import top_k

__all__ = [
    "PrivateClassifier",
    "above",
    "boost",
    "frequent_itemsets",
    "learn",
    "max_inner_product",
    "open_above",
    "open_interactive",
    "release",
    "release_wide",
    "resume_interactive",
    "select",
    "solve_lp",
    "top_k",
]
