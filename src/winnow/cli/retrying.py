"""``--request-key``: a release that is run again under its key is charged once.

1. What was asked, a mark of the data and the secret key of the noise are written down, sealed, in
   a folder beside the ledger.
2. The release is charged under the request key; the charge carries the mark of the secret key.
3. It is drawn from that key, and so is the salt that bounds what is kept of a person.
4. What it is to print and to write is written down, and the secret key is forgotten. Only then
   anything is printed, and only then files are written.

Run again after 4, what was kept is shown and written again; nothing is drawn. Killed before that,
it is drawn again from the secret key, if the data are the same.

Why one charge is enough. Nothing of a draw is seen before it is kept, and what was kept is shown
for good: of all draws under one key at most one is ever seen, whatever happened to the data, the
files or the program in between. One process has a request at a time, so no other draw can be on
its way. As a second wall a draw is made again only where the request, the data and the version of
what computes it are what they were: then it is the same release anyway. Where one of them differs
it is refused. The ledger holds to it, too: it grants a charge again only for the key whose mark it
carries.

The data are the same if all files that the command names have the same bytes. A database has
none, so from there a release that was not kept is not drawn again.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import sys
from base64 import b64decode, b64encode
from collections.abc import Callable
from contextlib import AbstractContextManager, redirect_stdout
from contextvars import ContextVar, copy_context
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from winnow._version import __version__
from winnow.cli.files import named_by
from winnow.cli.recording import key_of_request
from winnow.cli.reporting import options_of_command, report
from winnow.cli.running import OUTPUTS
from winnow.errors import DataError, GrantError, ParameterError, SavingError
from winnow.foreign import instead, reason, shown

if TYPE_CHECKING:
    from winnow.core.tape import WrittenKey
    from winnow.privacy.ledger import Ledger
    from winnow.serve.vault import Vault

_FOUND_BY = frozenset({"ledger", "ledger_key", "analyst", "request_key"})
"""What finds the record of a request, and need not be compared."""

PATIENCE = 60.0
"""So many seconds a request waits for another process that has the same one."""
Step = Callable[[str], None]
step: ContextVar[Step] = ContextVar("step", default=lambda _: None)
"""Called between the steps of a request, for tests that end the process there."""


@dataclass(frozen=True)
class KeptRequest:
    """What is written down of a request."""

    options: dict[str, str]
    """A keyed mark of every option."""
    data: str
    """A keyed mark of all files; empty: the data are not in files."""
    made_by: str
    """The versions of what computes it."""
    began: str
    secret: str = field(default="", repr=False)
    """The key of its noise, until its result is kept."""
    done: bool = False
    printed: str = ""
    files: tuple[tuple[str, str], ...] = ()


class RequestRecord:
    """The sealed file of one request, beside its ledger."""

    def __init__(self, ledger: Ledger, analyst: str, key: str) -> None:
        from winnow.serve.vault import Vault

        self._vault: Vault = Vault(ledger.derived("requests"))
        self._name = self.mark("name", [analyst, key])[:32]
        place = ledger.path or ledger.key_file
        self._folder = place.with_name(f"{place.name}.requests")
        self._path = self._folder / f"{self._name}.sealed"

    def mark(self, use: str, content: Any) -> str:
        """A keyed mark of plain data: without the ledger's key it says nothing about them."""
        return self._vault.mark(use, json.dumps(content, sort_keys=True, default=str).encode())

    def alone(self) -> AbstractContextManager[None]:
        """While it lasts, no other process has this request."""
        from winnow.privacy.ledger.locks import exclusive

        with self._refusing("written"):
            self._folder.mkdir(mode=0o700, exist_ok=True)
        lock = self._folder / f"{self._name}.lock"
        return exclusive(lock, PATIENCE, "running this request")

    def read(self) -> KeptRequest | None:
        """What was written down; None: nothing."""
        with self._refusing("read"):
            if not self._path.exists():
                return None
            document = json.loads(self._vault.unseal(self._path.read_bytes(), self._name))
        document["files"] = tuple(map(tuple, document["files"]))
        return KeptRequest(**document)

    def write(self, kept: KeptRequest) -> None:
        """Write it down, on the disk when this returns."""
        from winnow.core.replacing import replace as put

        with self._refusing("written"):
            self._folder.mkdir(mode=0o700, exist_ok=True)
            put(self._path, self._vault.seal(json.dumps(asdict(kept)).encode(), self._name))

    def forget(self) -> None:
        """A request that was not charged: its key may be used again."""
        with self._refusing("removed"):
            self._path.unlink(missing_ok=True)

    def _refusing(self, what: str) -> instead:
        return instead(
            lambda error: DataError(
                f"the record of the request in {self._folder} cannot be {what}: {reason(error)}; "
                "give this program the right to write there"
            ),
            OSError,
        )


