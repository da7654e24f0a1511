"""The address of a ledger: a file, a Postgres URL, or a file that holds a URL.

A password belongs neither into a message nor into the list of processes. So no message repeats
an address, and a command takes one with a password from a file only (``file:PATH``); PGPASSWORD
and a password file (~/.pgpass) are the driver's own ways.
"""

from __future__ import annotations

from pathlib import Path

from winnow.errors import DataError, LedgerError
from winnow.privacy.ledger.keys import check_private
from winnow.privacy.ledger.store import Store

FILE = "file:"
_SCHEMES = ("postgres://", "postgresql://")


def store_at(place: str | Path) -> Store:
    """The store that a path, a URL or ``file:`` with a path names."""
    from winnow.privacy.ledger.sqlite_store import SQLiteStore

    text = str(place)
    address = address_of(text)
    if address is not None:
        from winnow.privacy.ledger.postgres_store import PostgresStore

        return PostgresStore(address)
    if "://" in text or not text.strip() or "\0" in text:
        raise DataError(
            "ledger= is neither a file, nor a postgresql:// address, nor file: with the path of a "
            "file that holds one"
        )
    return SQLiteStore(Path(text))


def address_of(text: str, what: str = "the ledger") -> str | None:
    """The address of a database that a text holds or names; None: it is something else."""
    if text.startswith(FILE):
        return _read(Path(text.removeprefix(FILE)), what)
    return text if text.startswith(_SCHEMES) else None


def typed(place: str) -> str:
    """An address as it was typed on a command line; one with a password is refused."""
    if place.startswith(_SCHEMES) and has_password(place):
        raise DataError(
            "the address of the ledger holds a password, which everybody on this machine can read "
            "in the list of processes; change it, and write the address into a file for you alone "
            "(chmod 600) that you name as file:PATH. Or leave the password out and set PGPASSWORD "
            "or use ~/.pgpass"
        )
    return place


def has_password(address: str) -> bool:
    """Whether an address holds a password."""
    rest = address.partition("://")[2]
    # All before the last @: a password with a / or a ? in it that was not escaped counts, too.
    return bool(rest.rpartition("@")[0].partition(":")[2]) or "password=" in rest.lower()


def _read(path: Path, what: str) -> str:
    try:
        check_private(path, f"the address of {what}")
        text = path.read_text("utf-8").strip()
    except (OSError, UnicodeDecodeError, ValueError):
        text = ""
    if not text.startswith(_SCHEMES) or len(text.split()) != 1:
        raise LedgerError(
            f"the file {path} does not hold the address of {what}: one line that starts with "
            "postgresql://"
        )
    return text
