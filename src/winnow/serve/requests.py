"""Requests that spend something, their results, and how much each principal has asked."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from winnow.serve.database import View
from winnow.serve.store import ServerStore

RUNNING, DONE, FAILED, REFUSED = "running", "done", "failed", "refused"


@dataclass(frozen=True)
class Request:
    """One request that spends something, by the key that its principal chose."""

    id: str
    principal: str
    key: str
    dataset: str
    kind: str
    digest: str
    """Of the body: another body under the same key is refused."""
    body: str
    """Of a release; of questions, how many fresh answers are put aside until they are answered."""
    state: str
    tape: bytes | None = field(repr=False)
    """The sealed key of its noise, until the result is there."""
    data: str
    """A keyed fingerprint of the data, which must be the same when it is drawn again."""
    accepted: float
    due: float
    """Seconds after which the result appears; twice, four times as many where it is late. Of
    questions: how long the store had been served when they were asked."""
    shown: float | None = None
    """When the result appears, once that is known."""
    result: str | None = None


_REQUEST = (
    "id, principal, key, dataset, kind, digest, body, state, tape, data, accepted, due, shown, "
    "result"
)


_BRIEF = _REQUEST.replace(
    "result", "CASE WHEN kind <> 'questions' AND state = 'done' THEN NULL ELSE result END"
)
"""Without what was released, which may be large; only whoever shows it reads it."""

INSERT = f"INSERT INTO {{requests}} ({_REQUEST}) VALUES ({', '.join('?' * 14)})"


_KEPT = (
    "INSERT INTO {{meta}} VALUES ('{name}', ?) ON CONFLICT (name) "
    "DO UPDATE SET value = excluded.value"
)
_SEEN = _KEPT.format(name="seen")


class Requests:
    """What was asked under which key, written down before it is acted on."""

    def __init__(self, store: ServerStore, ticks: Callable[[], float] = time.monotonic) -> None:
        self._store, self._ticks = store, ticks
        self._began = store.clock() - ticks()
        self._seen = -math.inf
        self._served, self._since = 0.0, ticks()

    def accept(self, request: Request) -> Request:
        """Write a request down before it is acted on; the one that its key names already."""

        def accepted(view: View) -> Request:
            before = self.requested_in(view, request.principal, request.key)
            if before is not None:
                return before
            view.do(INSERT, *vars(request).values())
            about = {"release": request.id, "dataset": request.dataset, "kind": request.kind}
            self._store.note_in(view, request.principal, "release", about)
            return request

        return self._store.change(accepted)

    def forget(self, identity: str) -> None:
        """A request that was refused after it was written down: its key may be used again."""
        self._store.change(lambda view: view.do("DELETE FROM {requests} WHERE id = ?", identity))

    def requested(self, principal: str, key: str) -> Request | None:
        """The request that a principal made under a key."""
        return self._store.read(lambda view: self.requested_in(view, principal, key))

    def requested_in(self, view: View, principal: str, key: str) -> Request | None:
        """The request that a principal made under a key, inside a transaction."""
        row = view.one(
            f"SELECT {_BRIEF} FROM {{requests}} WHERE principal = ? AND key = ?", principal, key
        )
        return None if row is None else Request(*row)

    def request(self, identity: str, *, brief: bool = False) -> Request | None:
        """The request of an id, with or without what was released."""
        columns = _BRIEF if brief else _REQUEST
        row = self._store.read(
            lambda view: view.one(f"SELECT {columns} FROM {{requests}} WHERE id = ?", identity)
        )
        return None if row is None else Request(*row)

    def requests(
        self, *, principal: str | None = None, most: int = 200, questions: bool = False
    ) -> list[Request]:
        """The latest releases, or the latest answers to questions, of one principal or of all."""
        which = "= 'questions' AND result IS NOT NULL" if questions else "<> 'questions'"
        condition, values = ("", ()) if principal is None else ("AND principal = ? ", (principal,))
        rows = self._store.read(
            lambda view: view.all(
                f"SELECT {_BRIEF} FROM {{requests}} WHERE kind {which} {condition}"
                f"ORDER BY accepted DESC LIMIT {int(most)}",
                *values,
            )
        )
        return [Request(*row) for row in rows]

    def seen(self) -> None:
        """Write down that everything which has appeared by now was to be seen."""
        now = self.now()
        last = self._store.read(
            lambda view: view.one(
                "SELECT max(shown) FROM {requests} WHERE kind <> 'questions' AND shown <= ?", now
            )
        )[0]
        if last is not None and last > self._seen:
            self._store.change(lambda view: view.do(_SEEN, repr(now)))
            self._seen = now

    def start(self) -> None:
        """What had not appeared when the last server ended is not there until it begins again.

        What had appeared stays, wherever the machine's clock was set meanwhile.
        """

        def started(view: View) -> None:
            row = view.one("SELECT value FROM {meta} WHERE name = 'seen'")
            seen, now = -math.inf if row is None else float(row[0]), self.now()
            releases = "WHERE kind <> 'questions' AND shown"
            view.do(f"UPDATE {{requests}} SET shown = NULL {releases} > ?", seen)
            view.do(f"UPDATE {{requests}} SET shown = ? {releases} > ?", now, now)
            if row is not None and seen > now:
                view.do(_SEEN, repr(now))
            served = view.one("SELECT value FROM {meta} WHERE name = 'served'")
            self._served, self._since = 0.0 if served is None else float(served[0]), self._ticks()

        self._store.change(started)

    def begin_again(self, dataset: str) -> list[Request]:
        """Releases of a dataset that had not appeared; their times count from now.

        Whether one was complete is not to be seen: it appears when it would if it were drawn anew.
        """

        def begun(view: View) -> list[Request]:
            now = self.now()
            which = "WHERE kind <> 'questions' AND dataset = ? AND"
            view.do(
                "UPDATE {requests} SET accepted = ?, shown = ? + due "
                f"{which} tape IS NULL AND shown IS NULL",
                now,
                now,
                dataset,
            )
            view.do(
                "UPDATE {requests} SET accepted = ?, shown = NULL, state = ? "
                f"{which} tape IS NOT NULL",
                now, RUNNING, dataset,
            )  # fmt: skip
            rows = view.all(
                f"SELECT {_BRIEF} FROM {{requests}} {which} (shown IS NULL OR shown > ?) "
                "ORDER BY due, id",
                dataset, now,
            )  # fmt: skip
            return [Request(*row) for row in rows]

        return self._store.change(begun)

    def now(self) -> float:
        """The time by a clock that nobody sets: the store's when this began, and since then ticks.

        Public times are counted by it: whoever sets the machine's clock moves none of them.
        """
        return self._began + self._ticks()

    def served(self) -> float:
        """Seconds in which this store was served, by one server after another.

        The age of answers is counted by it: whoever sets the machine's clock ages none of them.
        """
        return self._served + self._ticks() - self._since

    def keep_served(self) -> None:
        """Write it down; what is lost when a server is killed only keeps answers longer."""
        self._store.change(lambda view: view.do(_KEPT.format(name="served"), repr(self.served())))

    def finish(
        self, identity: str, state: str, result: str, shown: float, files: dict[str, str]
    ) -> None:
        """Write a result down with its files; unless it failed, forget the key of its noise."""

        def finished(view: View) -> None:
            now = view.one("SELECT state FROM {requests} WHERE id = ?", identity)
            if now is not None and now[0] in (DONE, REFUSED):  # another process was first
                return
            view.do("DELETE FROM {files} WHERE request = ?", identity)
            for name, content in files.items():
                view.do("INSERT INTO {files} VALUES (?, ?, ?)", identity, name, content)
            if state != FAILED:
                view.do("UPDATE {requests} SET tape = NULL WHERE id = ?", identity)
            view.do(
                "UPDATE {requests} SET state = ?, result = ?, shown = ? WHERE id = ?",
                state, result, shown, identity,
            )  # fmt: skip

        self._store.change(finished)

    def forget_answers(self, before: float, most: int) -> int:
        """Forget the oldest answers that were given before the store was served so long; how many.

        What was asked stays counted: quotas are numbers of their own, and a session knows what it
        answered. A line of the audit log says what went.
        """
        oldest = (
            "FROM {requests} WHERE kind = 'questions' AND due < ? "
            f"ORDER BY due, id LIMIT {int(most)}"
        )

        def forgotten(view: View) -> int:
            number = len(view.all(f"SELECT id {oldest}", before))
            if number:
                view.do(f"DELETE FROM {{requests}} WHERE id IN (SELECT id {oldest})", before)
                self._store.note_in(view, "server", "answers forgotten", {"requests": number})
            return number

        return self._store.change(forgotten)

    def file(self, identity: str, name: str) -> str | None:
        """A file of a release; None: there is none of this name."""
        row = self._store.read(
            lambda view: view.one(
                "SELECT content FROM {files} WHERE request = ? AND name = ?", identity, name
            )
        )
        return None if row is None else str(row[0])
