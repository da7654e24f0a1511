"""Audits of every guarantee, run by ``winnow audit``: from enumeration to replay.

Nothing here touches private data: audits run on made-up scores. Every audit is also run on
deliberately broken twins, which it has to catch.
"""

from winnow._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
