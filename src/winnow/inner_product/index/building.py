"""An index by its name."""

from __future__ import annotations

from importlib.util import find_spec

from winnow.core.checks import one_of
from winnow.errors import ExtraMissing
from winnow.inner_product.index.flat import FlatIndex, Index, Matrix
from winnow.inner_product.index.lsh import LSHIndex, PStableIndex
from winnow.inner_product.methods import INDEX_NAMES

FAISS = ("ivf", "hnsw")
"""Those that the package faiss makes."""


def check_index(name: str) -> None:
    """Refuse a name that is none, and an index whose package is not installed."""
    one_of(INDEX_NAMES, index=name)
    if name in FAISS and find_spec("faiss") is None:
        raise ExtraMissing("faiss-cpu", "faiss", "an IVF or HNSW index")


def build_index(name: str, vectors: Matrix) -> Index:
    """Build the index of this name over the rows of a matrix."""
    index = _new(name)
    index.build(vectors)
    return index


def _new(name: str) -> Index:
    one_of(INDEX_NAMES, index=name)
    match name:
        case "flat":
            return FlatIndex()
        case "lsh":
            return LSHIndex()
        case "p-stable":
            return PStableIndex()
    from winnow.inner_product.index.faiss_index import HNSWIndex, IVFIndex

    return IVFIndex() if name == "ivf" else HNSWIndex()
