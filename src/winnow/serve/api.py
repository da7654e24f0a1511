"""The endpoints under /v1: one table, from which routes, authorization and OpenAPI are made."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from winnow.errors import ParameterError
from winnow.serve import bodies, replies
from winnow.serve.jobs import check_key
from winnow.serve.planning import Wait
from winnow.serve.principals import Principal
from winnow.serve.problems import Refusal
from winnow.serve.service import Service


@dataclass(frozen=True)
class Call:
    """One request after it was read: who asks what."""

    service: Service
    who: Principal
    path: Mapping[str, str]
    query: Mapping[str, str]
    body: Any
    key: str | None
    """The Idempotency-Key."""
    wait: Wait = field(default_factory=Wait)
    """Whoever waits for the answer."""


@dataclass(frozen=True)
class Endpoint:
    """One method of one address."""

    method: Literal["GET", "POST", "PUT", "DELETE"]
    path: str
    name: str
    scope: str
    """The scope that a token needs."""
    roles: tuple[str, ...]
    answers: type
    run: Callable[[Call], Any]
    body: type | None = None
    spends: bool = False
    """Whether it needs an Idempotency-Key."""
    status: int = 200
    pace: Literal["quick", "usual", "long"] = "usual"
    """What only puts something into a queue is quick, and runs in the loop; what may take long
    needs one of its principal's places, and is ended when nobody waits."""
    query: tuple[str, ...] = ()
    text: str = "application/json"
    """The type of what is answered."""

    def allows(self, who: Principal) -> bool:
        """Whether a principal may use it, here and on the pages that stand on it."""
        return who.role in self.roles and self.scope in who.scopes

    def check(self, who: Principal) -> None:
        """Refuse whoever may not use it."""
        if not self.allows(who):
            raise Refusal(
                "not-allowed", f"this needs the scope {self.scope!r} of: {', '.join(self.roles)}"
            )


BOTH, OWNER, ANALYST = ("owner", "analyst"), ("owner",), ("analyst",)


def _key(call: Call) -> str:
    return check_key(call.key)


def _after(call: Call) -> int:
    text = call.query.get("after", "0")
    if not (text.isascii() and text.isdecimal()) or len(text) > 18:
        raise ParameterError("after is the number of a line; give 0 or more")
    return int(text)


