"""An index by its name."""

from __future__ import annotations

from winnow.core.checks import one_of
from winnow.inner_product.index.flat import FlatIndex, Index, Matrix
from winnow.inner_product.index.lsh import LSHIndex

INDEX_NAMES = ("flat", "lsh", "ivf", "hnsw")


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
    from winnow.inner_product.index.faiss_index import HNSWIndex, IVFIndex

    return IVFIndex() if name == "ivf" else HNSWIndex()
