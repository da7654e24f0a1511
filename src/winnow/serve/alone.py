"""One server at a time: for a folder, and for a store, which several folders may name."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from winnow.errors import DataError
from winnow.privacy.ledger.locks import Hold, held_file
from winnow.serve.problems import log_failure
from winnow.serve.store import ServerStore

UNENDED = "the server could not end as it should"


def held_alone(folder: Path, store: ServerStore) -> list[Hold]:
    """The locks of a server; a second one in the folder, or on the store, is refused."""
    first = held_file(str(folder / "winnow-serve.lock"))
    if first is None:
        raise DataError(
            f"another server runs in {folder}, and a folder is served by one at a time; stop it "
            "first"
        )
    try:
        second = store.hold()
    except BaseException:
        first.release()
        raise
    if second is None:
        first.release()
        raise DataError(
            "another server uses this store, from another folder, and a store is served by one "
            "at a time; stop it first, or give this one a store of its own"
        )
    return [first, second]


def each_done(steps: Iterable[Callable[[], object]], what: str) -> None:
    """Do all steps, whatever goes wrong with one: that is logged."""
    for step in steps:
        try:
            step()
        except Exception as error:
            log_failure(what, error)
