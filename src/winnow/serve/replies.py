"""What the server answers under /v1: typed, and the source of the OpenAPI."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from winnow.serve.bodies import Value


class DatasetItem(msgspec.Struct, frozen=True):
    """One dataset in the list."""

    name: str
    kind: str
    about: str
    relation: str
    releases: list[str]
    """The kinds of release that fit it."""
    questions: bool
    """Whether questions can be asked."""
    ready: bool
    """Whether it is open; one that was added a moment ago may not be yet."""


class DatasetList(msgspec.Struct, frozen=True):
    """The datasets that one may see."""

    datasets: list[DatasetItem]


class SchemaAnswer(msgspec.Struct, frozen=True):
    """What is public of a dataset."""

    name: str
    kind: str
    about: str
    relation: str
    unit: str
    """Whose presence is protected."""
    columns: dict[str, Any]
    """The schema of a table, as winnow schema writes it."""
    labels: dict[str, list[Value]]
    """The values of each column, or the items, where they are public."""
    rows: int | None
    """The number of rows, where it is public."""
    session: dict[str, Any] | None
    """The interactive session: its guarantee, its method, and what is left of it."""


class Used(msgspec.Struct, frozen=True):
    """An amount of a budget in its own unit."""

    unit: str
    spent: float
    left: float
    cap: float
    delta_left: float


class ShareItem(msgspec.Struct, frozen=True):
    """What one analyst has used, and may use."""

    analyst: str
    part: float | None
    spent: float
    left: float


class BudgetAnswer(msgspec.Struct, frozen=True):
    """What is left for me, and what was used by everyone."""

    dataset: str
    guarantee: str
    mine: Used | None
    """None for an owner, who spends nothing."""
    everyone: Used
    charges: int
    analysts: list[ShareItem]
    """For an owner: everyone who has a share or has charged."""


class PlanAnswer(msgspec.Struct, frozen=True):
    """What to expect of a release; nothing was read or spent."""

    kind: str
    epsilon: float
    delta: float
    error: float | None
    """In rows or counts; None: nothing is known beforehand."""
    error_says: str
    """Which error it is."""
    curve: list[tuple[float, float | None]]
    seconds: float
    """After so long the result appears."""
    fits: bool
    refused: str
    """Why it does not fit, and what would."""
    cost: float | None
    """In the unit of the budget."""
    left_after: Used | None
    charged: str
    """The event that would be charged, in words."""
    details: dict[str, Any]


class JobAnswer(msgspec.Struct, frozen=True, omit_defaults=True):
    """A release on its way. Progress is the public time, never what is done so far."""

    id: str
    dataset: str
    kind: str
    analyst: str
    state: Literal["running", "done", "failed", "refused"]
    accepted: float
    due: float
    """When its result appears, in seconds since 1970."""
    order: dict[str, Any]
    problem: str = ""
    release: str = ""
    """Where the release is, once it is there."""


class JobList(msgspec.Struct, frozen=True):
    """Releases, the latest first."""

    jobs: list[JobAnswer]


class ReleaseAnswer(msgspec.Struct, frozen=True):
    """What was released."""

    id: str
    dataset: str
    kind: str
    order: dict[str, Any]
    value: Any
    guarantee: dict[str, Any]
    receipt: dict[str, Any]
    downloads: list[str]
    margin: int | None = None
    """Of a top k with counts: each is within this of what was counted with probability 0.95."""
    cut: dict[str, Any] | None = None
    """An estimate of what a bound left out, where ``with_cut`` asked for one."""


class AnswerItem(msgspec.Struct, frozen=True):
    """One answer: a share of the rows, the same as a number of rows, and how far off it may be."""

    question: str
    value: float
    count: float
    kind: str
    error: float | None
    confidence: float
    adaptive: bool = False
    """False: the error holds for questions that do not depend on earlier answers only."""


class AnswersAnswer(msgspec.Struct, frozen=True):
    """The answers, in the order of the questions."""

    dataset: str
    answers: list[AnswerItem]
    guarantee: str
    receipt: dict[str, Any]
    left: int | None
    """How many questions you may still ask; None: no number was set."""


class PastAnswers(msgspec.Struct, frozen=True):
    """Questions that were asked before, with the answers that were given."""

    asked: float
    """When, in seconds since 1970."""
    analyst: str
    dataset: str
    answers: list[AnswerItem]
    counted: str
    """What was counted, where a bound may have left something out; else empty."""


class PastList(msgspec.Struct, frozen=True):
    """What was asked, the latest first."""

    past: list[PastAnswers]


class ShareList(msgspec.Struct, frozen=True):
    """All shares of a dataset."""

    shares: list[ShareItem]
    granted: list[str]
    """Who may see the dataset."""


class TokenItem(msgspec.Struct, frozen=True):
    """What may be told of a token."""

    id: str
    name: str
    role: str
    scopes: list[str]
    created: float
    expires: float | None
    revoked: float | None


class TokenList(msgspec.Struct, frozen=True):
    """All tokens, without what they are."""

    tokens: list[TokenItem]


class NewToken(msgspec.Struct, frozen=True):
    """A token that was made; it is shown this once."""

    id: str
    token: str

    def __rich_repr__(self) -> list[tuple[str, str]]:
        """What it is called; the token itself is in the answer alone."""
        return [("id", self.id)]

    def __repr__(self) -> str:
        return f"NewToken(id={self.id!r})"


class Done(msgspec.Struct, frozen=True):
    """It is done."""

    done: bool = True


class LedgerExport(msgspec.Struct, frozen=True):
    """Every entry of the ledger."""

    name: str
    entries: list[dict[str, Any]]


class Verified(msgspec.Struct, frozen=True):
    """What a check of the ledger and of the audit log found."""

    ok: bool
    entries: int
    head: str
    problem: str
    audit_log: str
    """What is wrong with the audit log; empty: nothing."""


class AuditItem(msgspec.Struct, frozen=True):
    """One line of the audit log."""

    sequence: int
    time: float
    who: str
    what: str
    detail: dict[str, Any]
    tag: str


class AuditList(msgspec.Struct, frozen=True):
    """Lines of the audit log, in order."""

    lines: list[AuditItem]


class SpendingItem(msgspec.Struct, frozen=True):
    """One charge: when, by whom, and how much was used after it."""

    time: str
    analyst: str
    charged: str
    spent: float


class Spending(msgspec.Struct, frozen=True):
    """All charges of a dataset, in order."""

    unit: str
    cap: float
    spent_so_far: str
    """What they come to at one delta, in words; valid at any time."""
    charges: list[SpendingItem]


class Me(msgspec.Struct, frozen=True):
    """Who the token stands for."""

    name: str
    role: str
    scopes: list[str]


class Health(msgspec.Struct, frozen=True):
    """Whether the server runs, and whether it can answer."""

    ok: bool
    detail: str = ""
