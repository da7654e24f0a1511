"""The state file of an interactive session: what must survive a crash, and the key of its noise.

Two files that only their owner can read. The journal is a list of JSON lines: what was opened,
how many places of the tape are used up (written before any of them is drawn), and each count
that was released (written before it is shown). A last line that is cut off was never acted on.
The key file holds the key of the tape: with the journal it determines the noise, so it is as
private as the data.

An old copy of a journal must never be put back: its places on the tape were used since.
"""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import json
import os
import secrets
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from winnow.domain.questions import Question
from winnow.domain.schema import Schema
from winnow.errors import InputError, LedgerError
from winnow.mechanisms.multiplicative_weights import Kept
from winnow.random.tape import Tape
from winnow.sealed.fingerprint import fingerprint
from winnow.sealed.tables import SealedTable

VERSION = 1


class Journal:
    """An open state file, locked: one process at a time."""

    def __init__(self, path: Path, handle: int, key: bytes) -> None:
        self._path, self._handle, self._key = path, handle, key
        self.records: list[dict[str, Any]] = []

    @classmethod
    def create(
        cls, path: str | Path, table: SealedTable, header: Mapping[str, Any], seed: int | None
    ) -> Journal:
        """A new state file for a session that is about to be charged."""
        place = Path(path)
        key = secrets.token_bytes(64) if seed is None else _seeded_key(seed)
        if _key_path(place).exists():
            raise InputError(f"{_key_path(place)} exists already; name another file")
        handle = _new_file(place, "the state")
        try:
            _write_key(_key_path(place), key)
            _lock(handle, place)
            journal = cls(place, handle, key)
            document = {
                "winnow-interactive": VERSION,
                "randomness": "os" if seed is None else "seeded",
                "plan": header,
            }
            document["data"] = _mark(key, table, document)
            journal._append(document)
            _sync_folder(place)
        except BaseException:
            os.close(handle)
            discard(place)
            raise
        return journal

    @classmethod
    def open(cls, path: str | Path, table: SealedTable) -> Journal:
        """The state file of a session that was charged before, for the same table."""
        place = Path(path)
        try:
            handle = os.open(place, os.O_RDWR)
        except OSError as error:
            raise InputError(
                f"the state {place} cannot be opened: {error.strerror}; check the path"
            ) from None
        try:
            _lock(handle, place)
            key = _read_key(_key_path(place))
            journal = cls(place, handle, key)
            journal._read()
            journal._check(table)
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

    def opened(self, record: str) -> None:
        """The session is charged; `record` is the head of the ledger."""
        self._append({"opened": record})

    def reserve(self, rounds: int) -> None:
        """Before a draw: the places of the first `rounds` rounds are used up."""
        self._append({"reserved": rounds})

    def crossed(self, number: int, question: Question, count: int) -> None:
        """Before a release: this round released this count."""
        self._append({"update": number, "question": question.to_dict(), "count": count})

    def note(self, **content: Any) -> None:
        """Another public record."""
        self._append(dict(content))

    @property
    def record(self) -> str:
        """The head of the ledger at the charge, or 'unrecorded'."""
        for entry in self.records:
            if "opened" in entry:
                return str(entry["opened"])
        raise InputError(
            f"the session of {self._path} was interrupted before it was opened completely; it "
            "released nothing. Remove the file and open a new session"
        )

    @property
    def kept(self) -> Kept:
        """Places used up and releases made."""
        used = [entry["reserved"] for entry in self.records if "reserved" in entry]
        used += [entry["closed"] for entry in self.records[-1:] if "closed" in entry]
        crossings = [entry["update"] for entry in self.records if "update" in entry]
        return Kept(int(used[-1]) if used else 0, len(crossings))

    def updates(self, schema: Schema) -> list[tuple[int, Question, int]]:
        """The releases in order: number, question, noisy count."""
        return [
            (int(e["update"]), Question.from_dict(schema, e["question"]), int(e["count"]))
            for e in self.records
            if "update" in e
        ]

    def close(self, rounds: int | None) -> None:
        """Write down how far the session came, where that is known, and unlock the file."""
        if self._handle < 0:
            return
        try:
            if rounds is not None:
                self._append({"closed": rounds})
        finally:
            os.close(self._handle)
            self._handle = -1

    def abandon(self) -> None:
        """Remove the files of a session that was not charged."""
        self.close(None)
        discard(self._path)

    def _append(self, document: dict[str, Any]) -> None:
        line = json.dumps(document, separators=(",", ":"), allow_nan=False).encode() + b"\n"
        try:
            size = os.fstat(self._handle).st_size
            try:
                _write(self._handle, line)
                os.fsync(self._handle)
            except OSError:
                os.ftruncate(self._handle, size)
                raise
        except OSError as error:
            raise LedgerError(
                f"the state {self._path} cannot be written: {error.strerror or 'it is closed'}; "
                "nothing was released. Make room and go on from it"
            ) from None
        self.records.append(document)

    def _read(self) -> None:
        content = b""
        while piece := os.read(self._handle, 1 << 20):
            content += piece
        whole = content[: content.rfind(b"\n") + 1]
        if len(whole) < len(content):  # cut off by a crash: it was never acted on
            os.ftruncate(self._handle, len(whole))
        os.lseek(self._handle, 0, os.SEEK_END)
        try:
            self.records = [json.loads(line) for line in whole.splitlines()]
            version = self.header["winnow-interactive"]
        except (ValueError, KeyError, IndexError, TypeError):
            raise InputError(f"{self._path} is not the state of an interactive session") from None
        if version != VERSION:
            raise InputError(
                f"the state {self._path} has the version {version!r} and this library knows "
                f"{VERSION}; use the library that wrote it"
            )

    def _check(self, table: SealedTable) -> None:
        header = dict(self.header)
        mark = header.pop("data", "")
        if not hmac.compare_digest(str(mark), _mark(self._key, table, header)):
            raise InputError(
                f"the state {self._path} belongs to other data or another schema, or "
                "its first line or its key was changed; name the table that it was opened with"
            )


