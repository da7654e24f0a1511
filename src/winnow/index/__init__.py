"""Where the largest inner products probably are: indices for k-MIPS, exact and approximate.

An index only proposes candidates. No guarantee rests on its answer: mechanisms compute the
scores of what it proposes exactly and bound the rest themselves. An index over private
vectors is private data, and stays sealed with them.
"""

from winnow.index.building import INDEX_NAMES, build_index
from winnow.index.flat import FlatIndex
from winnow.index.lsh import LSHIndex
from winnow.index.prepared import PreparedVectors
from winnow.index.protocol import Index

__all__ = ["INDEX_NAMES", "FlatIndex", "Index", "LSHIndex", "PreparedVectors", "build_index"]
