"""Who asks, and what they may do: two roles, and scopes that a token may leave out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from winnow.errors import DataError, ParameterError
from winnow.foreign import instead
from winnow.privacy.ledger.labels import check_analyst
from winnow.serve.declarations import HOUSE
from winnow.serve.problems import Refusal

Role = Literal["owner", "analyst"]
ROLES: tuple[Role, ...] = get_args(Role)

SCOPES: dict[str, dict[str, str]] = {
    "analyst": {
        "read": "see schemas, budgets and one's own results, and make plans",
        "ask": "ask questions",
        "release": "spend budget on releases",
    },
    "owner": {
        "read": "see schemas, budgets and all results, and make plans",
        "manage": "tokens (of analysts only together with read), grants and shares",
        "audit": "the ledger and the audit log",
    },
}
"""What each role may do at most. Owners have the data; they do not ask through the server."""


@dataclass(frozen=True)
class Principal:
    """Whoever a valid token stands for."""

    name: str
    role: Role
    scopes: frozenset[str]
    token: str
    """The id of the token, which is no secret."""


@dataclass(frozen=True)
class Token:
    """What may be told of a token."""

    id: str
    principal: str
    role: str
    scopes: tuple[str, ...]
    created: float
    expires: float | None
    revoked: float | None


def parse_scopes(role: str, text: str) -> frozenset[str]:
    """The scopes that a text lists; none: all of the role."""
    possible = SCOPES[role]
    asked = frozenset(text.replace(",", " ").split()) or frozenset(possible)
    unknown = sorted(asked - set(possible))
    if unknown:
        raise ParameterError(
            f"scope {unknown[0]!r} is not one of the role {role!r}; it has {', '.join(possible)}"
        )
    return asked


def check_may_make(who: Principal, role: str, scopes: frozenset[str]) -> None:
    """Refuse a token that would see or do more than that of the owner who makes it.

    Analysts see results, and ask and spend; so whoever may not see results makes no token for
    one, be it a new analyst or one who is there.
    """
    if role == who.role and not scopes <= who.scopes:
        more = ", ".join(sorted(scopes - who.scopes))
        raise Refusal("not-allowed", f"your own token lacks: {more}; leave it out of scopes")
    if role != who.role and "read" not in who.scopes:
        raise Refusal(
            "not-allowed",
            "your own token lacks: read; analysts see results, so making their tokens needs it",
        )


def check_principal(name: str) -> None:
    """Refuse a name that the ledger could not keep apart, or that stands for the server."""
    with instead(lambda error: ParameterError(str(error)), DataError):
        check_analyst(name)
    if name == HOUSE or "/" in name:
        raise ParameterError(
            f"the name {name!r} is taken by the server or has a '/'; choose another"
        )