def discard(path: Path) -> None:
    """Remove a state file and its key."""
    for file in (path, _key_path(path)):
        with contextlib.suppress(OSError):
            file.unlink()


def _key_path(path: Path) -> Path:
    return path.with_name(path.name + ".key")


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


def _new_file(path: Path, what: str) -> int:
    try:
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o600)
    except FileExistsError:
        raise InputError(
            f"{path} exists already; go on with it (resume_interactive), or name another file"
        ) from None
    except OSError as error:
        raise InputError(f"{what} {path} cannot be written: {error.strerror}") from None


def _write_key(path: Path, key: bytes) -> None:
    handle = _new_file(path, "the key")
    try:
        _write(handle, key.hex().encode() + b"\n")
        os.fsync(handle)
    except OSError as error:
        raise InputError(f"the key {path} cannot be written: {error.strerror}") from None
    finally:
        os.close(handle)


def _read_key(path: Path) -> bytes:
    try:
        key = bytes.fromhex(path.read_text().strip())
    except (OSError, ValueError):
        raise InputError(f"the key of the session cannot be read from {path}") from None
    if len(key) != 64:
        raise InputError(f"the key file {path} does not hold 64 bytes in hexadecimal digits")
    return key


def _write(handle: int, content: bytes) -> None:
    while content:
        content = content[os.write(handle, content) :]


def _sync_folder(path: Path) -> None:
    """The names of new files must survive too, where the system can promise that."""
    with contextlib.suppress(OSError):
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def _lock(handle: int, path: Path) -> None:
    """Held until the file is closed or the process ends, however it ends."""
    try:
        if sys.platform == "win32":
            import msvcrt

            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        raise InputError(
            f"the session of {path} is open in another process; close it there first"
        ) from None
