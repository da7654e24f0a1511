"""The whole run, as `winnow audit --quick` does it."""

import os
from dataclasses import FrozenInstanceError, replace

import pytest

from reference.audited import all_cases
from reference.inside import Law
from winnow.audit import AuditResult, run_audits, summary
from winnow.audit.result import KINDS
from winnow.audit.sampling import samples

pytestmark = pytest.mark.extras  # a long sweep, which needs nothing but time

SEED = 20261115
"""That of a run, if nothing else is said."""


@pytest.fixture(scope="module")
def run() -> tuple[list[AuditResult], list[str]]:
    told: list[str] = []
    return run_audits(quick=True, seed=SEED, progress=told.append), told


def test_every_audit_of_a_quick_run_passes(run: tuple[list[AuditResult], list[str]]) -> None:
    results, _ = run
    assert [result for result in results if not result.passed] == []


def test_every_sampler_is_drawn_from_and_compared_with_its_own_and_another_scale(
    run: tuple[list[AuditResult], list[str]],
) -> None:
    """On the same draws: the bound on epsilon, the exact probabilities, and wrong ones."""
    results, _ = run
    for sample in samples(quick=True, seed=SEED):
        name, relation = sample.case.mechanism.name, str(sample.case.declared.relation)
        found = [r for r in results if (r.mechanism, r.relation) == (name, relation)]
        assert {"sampling", "fidelity"} <= {r.kind for r in found}
        wrong = (f"{name}, broken on purpose", relation)
        scales = [r for r in results if (r.mechanism, r.relation) == wrong and "scale" in r.claim]
        assert any(r.claim.startswith("Fidelity catches") for r in scales)
    grouped = [r for r in results if "grouped maxima" in r.mechanism and r.kind == "fidelity"]
    assert len(grouped) == len(Law)
    enumerated = {(r.mechanism, r.relation) for r in results if r.kind == "enumeration"}
    for case in all_cases(quick=True):
        assert (case.mechanism.name, str(case.declared.relation)) in enumerated


def test_results_come_in_the_order_of_kinds_and_progress_hears_each(
    run: tuple[list[AuditResult], list[str]],
) -> None:
    results, told = run
    kinds = [result.kind for result in results]
    assert kinds == sorted(kinds, key=KINDS.index)
    assert set(kinds) == set(KINDS)
    assert sorted(told) == sorted(result.claim for result in results)


@pytest.mark.skipif(
    "WINNOW_WHOLE_SWEEPS" not in os.environ, reason="a second run of all audits takes minutes"
)
def test_several_processes_find_the_same(run: tuple[list[AuditResult], list[str]]) -> None:
    assert run_audits(quick=True, seed=SEED, processes=2) == run[0]


def test_claims_are_sentences_with_a_citation(run: tuple[list[AuditResult], list[str]]) -> None:
    results, _ = run
    for result in results:
        assert result.claim.endswith(".")
        if result.kind in ("enumeration", "sampling") and result.mechanism != "the guarantee table":
            assert result.citation
            assert result.relation in ("add-remove", "substitution", "both")


def test_no_claim_is_made_twice(run: tuple[list[AuditResult], list[str]]) -> None:
    results, _ = run
    keys = [(r.kind, r.claim, r.mechanism, r.relation, r.claimed) for r in results]
    assert len(set(keys)) == len(keys)


def test_a_summary_counts_by_kind_and_names_failures(
    run: tuple[list[AuditResult], list[str]],
) -> None:
    results, _ = run
    assert f"All {len(results)} audits passed." in summary(results)
    broken = replace(results[3], passed=False, claim="Something is private.")
    text = summary([*results[:3], broken])
    assert "enumeration: 3 of 4 passed" in text
    assert "FAILED (enumeration): Something is private." in text
    assert "All" not in text
    with pytest.raises(FrozenInstanceError):
        broken.passed = True  # type: ignore[misc]
