"""Every audit catches its deliberately broken twins, and only those."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from _pytest.mark import ParameterSet

import winnow
from reference.audited import Case, enumerate_case
from winnow.audit import broken
from winnow.audit.accounting import repeat_costs_its_count
from winnow.audit.broken import cost_repeat_once
from winnow.audit.twins import Twin, by_enumeration, by_fidelity, by_sampling, twins
from winnow.privacy import zcdp_cost

SEED = 20261115 + 1000


def name_of(twin: Twin) -> str:
    return f"{twin.fault} ({twin.honest.name})"


def audited() -> Iterator[ParameterSet]:
    """Every twin under every audit; what takes 20,000 lists of Gaussian counts is an extra."""
    for twin in twins(quick=True):
        for audit in (by_enumeration, by_sampling, by_fidelity):
            long = audit is not by_enumeration and "Gaussian" in twin.fault
            marks = [pytest.mark.extras] if long else []
            yield pytest.param(twin, audit, marks=marks, id=f"{name_of(twin)}-{audit.__name__}")


@pytest.mark.parametrize(("twin", "audit"), list(audited()))
def test_the_audit_catches(twin: Twin, audit: object) -> None:
    assert callable(audit)
    result = audit(twin, SEED)
    assert result.passed, result
    assert result.detail.startswith("caught")
    assert result.kind == "twin"


@pytest.mark.parametrize("twin", twins(quick=True), ids=name_of)
def test_the_honest_mechanism_beside_the_twin_passes(twin: Twin) -> None:
    for result in enumerate_case(Case(twin.honest, twin.declared), quick=True):
        assert result.passed, result


@pytest.mark.parametrize("twin", twins(quick=True), ids=name_of)
def test_a_twin_claims_what_the_honest_mechanism_claims(twin: Twin) -> None:
    relation = twin.declared.relation
    assert twin.broken.promise(relation) == twin.honest.promise(relation)


def test_accounting_catches_a_loop_that_is_charged_once() -> None:
    assert repeat_costs_its_count(zcdp_cost).passed
    assert not repeat_costs_its_count(cost_repeat_once).passed


def test_broken_mechanisms_say_so_and_are_imported_by_audits_only() -> None:
    for name, thing in vars(broken).items():
        if name.startswith("Broken"):
            assert thing.__doc__.startswith("BROKEN")
    package = Path(winnow.__file__).parent
    for path in package.rglob("*.py"):
        text = path.read_text()
        if path.parent.name == "audit" or not re.search(r"\b(broken|twins)\b", text):
            continue
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.ImportFrom):
                assert node.module not in ("winnow.audit.broken", "winnow.audit.twins"), path
