"""Audit 1: no pair of neighbours on a tiny instance is told apart more than promised."""

from pathlib import Path

import pytest

import winnow
from reference.audited import (
    Case,
    Declared,
    all_cases,
    counts,
    declarations,
    enumerate_case,
    every_row_is_enumerated,
    general,
    measure,
    selections,
)
from reference.inside import Law
from reference.mechanisms import (
    AboveThreshold,
    LargeMargin,
    LipschitzMechanism,
    PermuteAndFlip,
    SparseVector,
)
from winnow import Relation


def test_the_driver_alone_writes_results_of_enumerations() -> None:
    """An audit brings laws and neighbours; how far these lie apart is said in one place."""
    source = Path(winnow.__file__).parent
    named = {
        path.relative_to(source).as_posix()
        for path in source.rglob("*.py")
        if '"enumeration",' in path.read_text(encoding="utf-8")
    }
    assert named == {"audit/driver.py", "audit/result.py"}


def name_of(case: Case) -> str:
    return f"{case.mechanism.name}, {case.declared.name}, {case.declared.relation}"


QUICK = frozenset(all_cases(quick=True))
"""What `test_run_audits` enumerates, on the same instances."""


@pytest.mark.parametrize("case", [c for c in all_cases() if c not in QUICK], ids=name_of)
def test_neighbours_are_as_close_as_promised(case: Case) -> None:
    for result in enumerate_case(case, quick=True):
        assert result.passed, result


@pytest.mark.slow
@pytest.mark.parametrize(
    "mechanism",
    [
        PermuteAndFlip(3.0),
        LipschitzMechanism(0.3, Law.GUMBEL, 2),
        LipschitzMechanism(1.0, Law.HALF_LOGISTIC, 4),
        AboveThreshold(2.5, 1),
        SparseVector(0.5, 0, 3),
        LargeMargin(1.0, 0.9),
        LargeMargin(6.0, 0.05, "printed"),
    ],
    ids=lambda mechanism: f"{mechanism.name}, epsilon={mechanism.epsilon}",
)
@pytest.mark.parametrize("declared", declarations(), ids=lambda d: f"{d.name}, {d.relation}")
def test_neighbours_are_as_close_as_promised_with_up_to_five_candidates(
    mechanism: LipschitzMechanism | SparseVector | LargeMargin, declared: Declared
) -> None:
    for result in enumerate_case(Case(mechanism, declared)):
        assert result.passed, result


@pytest.mark.parametrize("law", list(Law))
def test_the_epsilon_of_selection_is_reached_so_that_no_noise_is_wasted(law: Law) -> None:
    case = Case(LipschitzMechanism(1.0, law), counts(Relation.ADD_REMOVE))
    assert measure(case.model, case.declared.boxes, 1.0).epsilon > 0.9999


def test_the_epsilon_of_above_threshold_is_reached() -> None:
    case = Case(AboveThreshold(1.0, 0), general(Relation.ADD_REMOVE))
    assert measure(case.model, case.declared.boxes, 1.0).epsilon > 0.9999


def test_gumbel_noise_is_bounded_range_and_permute_and_flip_is_not() -> None:
    declared = general(Relation.ADD_REMOVE)
    ranges = {
        law: measure(Case(LipschitzMechanism(1.0, law), declared).model, declared.boxes, 1.0).range
        for law in (Law.GUMBEL, Law.EXPONENTIAL)
    }
    assert ranges[Law.GUMBEL] <= 1 + 1e-9
    assert ranges[Law.EXPONENTIAL] > 1.4


def test_every_selection_of_the_guarantee_table_is_enumerated() -> None:
    result = every_row_is_enumerated()
    assert result.passed, result.detail


def test_four_candidates_or_more_are_always_looked_at() -> None:
    declared = counts(Relation.ADD_REMOVE)
    for mechanism in selections():
        model = Case(mechanism, declared).model
        for quick in (True, False):
            sizes = [bases.shape[1] for bases, _ in model.instances(declared.boxes, quick=quick)]
            assert max(sizes) >= 4
