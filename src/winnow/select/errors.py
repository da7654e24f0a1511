"""How wrong a released top-k list is, against true scores that are public or made up.

Scores in decreasing order are c_1 >= c_2 >= ..., and a list S = (s_1, ..., s_k) names items by
position. The errors are those of [Joint, Def 2.2], the signed maximum of its Theorem 3.3 (and
footnote 2), and the place of the largest error of its Figure 2. Each function takes the scores
and many lists at once, one row of positions each, and returns one number for each row.

A set has no order. ``best_order`` lists it by true score, which makes every error here as
small as it can be: pairing two decreasing sequences place by place minimises the largest and
the summed difference. For a set so listed l_infinity is signed_maximum.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from winnow.errors import ParameterError

Numbers = NDArray[Any]
"""int64 where the scores are integers, else float64."""

METRICS = ("l_infinity", "l_1", "k_relative", "signed_maximum")


def l_infinity(scores: ArrayLike, rows: ArrayLike) -> Numbers:
    """max_i |c_i - c_{s_i}| [Joint, Def 2.2]."""
    return np.asarray(np.abs(_differences(scores, rows)).max(axis=1))


def l_1(scores: ArrayLike, rows: ArrayLike) -> Numbers:
    """sum_i |c_i - c_{s_i}| [Joint, Def 2.2]."""
    each = np.abs(_differences(scores, rows))
    if each.dtype.kind == "i" and each.size and int(each.max()) > 2**62 // each.shape[1]:
        each = each.astype(np.float64)
    return np.asarray(each.sum(axis=1))


def k_relative(scores: ArrayLike, rows: ArrayLike) -> Numbers:
    """max_i (c_k - c_{s_i}): how far the worst item lies behind the k-th best [Joint, Def 2.2].

    Never negative: k distinct items are not all better than the k-th best.
    """
    values, lists = _checked(scores, rows)
    return np.asarray(_ranked(values, lists.shape[1])[-1] - values[lists].min(axis=1))


def signed_maximum(scores: ArrayLike, rows: ArrayLike) -> Numbers:
    """max_i (c_i - c_{s_i}), minus the utility of Joint [Joint, Thm 3.3 and footnote 2]."""
    return np.asarray(_differences(scores, rows).max(axis=1))


def index_of_maximum(scores: ArrayLike, rows: ArrayLike, *, signed: bool = False) -> NDArray[Any]:
    """The first place, from 0, where |c_i - c_{s_i}| is largest [Joint, Fig 2].

    ``signed=True`` looks at c_i - c_{s_i}, as the authors' published code does.
    """
    differences = _differences(scores, rows)
    return np.asarray((differences if signed else np.abs(differences)).argmax(axis=1))


def is_top_set(scores: ArrayLike, rows: ArrayLike) -> NDArray[np.bool_]:
    """Whether the items are k of the highest scores, whatever their order and ties."""
    values, lists = _checked(scores, rows)
    best = _ranked(values, lists.shape[1])[::-1]
    return np.asarray((np.sort(values[lists], axis=1) == best).all(axis=1))


def is_near_top(scores: ArrayLike, rows: ArrayLike, head: int, tail: int) -> NDArray[np.bool_]:
    """Whether the items hold the best `head` and none beyond rank `tail`, up to ties.

    With the ranks of Canonical's GREAT and GOOD these are its events.
    """
    values, lists = _checked(scores, rows)
    best = _ranked(values, min(max(tail, lists.shape[1]), len(values)))
    own = np.sort(values[lists], axis=1)[:, ::-1]
    return np.asarray((own[:, :head] == best[:head]).all(axis=1) & (own[:, -1] >= best[-1]))


def is_top_sequence(scores: ArrayLike, rows: ArrayLike) -> NDArray[np.bool_]:
    """Whether the list is in the order of the highest scores, up to ties."""
    return np.asarray((_differences(scores, rows) == 0).all(axis=1))


def best_order(scores: ArrayLike, rows: ArrayLike) -> NDArray[np.int64]:
    """Every row listed by true score, largest first: how a set is compared with a list."""
    values, lists = _checked(scores, rows)
    order = np.argsort(values[lists], axis=1, kind="stable")[:, ::-1]
    return np.asarray(np.take_along_axis(lists, order, axis=1))


def _differences(scores: ArrayLike, rows: ArrayLike) -> Numbers:
    """c_i - c_{s_i} for every row and place."""
    values, lists = _checked(scores, rows)
    return np.asarray(_ranked(values, lists.shape[1]) - values[lists])


def _ranked(values: Numbers, k: int) -> Numbers:
    """The k largest values, largest first."""
    size = len(values)
    top = np.partition(values, size - k)[size - k :] if k < size else values
    return np.asarray(np.sort(top)[::-1])


def _checked(scores: ArrayLike, rows: ArrayLike) -> tuple[Numbers, NDArray[np.int64]]:
    values = np.asarray(scores)
    lists = np.atleast_2d(np.asarray(rows))
    if values.ndim != 1 or values.dtype.kind not in "iuf":
        raise ParameterError("scores are not a flat list of numbers; give one score for each item")
    if lists.ndim != 2 or lists.dtype.kind not in "iu" or lists.shape[1] == 0:
        raise ParameterError("rows are not lists of positions; give one row of k integers per list")
    if lists.shape[1] > values.size:
        raise ParameterError(
            f"lists of {lists.shape[1]} exceed {values.size} items; correct the rows"
        )
    if lists.size and not (int(lists.min()) >= 0 and int(lists.max()) < values.size):
        raise ParameterError(f"a position is outside 0..{values.size - 1}; correct the rows")
    kind = np.float64 if values.dtype.kind == "f" else np.int64
    return values.astype(kind, copy=False), lists.astype(np.int64, copy=False)
