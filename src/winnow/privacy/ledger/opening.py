"""Find a ledger and its key, or make both: whole, by one process, or not at all.

A new key waits under another name until its ledger is there. Whenever the process is killed,
the next opening finds either no ledger, and starts over, or a ledger whose key is still waiting,
and gives the key its name.

A ledger of version 1 is upgraded when it is opened: verified in full, then what the tree needs is
added. Its entries carry neither the account of their dataset nor the tree. They stay as they are;
new entries of the kind ``upgrade``, one for each dataset and each analyst, carry the accounts and
point to what interactive sessions wrote.
"""

from __future__ import annotations

import os
import secrets
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from winnow._version import __version__
from winnow.errors import DataError, LedgerError
from winnow.privacy.ledger.addresses import store_at
from winnow.privacy.ledger.chain import RESTORE, Chain, end_of
from winnow.privacy.ledger.entry import same_text
from winnow.privacy.ledger.keys import chain_key, key_check, make_key, pending, read_key
from winnow.privacy.ledger.locks import exclusive, sync_folder
from winnow.privacy.ledger.store import PATIENCE, Appending, Store
from winnow.privacy.ledger.verification import ChainCheck


def upgraded(store: Store, key: bytes, meta: Mapping[str, str]) -> bool:
    """Upgrade a ledger of version 1 in one transaction; False: another process did."""

    def work(view: Appending) -> None:
        replay = ChainCheck(key)
        for entry in view.entries():
            problem = replay.step(entry)
            if problem or replay.has_tree:
                raise LedgerError(
                    f"the ledger {store.name} is of version 1 and cannot be upgraded: "
                    f"{problem or 'it has entries of version 2'}; {RESTORE}"
                )
        view.mark(end_of(key, replay.count, replay.previous))
        for (fingerprint, _), sequence in replay.fingerprints.items():
            view.note(f"data:{fingerprint}", sequence)
        chain = Chain(view, key)
        for account in replay.datasets.values():
            carried = dict(replay.sessions.get(account.label, {}))
            chain.add(view, "upgrade", account, {"carried": carried})
        for share in replay.shares.values():
            account = replay.datasets[share.dataset]
            chain.add(view, "upgrade", account, share.to_body())

    return store.upgrade(meta, work)


VERSION = "2"
"""Of the layout and of the meaning of entries; a ledger of a later version is refused."""

_FIRST = "1"
"""The version before: entries without the tree, which are still read."""


class Opened(NamedTuple):
    """A ledger that was found or made."""

    store: Store
    key: bytes
    """Of its chain."""
    identity: str
    key_file: Path


def open_ledger(place: str | Path, key_file: str | Path | None, *, create: bool) -> Opened:
    """The ledger at an address, with its key; it is made where there is none and ``create``."""
    store = store_at(place)
    path = Path(key_file) if key_file is not None else store.default_key_file()
    if not store.exists():
        if not create:
            where = f"in the database {store.name}" if store.path is None else f"at {store.path}"
            raise DataError(
                f"there is no ledger {where}; make one with: winnow ledger init {store.path or ''}"
            )
        _make(store, path, named=key_file is not None)
    elif not path.exists() and pending(path).exists():
        with store.creating(), _key_lock(path):
            _give_name(store, path)
    key = read_key(path)
    meta = store.meta()
    version, identity = meta.get("version", ""), meta.get("identity", "")
    if version not in (_FIRST, VERSION):
        raise LedgerError(
            f"the ledger {store.name} has the version {version!r} and this library "
            f"knows {VERSION!r}; use the library that wrote it, or a later one"
        )
    if not _is_key_of(meta, key):
        raise LedgerError(
            f"the key {path} is not the key of the ledger {store.name}; name the right one"
        )
    chain = chain_key(key, identity)
    if version == _FIRST and upgraded(store, chain, _meta(key, identity)):
        warnings.warn(
            f"the ledger {store.name} was verified and upgraded from version {_FIRST} to "
            f"{VERSION}; older versions of the library cannot use it any more",
            stacklevel=3,
        )
    return Opened(store, chain, identity, path)


def _make(store: Store, path: Path, *, named: bool) -> None:
    with store.creating(), _key_lock(path):
        if store.exists():  # somebody else was first
            _give_name(store, path)
            return
        if path.exists() and not named:
            raise LedgerError(
                f"the ledger {store.name} is gone and its key {path} is still there; restore "
                "the ledger from a copy, or start another one under another name"
            )
        waiting = None if path.exists() else pending(path)
        key = read_key(path) if waiting is None else make_key(waiting)
        identity = secrets.token_hex(16)
        try:
            store.create(_meta(key, identity), end_of(chain_key(key, identity)))
        except LedgerError:
            if waiting is not None and not store.exists():
                waiting.unlink()
            raise
        _give_name(store, path)


def _give_name(store: Store, path: Path) -> None:
    """The key that waits gets its name, if it is the ledger's; if not, it was never used."""
    waiting = pending(path)
    if path.exists() or not waiting.exists():
        return
    if _is_key_of(store.meta(), read_key(waiting)):
        os.replace(waiting, path)
    else:
        waiting.unlink()


def _is_key_of(meta: dict[str, str], key: bytes) -> bool:
    expected = key_check(key, meta.get("identity", ""), meta.get("version", ""))
    return same_text(meta.get("key", ""), expected)


def _meta(key: bytes, identity: str) -> dict[str, str]:
    return {
        "version": VERSION,
        "library": __version__,
        "identity": identity,
        "key": key_check(key, identity, VERSION),
    }


@contextmanager
def _key_lock(path: Path) -> Iterator[None]:
    """One process at a time makes a key of this name; one that is there is only read."""
    if path.exists():
        yield
        return
    lock = path.with_name(path.name + ".making")
    with exclusive(lock, PATIENCE, "making this key"):
        yield
    sync_folder(path)
