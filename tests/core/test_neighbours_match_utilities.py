"""The library's sensitivities against the audits' own reading of what a user declares."""

import numpy as np
import pytest

from reference.audited import Declared, asymmetric, counts, declarations, general, moves
from winnow import Relation

ALL = [
    *declarations(),
    *(asymmetric(relation, down, up) for relation in Relation for down, up in ((0, 3), (2, 0))),
    *(Declared("wide counts", relation, 4, monotone=True) for relation in Relation),
]


@pytest.mark.parametrize("declared", ALL, ids=lambda d: f"{d.name}, {d.relation}")
def test_half_width_is_half_of_the_widest_spread_of_a_move(declared: Declared) -> None:
    steps = moves(declared.boxes, 3)
    assert np.ptp(steps, axis=1).max() == 2 * declared.utility.half_width
    assert np.ptp(steps, axis=1).max() == declared.utility.width


@pytest.mark.parametrize("declared", ALL, ids=lambda d: f"{d.name}, {d.relation}")
def test_one_sided_is_the_furthest_that_one_score_moves(declared: Declared) -> None:
    assert np.abs(moves(declared.boxes, 2)).max() == declared.utility.one_sided


@pytest.mark.parametrize("declared", ALL, ids=lambda d: f"{d.name}, {d.relation}")
@pytest.mark.parametrize("inside", [False, True])
def test_being_neighbours_goes_both_ways(declared: Declared, inside: bool) -> None:
    steps = {tuple(row) for row in moves(declared.boxes, 2, inside=inside).tolist()}
    assert steps == {(-a, -b) for a, b in steps}
    assert (0, 0) not in steps


def test_counts_move_together_under_add_remove_and_apart_under_substitution() -> None:
    together = moves(counts(Relation.ADD_REMOVE).boxes, 2).tolist()
    apart = moves(counts(Relation.SUBSTITUTION).boxes, 2).tolist()
    assert [1, -1] not in together
    assert [1, -1] in apart
    assert len(together) == 6 and len(apart) == 8


def test_general_scores_are_declared_for_their_relation() -> None:
    assert general(Relation.ADD_REMOVE).boxes == general(Relation.SUBSTITUTION).boxes