ENDPOINTS: tuple[Endpoint, ...] = (
    Endpoint(
        "GET", "/v1/me", "whoAmI", "read", BOTH, replies.Me,
        lambda c: replies.Me(c.who.name, c.who.role, sorted(c.who.scopes)),
    ),
    Endpoint(
        "GET", "/v1/datasets", "listDatasets", "read", BOTH, replies.DatasetList,
        lambda c: c.service.datasets(c.who),
    ),
    Endpoint(
        "GET", "/v1/datasets/{dataset}/schema", "getSchema", "read", BOTH, replies.SchemaAnswer,
        lambda c: c.service.schema(c.who, c.path["dataset"]),
    ),
    Endpoint(
        "GET", "/v1/datasets/{dataset}/budget", "getBudget", "read", BOTH, replies.BudgetAnswer,
        lambda c: c.service.budget(c.who, c.path["dataset"]),
    ),
    Endpoint(
        "POST", "/v1/datasets/{dataset}/plans", "plan", "read", BOTH, replies.PlanAnswer,
        lambda c: c.service.plan(c.who, c.path["dataset"], c.body, c.wait),
        bodies.PlanBody, pace="long",
    ),
    Endpoint(
        "POST", "/v1/datasets/{dataset}/releases", "release", "release", ANALYST, replies.JobAnswer,
        lambda c: c.service.release(c.who, c.path["dataset"], c.body, _key(c), c.wait),
        bodies.ReleaseBody, spends=True, status=202, pace="long",
    ),
    Endpoint(
        "POST", "/v1/datasets/{dataset}/questions", "ask", "ask", ANALYST, replies.AnswersAnswer,
        lambda c: c.service.ask(c.who, c.path["dataset"], c.body, _key(c)),
        bodies.QuestionsBody, spends=True, pace="quick",
    ),
    Endpoint(
        "GET", "/v1/answers", "listAnswers", "read", BOTH, replies.PastList,
        lambda c: c.service.past_answers(c.who),
    ),
    Endpoint(
        "GET", "/v1/jobs", "listJobs", "read", BOTH, replies.JobList,
        lambda c: c.service.job_list(c.who),
    ),
    Endpoint(
        "GET", "/v1/jobs/{job}", "getJob", "read", BOTH, replies.JobAnswer,
        lambda c: c.service.job(c.who, c.path["job"]),
    ),
    Endpoint(
        "GET", "/v1/releases/{release}", "getRelease", "read", BOTH, replies.ReleaseAnswer,
        lambda c: c.service.released(c.who, c.path["release"]),
    ),
    Endpoint(
        "GET", "/v1/releases/{release}/receipt", "getReceipt", "read", BOTH, dict,
        lambda c: c.service.receipt(c.who, c.path["release"]),
    ),
    Endpoint(
        "GET", "/v1/releases/{release}/{file}", "download", "read", BOTH, str,
        lambda c: c.service.download(c.who, c.path["release"], c.path["file"]), text="text/csv",
    ),
    Endpoint(
        "GET", "/v1/datasets/{dataset}/shares", "listShares", "manage", OWNER, replies.ShareList,
        lambda c: c.service.shares(c.who, c.path["dataset"]),
    ),
    Endpoint(
        "PUT", "/v1/datasets/{dataset}/shares/{analyst}", "setShare", "manage", OWNER,
        replies.ShareItem,
        lambda c: c.service.set_share(c.who, c.path["dataset"], c.path["analyst"], c.body),
        bodies.ShareBody,
    ),
    Endpoint(
        "PUT", "/v1/datasets/{dataset}/grants/{analyst}", "grant", "manage", OWNER, replies.Done,
        lambda c: c.service.set_grant(c.who, c.path["dataset"], c.path["analyst"], granted=True),
    ),
    Endpoint(
        "DELETE", "/v1/datasets/{dataset}/grants/{analyst}", "endGrant", "manage", OWNER,
        replies.Done,
        lambda c: c.service.set_grant(c.who, c.path["dataset"], c.path["analyst"], granted=False),
    ),
    Endpoint(
        "GET", "/v1/datasets/{dataset}/spending", "getSpending", "audit", OWNER, replies.Spending,
        lambda c: c.service.spending(c.who, c.path["dataset"]),
    ),
    Endpoint(
        "GET", "/v1/tokens", "listTokens", "manage", OWNER, replies.TokenList,
        lambda c: c.service.tokens(),
    ),
    Endpoint(
        "POST", "/v1/tokens", "newToken", "manage", OWNER, replies.NewToken,
        lambda c: c.service.new_token(c.who, c.body), bodies.TokenBody, status=201,
    ),
    Endpoint(
        "DELETE", "/v1/tokens/{token}", "revokeToken", "manage", OWNER, replies.Done,
        lambda c: c.service.revoke(c.who, c.path["token"]),
    ),
    Endpoint(
        "GET", "/v1/ledger/export", "exportLedger", "audit", OWNER, replies.LedgerExport,
        lambda c: c.service.ledger_export(),
    ),
    Endpoint(
        "GET", "/v1/ledger/verify", "verifyLedger", "audit", OWNER, replies.Verified,
        lambda c: c.service.ledger_verify(c.query.get("head")), query=("head",),
    ),
    Endpoint(
        "GET", "/v1/audit", "getAuditLog", "audit", OWNER, replies.AuditList,
        lambda c: c.service.audit_log(_after(c)), query=("after",),
    ),
)  # fmt: skip
"""Every address under /v1. A test fails where an endpoint lacks its row of authorization."""

_BY_SHAPE: dict[tuple[str, int], list[tuple[Endpoint, list[str]]]] = {}
for _each in ENDPOINTS:
    _words = _each.path.split("/")
    _BY_SHAPE.setdefault((_each.method, len(_words)), []).append((_each, _words))


def endpoint_at(method: str, path: str) -> tuple[Endpoint, dict[str, str]] | None:
    """The endpoint of an address, and what the address names; None: there is none."""
    given = path.split("/")
    for endpoint, words in _BY_SHAPE.get((method, len(given)), ()):
        named = {}
        for word, text in zip(words, given, strict=True):
            if word[:1] == "{" and text:
                named[word[1:-1]] = text
            elif word != text:
                break
        else:
            return endpoint, named
    return None
