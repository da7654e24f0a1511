"""What goes wrong, as problem+json [RFC 9457]: public errors as they are, all else as an id."""

from __future__ import annotations

import logging
import secrets
import traceback

import msgspec

from winnow.errors import (
    BudgetExceeded,
    GuaranteeError,
    ParameterError,
    RelationMismatch,
    SessionExhausted,
    WinnowError,
)

LOG = logging.getLogger("winnow.serve")


class ProblemBody(msgspec.Struct, frozen=True, omit_defaults=True):
    """The body of every answer that is no success."""

    type: str
    """One of a fixed list of words, after urn:winnow:problem:."""
    title: str
    status: int
    detail: str = ""
    """What was given, why it is refused, and what would do."""
    id: str = ""
    """Of an internal error: the owner finds it in the log."""


class Refusal(WinnowError):
    """A request that is refused for a public reason."""

    public = True

    def __init__(self, word: str, detail: str = "", *, headers: dict[str, str] | None = None):
        super().__init__(detail or TITLES[word][1])
        self.word, self.detail, self.headers = word, detail, headers or {}

    @property
    def problem(self) -> ProblemBody:
        """The problem in the words of the answer."""
        status, title = TITLES[self.word]
        return ProblemBody(f"urn:winnow:problem:{self.word}", title, status, self.detail)


TITLES: dict[str, tuple[int, str]] = {
    "unreadable": (400, "The request cannot be read"),
    "no-token": (401, "A valid token is needed"),
    "not-allowed": (403, "The token does not allow this"),
    "wrong-origin": (403, "The request came from another site"),
    "not-found": (404, "There is no such thing, or it is not yours to see"),
    "wrong-method": (405, "The address has no such method"),
    "budget": (409, "The budget refuses it; nothing was spent"),
    "exhausted": (409, "All that was paid for was released"),
    "pending": (409, "It is not there yet"),
    "too-large": (413, "The request is too large"),
    "other-body": (422, "The key was used for another request"),
    "invalid": (422, "The request is not valid; nothing was spent"),
    "too-many": (429, "Too many requests"),
    "internal": (500, "The server failed; what was charged stays charged"),
    "busy": (503, "Too much is waiting; nothing was drawn"),
}


def refusal_of(error: WinnowError) -> Refusal | None:
    """What a client may be told of an error; None: nothing but that there was one."""
    match error:
        case Refusal():
            return error
        case BudgetExceeded():
            return Refusal("budget", str(error))
        case SessionExhausted():
            return Refusal("exhausted", str(error))
        case ParameterError() | GuaranteeError() | RelationMismatch():
            return Refusal("invalid", str(error))
        case _:
            return None


def internal() -> ProblemBody:
    """An error of which nothing may be told; the id finds it in the owner's log."""
    status, title = TITLES["internal"]
    return ProblemBody(
        "urn:winnow:problem:internal",
        title,
        status,
        "ask the owner, who finds the details under this id",
        secrets.token_hex(8),
    )


def log_failure(what: str, error: BaseException) -> str:
    """Into the owner's log: the type and the place of an error, and an id; never its text.

    The message of an error of ours quotes no value, and is written, too.
    """
    identity = secrets.token_hex(8)
    places = traceback.extract_tb(error.__traceback__)
    place = f" at {places[-1].filename}:{places[-1].lineno}" if places else ""
    text = f": {error}" if isinstance(error, WinnowError) else ""
    LOG.error("%s [%s] %s%s%s", what, identity, type(error).__name__, place, text)
    return identity
