"""From version 1 of a ledger to version 2: verified in full, then what the tree needs is added.

Entries of version 1 carry neither the account of their dataset nor the tree. They stay as they
are; new entries of the kind ``upgrade``, one for each dataset and each analyst, carry the accounts
and point to what interactive sessions wrote.
"""

from __future__ import annotations

from collections.abc import Mapping

from winnow.errors import LedgerError
from winnow.privacy.ledger.chain import RESTORE, Chain, end_of
from winnow.privacy.ledger.store import Appending, Store
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
