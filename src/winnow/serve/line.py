"""The way from a client to a server: one request, sent again where that changes nothing."""

from __future__ import annotations

import http.client
import ipaddress
import json
import time
import urllib.error
import urllib.request
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import numpy as np

from winnow.errors import BudgetExceeded, DataError, ParameterError, SessionExhausted, WinnowError
from winnow.foreign import reason

_AGAIN = {"busy", "too-many"}
"""Refusals that pass by themselves: nothing was drawn."""
_ERRORS: dict[str, type[WinnowError]] = {
    "budget": BudgetExceeded,
    "exhausted": SessionExhausted,
    "internal": DataError,
    "busy": DataError,
    "too-many": DataError,
}
"""What a problem of the server is raised as; all others are wrong requests."""
FIRST_PAUSE, _LONGEST_PAUSE = 0.1, 5.0
MOST_QUESTIONS, MOST_BYTES = 1000, 64_000
"""Of one request: a server takes no more, and its bytes count the rest of a body, too."""


def on_this_machine(host: str) -> bool:
    """Whether a host is this machine, so that nothing crosses a network."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """A token goes to the address that it was given for, and to no other."""

    def redirect_request(self, *_: Any, **__: Any) -> None:
        """Follow nothing."""
        return


@dataclass(frozen=True)
class Line:
    """The way to a server: an address, and who asks."""

    url: str
    token: str = field(repr=False)
    patience: float

    def ask(
        self, method: str, path: str, body: Any = None, key: str | None = None, text: bool = False
    ) -> Any:
        """What the server answers; asked again where that changes nothing but the moment."""
        end = time.monotonic() + self.patience
        pause = FIRST_PAUSE
        while True:
            status, content, problem = self._once(method, path, body, key)
            if 200 <= status < 300:
                return content.decode() if text else json.loads(content)
            word, said = _told(content) if not problem else ("", problem)
            if (word and word not in _AGAIN and not _unfinished(word, method, key)) or (
                time.monotonic() + pause > end
            ):
                raise _ERRORS.get(word, ParameterError if word else DataError)(said)
            time.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE)

    def _once(
        self, method: str, path: str, body: Any, key: str | None
    ) -> tuple[int, bytes, str]:  # fmt: skip
        """Status, body, and what is wrong where there is no answer of the server at all."""
        headers = {"authorization": f"Bearer {self.token}", "accept": "application/json"}
        content = None if body is None else json.dumps(body, default=_plain).encode()
        if content is not None:
            headers["content-type"] = "application/json"
        if key is not None:
            headers["idempotency-key"] = key
        request = urllib.request.Request(self.url + path, content, headers, method=method)
        try:
            with self._opener().open(request, timeout=max(10.0, self.patience)) as answer:
                return answer.status, answer.read(), ""
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.read(), ""
        except (OSError, http.client.HTTPException) as error:
            cause = getattr(error, "reason", error)
            why = reason(cause) if isinstance(cause, BaseException) else type(error).__name__
            return 0, b"", f"the server at {self.url} cannot be reached: {why}"

    def _opener(self) -> urllib.request.OpenerDirector:
        local = on_this_machine(urlsplit(self.url).hostname or "")
        handlers: list[Any] = [_NoRedirect()]
        return urllib.request.build_opener(
            *handlers, *([urllib.request.ProxyHandler({})] if local else [])
        )


def portioned(questions: list[Any]) -> list[list[Any]]:
    """Questions in as few requests as a server takes: of so many questions and bytes each."""
    portions: list[list[Any]] = [[]]
    size = 0
    for each in questions:
        length = len(json.dumps(each, default=_plain).encode()) + 2
        if portions[-1] and (len(portions[-1]) == MOST_QUESTIONS or size + length > MOST_BYTES):
            portions.append([])
            size = 0
        portions[-1].append(each)
        size += length
    return portions


def _told(content: bytes) -> tuple[str, str]:
    """The word of a problem, and what it says."""
    try:
        problem = json.loads(content)
        word = str(problem["type"]).removeprefix("urn:winnow:problem:")
        said = str(problem.get("detail") or problem["title"])
    except (ValueError, KeyError, TypeError, AttributeError):
        return "internal", "the address answers, but not as a server of winnow serve"
    return word, f"{said} [{problem['id']}]" if problem.get("id") else said


def _unfinished(word: str, method: str, key: str | None) -> bool:
    """Whether the same key is being answered right now."""
    return word == "pending" and method == "POST" and key is not None


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    raise ParameterError(f"{type(value).__name__} cannot be sent to a server; give plain values")