def once(command: Callable[..., None], given: dict[str, Any]) -> None:
    """Run a command that releases something under a request key."""
    ledger = _ledger(given)
    analyst, key = given["analyst"], given["request_key"]
    record = RequestRecord(ledger, analyst, key)
    with record.alone():
        _once(command, given, ledger, record)


def _once(
    command: Callable[..., None], given: dict[str, Any], ledger: Ledger, record: RequestRecord
) -> None:
    from winnow.core.tape import WrittenKey

    analyst, key = given["analyst"], given["request_key"]
    asked = KeptRequest(
        options=_marks(record, given),
        data=_mark_of_data(record, given),
        made_by=f"winnow {__version__}, Python {platform.python_version()} on "
        f"{platform.machine()}, NumPy {_numpy()}",
        began=datetime.now(UTC).isoformat(timespec="seconds"),
    )
    charged = ledger.requested(key, analyst) is not None
    before = record.read()
    if before is not None:
        _check_same(before, asked, key)
        if before.done:
            _show_again(before, key)
            return
        if charged:
            _check_drawn_again(before, asked, key)
    elif charged:
        raise GrantError(
            f"the request {shown(key)} was charged before, and what it released was not kept here: "
            "one charge is one draw; look where it ran, or choose another --request-key, which is "
            "charged anew"
        )
    if before is None or not (charged or _same_draw(before, asked)):
        before = replace(asked, secret=WrittenKey.fresh().secret.hex())
        record.write(before)
    step.get()("before the charge")
    _run(command, given, ledger, record, before)


def _run(
    command: Callable[..., None],
    given: dict[str, Any],
    ledger: Ledger,
    record: RequestRecord,
    kept: KeptRequest,
) -> None:
    """Draw from the written key, keep what came out, and show it then."""
    from winnow.core.tape import WrittenKey

    printed, files = StringIO(), dict[str, bytes]()
    drawn = WrittenKey(bytes.fromhex(kept.secret))
    try:
        with redirect_stdout(printed):
            copy_context().run(_drawing, drawn, files, lambda: command(**given))
    finally:
        charged = ledger.requested(given["request_key"], given["analyst"]) is not None
        if not charged:
            record.forget()
    whole = tuple((name, b64encode(data).decode()) for name, data in files.items())
    done = replace(kept, secret="", done=True, printed=printed.getvalue(), files=whole)
    if charged:
        step.get()("before the result is kept")
        record.write(done)
        step.get()("after the result is kept")
    _show(done)


def _drawing(key: WrittenKey, files: dict[str, bytes], work: Callable[[], None]) -> None:
    from winnow.core.saving import kept_files
    from winnow.read.salts import salted_by

    key_of_request.set(key)
    kept_files.set(files)
    with salted_by(key):
        work()


