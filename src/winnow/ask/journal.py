"""The state file of an interactive session: what must survive a crash, and the key of its noise.

Two files that only their owner can read. The journal is a list of JSON lines: what is about to
be opened (written before the charge, so that a charge is found again by whoever was killed right
after it), how many places of the tape are used up (written before any of them is drawn), and
each count that was released (written before it is shown). A last line that is cut off was never
acted on. The key file holds the key of the noise: it is as private as the data.

No noise value is ever used for two questions, not even when an old copy of the journal is put
back: whoever goes on with a session writes fresh entropy into the journal first, and draws from a
tape of its own. (The noise of the prior belongs to the same counts whenever it is drawn, and
stays the same. A seeded session stays repeatable; seeds are not private anyway.)

An old copy also forgets releases, and would release more counts than were charged. With a ledger
that is refused: the ledger is told the head of the journal (a chain of HMACs over its lines)
whenever something was released, before it is shown, and a journal that lacks that head is an
older copy or was edited. Without a ledger nobody can tell.

A release that cannot be written down is not shown, but the failure itself may tell that there was
one. So whoever goes on with a session that did not end cleanly counts one release more than were
written down.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import secrets
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from winnow.ask import state_files
from winnow.ask.kept import ELSEWHERE, Kept, Release
from winnow.ask.questions import Question
from winnow.core.process import Owner
from winnow.core.replacing import SESSION
from winnow.core.schema import Schema
from winnow.core.tape import Tape
from winnow.errors import DataError, LedgerError
from winnow.foreign import instead, reason
from winnow.privacy import Event
from winnow.privacy.ledger import RecordedSession, SessionMark
from winnow.read.crossing import SealedTable, fingerprint

VERSION = 3
_READ = (2, VERSION)
"""Of version 2 only the plan was written in another way (``ask.written``)."""
_LONGEST = -(10**30)
"""No noisy count takes more digits."""


class Journal:
    """An open state file, locked: one process at a time."""

    def __init__(self, path: Path, handle: int, key: bytes) -> None:
        self._path, self._handle, self._key = path, handle, key
        self._heads = [hmac.new(key, b"winnow-journal", hashlib.sha256).digest()]
        self._recorded: RecordedSession | None = None
        self._updates = self._lost = 0
        self._begun = False
        self._owner = Owner()
        self.records: list[dict[str, Any]] = []
        self.noise = "rounds"
        """The name of the part of the tape from which this opening draws."""

    @classmethod
    def create(
        cls,
        path: str | Path,
        table: SealedTable,
        header: Mapping[str, Any],
        seed: int | None,
        ledger: Mapping[str, Any] | None = None,
    ) -> Journal:
        """A new state file for a session that is about to be charged (to this ledger)."""
        place = Path(path)
        key = secrets.token_bytes(64) if seed is None else _seeded_key(seed)
        if state_files.key_path(place).exists():
            raise DataError(f"{state_files.key_path(place)} exists already; name another file")
        handle = state_files.new_file(place, "the state")
        try:
            state_files.write_key(state_files.key_path(place), key)
        except BaseException:  # a key that is there is somebody else's
            os.close(handle)
            place.unlink(missing_ok=True)
            raise
        try:
            state_files.lock(handle, place)
            journal = cls(place, handle, key)
            document = {
                "winnow-interactive": VERSION,
                "session": secrets.token_hex(16),
                "randomness": "os" if seed is None else "seeded",
                "ledger": ledger,
                "plan": header,
            }
            document["data"] = _mark(key, table, document)
            journal._append(document)
            state_files.sync_folder(place)
        except BaseException:
            os.close(handle)
            state_files.discard(place)
            raise
        return journal

    @classmethod
    def open(cls, path: str | Path, table: SealedTable) -> Journal:
        """The state file of a session that was opened before, for the same table."""
        place = Path(path)
        with instead(
            lambda error: DataError(
                f"the state {place} cannot be opened: {reason(error)}; check the path"
            ),
            OSError,
        ):
            handle = os.open(place, os.O_RDWR | os.O_APPEND)
        try:
            state_files.lock(handle, place)
            lines = state_files.whole_lines(handle, place, SESSION)
            if not lines:
                raise state_files.never_charged(place)
            journal = cls(place, handle, state_files.read_key(state_files.key_path(place)))
            journal._read(lines)
            journal._check(table)
            state_files.drop_cut_line(handle, lines)
        except BaseException:
            os.close(handle)
            raise
        return journal

    def tape(self) -> Tape:
        """The tape of the session's noise."""
        return Tape(self._key, self.header["randomness"])

    @property
    def header(self) -> dict[str, Any]:
        """What was opened."""
        return self.records[0]

    @property
    def session(self) -> str:
        """The name under which a ledger knows the session."""
        return str(self.header["session"])

    def bind(self, recorded: RecordedSession) -> None:
        """From now on the ledger is told of every release before it is shown."""
        self._recorded = recorded

    def opened(self, record: str) -> None:
        """The session is charged; `record` is the head of the ledger."""
        self._append({"opened": record})

    def go_on(self, recorded: RecordedSession | None, event: Event) -> Kept:
        """Go on with a session: find its charge, refuse an older copy, take fresh entropy."""
        mark = None
        if recorded is not None:
            mark = recorded.latest()
            if self._opened is None and (charged := recorded.charged(event)) is not None:
                self.opened(charged)  # killed right after the charge
            recorded.check_charge(self.record, event)
            self._contains(mark)
        kept = self.kept(self.record, mark)
        fresh = secrets.token_hex(32)
        self._append({"entropy": fresh, "lost": int(self._unclean)})
        if self.header["randomness"] == "os":
            self.noise = f"rounds-{fresh}"
        if recorded is not None:
            self.bind(recorded)
            self.tell_ledger(kept.crossings)
        return kept

    def _contains(self, mark: SessionMark | None) -> None:
        if mark is None:
            return
        head = self._heads[mark.lines].hex() if mark.lines < len(self._heads) else ""
        if not hmac.compare_digest(head, mark.journal):
            raise LedgerError(
                f"the state {self._path} is older than what the ledger knows of its session, or "
                "was edited: answers that were released are missing from it. Put the latest "
                "file back, or open a new session"
            )

    def reserve(self, rounds: int) -> None:
        """Before a draw: the places of the first `rounds` rounds are used up.

        The ledger is told once in each opening, so that a copy from before its first round,
        which would not know that it ended badly, is an older one.
        """
        self._append({"reserved": rounds})
        if not self._begun:
            self.tell_ledger(self._updates + self._lost)
            self._begun = True

    def crossed(self, releases: Sequence[Release], size: int = 0) -> None:
        """Before a release: these rounds released these counts; of at least `size` bytes."""
        self.answered(releases, size)
        self.tell_ledger(self._updates + self._lost)

    def answered(self, releases: Sequence[Release], size: int = 0) -> None:
        """Before they are shown: these counts, with one write to the disk."""
        written: list[dict[str, Any]] = [{"together": size}] if size else []
        written += [
            {"update": number, "question": question.to_dict(), "count": count}
            for number, question, count in releases
        ]
        self._append(*written, size=size)

    def fell_back(self, answers: Sequence[Release]) -> None:
        """Before they are shown: independent answers after the rounds.

        What is written has the size of the longest numbers, so that its failure tells nothing.
        """
        written = [
            {"answer": number, "question": question.to_dict(), "count": count}
            for number, question, count in answers
        ]
        longest = [each | {"count": _LONGEST} for each in written]
        self._append(*written, size=sum(len(_line(each)) + 1 for each in longest))
        self.tell_ledger(self._updates + self._lost)

    def tell_ledger(self, releases: int) -> None:
        """Tell the ledger, where there is one, that so many releases are used up."""
        if self._recorded is not None:
            self._owner.check("this session", ELSEWHERE)
            head = self._heads[-1].hex()
            self._recorded.mark(SessionMark(releases, len(self._heads) - 1, head))

    def note(self, **content: Any) -> None:
        """Another public record."""
        self._append(dict(content))

    @property
    def _unclean(self) -> bool:
        """Whether rounds were drawn since the last opening, and it was not closed."""
        for entry in reversed(self.records):
            if "closed" in entry or "entropy" in entry:
                return False
            if "reserved" in entry:
                return True
        return False

    @property
    def _opened(self) -> str | None:
        return next((str(entry["opened"]) for entry in self.records if "opened" in entry), None)

    @property
    def charged(self) -> bool:
        """Whether the charge of the session is written down here."""
        return self._opened is not None

    @property
    def record(self) -> str:
        """The head of the ledger at the charge, or 'unrecorded'."""
        if self._opened is not None:
            return self._opened
        raise state_files.never_charged(self._path)

    def kept(self, record: str, mark: SessionMark | None = None) -> Kept:
        """Places used up and releases made; what the ledger was told counts as made."""
        used = [entry["reserved"] for entry in self.records if "reserved" in entry]
        used += [entry["closed"] for entry in self.records[-1:] if "closed" in entry]
        marked = 0 if mark is None else mark.released
        made = self._updates + self._lost + int(self._unclean)
        answers = sum("answer" in entry for entry in self.records)
        return Kept(int(used[-1]) if used else 0, max(made, marked), record, answers)

    def updates(self, schema: Schema) -> list[Release]:
        """The releases in order: number, question, noisy count."""
        return self._released(schema, "update")

    def answers(self, schema: Schema) -> list[Release]:
        """The independent answers after the rounds, in order."""
        return self._released(schema, "answer")

    def _released(self, schema: Schema, kind: str) -> list[Release]:
        return [
            (int(e[kind]), Question.from_dict(schema, e["question"]), int(e["count"]))
            for e in self.records
            if kind in e
        ]

    def close(self, rounds: int | None, releases: int | None = None) -> None:
        """Write down how far the session came, where that is known, and unlock everything.

        A fork only lets go of its handle: the session, its file and its locks are the parent's.
        """
        if self._handle < 0:
            return
        if not self._owner.here:
            os.close(self._handle)
            self._handle = -1
            return
        try:
            if rounds is not None:
                self._append({"closed": rounds})
            if releases is not None:
                self.tell_ledger(releases)
        finally:
            os.close(self._handle)
            self._handle = -1
            if self._recorded is not None:
                self._recorded.release()

    def abandon(self) -> None:
        """Remove the files of a session that was not charged."""
        self.close(None)
        state_files.discard(self._path)

    def _append(self, *documents: dict[str, Any], size: int = 0) -> None:
        self._owner.check("this session", ELSEWHERE)
        lines = [_line(document) for document in documents]
        lines[0] += b" " * (size - sum(len(line) + 1 for line in lines))
        state_files.append(self._handle, self._path, b"".join(line + b"\n" for line in lines))
        self._take(lines, list(documents))

    def _take(self, lines: list[bytes], documents: list[dict[str, Any]]) -> None:
        for line in lines:
            self._heads.append(hmac.new(self._key, self._heads[-1] + line, hashlib.sha256).digest())
        self.records += documents
        self._updates += sum("update" in document for document in documents)
        self._lost += sum(document.get("lost", 0) for document in documents)

    def _read(self, lines: list[bytes]) -> None:
        with instead(
            state_files.not_a_state(self._path),
            ValueError,
            KeyError,
            AttributeError,
            TypeError,
        ):
            self._take(lines, [json.loads(line) for line in lines])
            version = self.header["winnow-interactive"]
        if version not in _READ:
            raise DataError(
                f"the state {self._path} has the version {version!r} and this library knows "
                f"{_READ[0]} to {VERSION}; use the library that wrote it"
            )

    def _check(self, table: SealedTable) -> None:
        header = dict(self.header)
        mark = header.pop("data", "")
        if not hmac.compare_digest(str(mark), _mark(self._key, table, header)):
            raise DataError(
                f"the state {self._path} belongs to other data or another schema, or "
                "its first line or its key was changed; name the table that it was opened with"
            )


def _line(document: dict[str, Any]) -> bytes:
    return json.dumps(document, separators=(",", ":"), allow_nan=False).encode()


def _mark(key: bytes, table: SealedTable, header: Mapping[str, Any]) -> str:
    """Keyed: without the key it says nothing about the data."""
    public = json.dumps(
        [header, table.schema.to_dict(), table.rows_per_person],
        sort_keys=True,
        default=str,
    )
    return hmac.new(key, public.encode() + fingerprint(table), hashlib.sha256).hexdigest()


def _seeded_key(seed: int) -> bytes:
    return hashlib.blake2b(b"winnow-journal-seed:%d" % seed).digest()
