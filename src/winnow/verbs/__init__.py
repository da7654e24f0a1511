"""The verbs a user calls: each checks, charges, draws and releases, in that order."""

from winnow.verbs.above import above, open_above
from winnow.verbs.select import select
from winnow.verbs.top_k import top_k

__all__ = ["above", "open_above", "select", "top_k"]