def _ledger(given: dict[str, Any]) -> Ledger:
    """The ledger of a request, after what it cannot be given with was refused."""
    from winnow.cli.ledger import opened
    from winnow.privacy.ledger.labels import check_request

    if "state" in given:
        raise ParameterError(
            "--request-key is for one release; a session of questions is kept by --state FILE, "
            "which is charged once, too: give that instead"
        )
    if given["ledger"] is None or given["dataset"] is None:
        raise ParameterError(
            "--request-key needs a ledger, which remembers it; give --ledger and --dataset"
        )
    if given.get("seed") is not None:
        raise ParameterError(
            "--seed and --request-key contradict each other: the noise of a request comes from a "
            "secret key; leave out one of them"
        )
    if any(str(value) == "-" for value in given.values()):
        raise ParameterError(
            "--request-key needs data that can be read again, and the standard input cannot; "
            "name a file"
        )
    check_request(given["request_key"])
    ledger = opened(given["ledger"], given["ledger_key"])
    ledger.cap(given["dataset"])
    return ledger


def _marks(record: RequestRecord, given: dict[str, Any]) -> dict[str, str]:
    return {
        name: record.mark(f"option {name}", value)
        for name, value in given.items()
        if name not in _FOUND_BY
    }


def _mark_of_data(record: RequestRecord, given: dict[str, Any]) -> str:
    """A mark of every file that the command names, but those that it writes."""
    options = options_of_command.get()
    digests: list[tuple[str, str, str]] = []
    for name, value in given.items():
        if name in OUTPUTS | _FOUND_BY | {"dataset"} or not isinstance(value, str | Path):
            continue
        files = [each for file in named_by(str(value)) for each in _below(file)]
        if not files and name not in options:  # data that are not in files
            return ""
        digests += [(name, str(file), _digest(file)) for file in sorted(files)]
    return record.mark("data", digests)


def _digest(file: Path) -> str:
    with (
        instead(
            lambda error: DataError(
                f"cannot read {file}: {reason(error)}; name a file that can be read twice"
            ),
            OSError,
        ),
        file.open("rb") as content,
    ):
        return hashlib.file_digest(content, "sha256").hexdigest()


def _below(path: Path) -> list[Path]:
    """The file, or all files in a folder."""
    if not path.is_dir():
        return [path] if path.is_file() else []
    return [Path(at, name) for at, _, names in os.walk(path) for name in names]


def _check_same(before: KeptRequest, asked: KeptRequest, key: str) -> None:
    names = {**before.options, **asked.options}
    other = [name for name in names if before.options.get(name) != asked.options.get(name)]
    if other:
        flags = options_of_command.get()
        said = ", ".join(flags.get(name, name.upper()) for name in other)
        raise ParameterError(
            f"the request {shown(key)} was used for another request before ({said} differ); "
            "choose another --request-key"
        )


def _same_draw(before: KeptRequest, asked: KeptRequest) -> bool:
    """Whether the same key would bring the same release."""
    return bool(asked.data) and (before.data, before.made_by) == (asked.data, asked.made_by)


def _check_drawn_again(before: KeptRequest, asked: KeptRequest, key: str) -> None:
    """Refuse a draw that would not be the one that was charged."""
    if _same_draw(before, asked):
        return
    if not before.data or not asked.data:
        why = "its data are not in files, so that nobody knows whether they are the same"
    elif before.data != asked.data:
        why = "the files that it reads have changed since"
    else:
        why = f"it was begun by {before.made_by}, and this is {asked.made_by}"
    raise GrantError(
        f"the request {shown(key)} was charged at {before.began} and ended before its result was "
        f"kept, and {why}: drawn again it would be a second release for one charge; choose another "
        "--request-key, which is charged anew"
    )


def _show_again(kept: KeptRequest, key: str) -> None:
    """What was released under the key, printed and written as it was."""
    from winnow.core.logs import tell

    report(f"note: the request {shown(key)} was released at {kept.began}; nothing is charged again")
    tell("shown again", lambda: {"request_key": key, "released": kept.began})
    _show(kept)


def _show(kept: KeptRequest) -> None:
    """Print and write what a release printed and wrote."""
    from winnow.core.saving import write_whole

    typer.echo(kept.printed, nl=False)
    sys.stdout.flush()
    for name, content in kept.files:
        with instead(
            lambda error: SavingError(f"the result is kept and printed, but {error}"), SavingError
        ):
            write_whole(Path(name), b64decode(content))


def _numpy() -> str:
    from importlib.metadata import version

    return version("numpy")
