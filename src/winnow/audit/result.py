"""What one audit found, and how a run of audits is summed up."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

Kind = Literal["enumeration", "sampling", "fidelity", "accounting", "replay", "twin"]

KINDS: tuple[Kind, ...] = ("enumeration", "sampling", "fidelity", "accounting", "replay", "twin")


@dataclass(frozen=True)
class AuditResult:
    """One claim, what it promises, what was measured, and whether it held.

    For ``kind="twin"`` the subject is broken on purpose, and the audit passes when it
    caught it.
    """

    kind: Kind
    claim: str
    mechanism: str
    relation: str
    citation: str
    claimed: float
    measured: float
    passed: bool
    detail: str


def as_twin(fault: str, audit: str, result: AuditResult) -> AuditResult:
    """A failed audit of something broken is a success."""
    return replace(
        result,
        kind="twin",
        claim=f"{audit} catches that {fault}.",
        mechanism=f"{result.mechanism}, broken on purpose",
        passed=not result.passed,
        detail=f"{'NOT CAUGHT' if result.passed else 'caught'}: {result.claim} {result.detail}",
    )


def summary(results: Sequence[AuditResult]) -> str:
    """One line per kind, then every failure by name."""
    total, passed = Counter(r.kind for r in results), Counter(r.kind for r in results if r.passed)
    lines = [f"{kind}: {passed[kind]} of {total[kind]} passed" for kind in KINDS if total[kind]]
    for result in results:
        if not result.passed:
            lines.append(
                f"FAILED ({result.kind}): {result.claim} "
                f"Claimed {result.claimed:.6g}, measured {result.measured:.6g}. {result.detail}"
            )
    if len(results) == sum(passed.values()):
        lines.append(f"All {len(results)} audits passed.")
    return "\n".join(lines)
