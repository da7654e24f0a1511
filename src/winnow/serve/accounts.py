"""Principals, their tokens and logins, the datasets, and who may see which."""

from __future__ import annotations

import hashlib
import secrets
import time
from typing import Any

import msgspec

from winnow.errors import ParameterError
from winnow.serve.database import View
from winnow.serve.declarations import Declaration, check_declaration
from winnow.serve.principals import ROLES, Principal, Role, Token, check_principal, parse_scopes
from winnow.serve.store import ServerStore

_PREFIX = "wnw_"
_KNOWN_SECONDS = 1.0
_MOST_KNOWN = 10_000


class _Remembered:
    """Who was looked up within the last second, so that not every request waits for the store.

    What is changed by this process counts at once; beside it, a second later. After half of it
    somebody is to look again meanwhile, so that nobody waits.
    """

    def __init__(self) -> None:
        self._held: dict[str, tuple[float, Principal, frozenset[str]]] = {}
        self._by_token: dict[str, str] = {}
        self._looking: set[str] = set()
        self.changes = 0
        """How often all was forgotten: who was looked up before is not remembered after."""

    def put(self, principal: Principal, secret: str, seen: list[str], changes: int) -> None:
        """Remember a principal and what it may see, unless something was changed meanwhile."""
        if changes != self.changes:
            return
        if len(self._held) >= _MOST_KNOWN:
            self.clear()
        name = token_hash(secret)
        self._held[name] = (time.monotonic() + _KNOWN_SECONDS, principal, frozenset(seen))
        self._by_token[principal.token] = name
        self._looking.discard(name)

    def drop(self, secret: str) -> None:
        """Forget one that is valid no more."""
        name = token_hash(secret)
        self._held.pop(name, None)
        self._looking.discard(name)

    def old(self, secret: str) -> bool:
        """Whether to look again; said to one of all who ask."""
        name = token_hash(secret)
        until = self._held.get(name, _NOBODY)[0]
        if time.monotonic() < until - _KNOWN_SECONDS / 2 or name in self._looking:
            return False
        self._looking.add(name)
        return True

    def get(self, secret: str) -> Principal | None:
        """Whose token this was a moment ago."""
        until, principal, _ = self._held.get(token_hash(secret), _NOBODY)
        return principal if time.monotonic() < until else None

    def seen_by(self, principal: Principal) -> frozenset[str] | None:
        """What a principal could see a moment ago; None: that is too long ago."""
        until, _, seen = self._held.get(self._by_token.get(principal.token, ""), _NOBODY)
        return seen if time.monotonic() < until else None

    def clear(self) -> None:
        """Forget all."""
        self.changes += 1
        self._held, self._by_token, self._looking = {}, {}, set()


_NOBODY: tuple[float, Principal | None, frozenset[str]] = (0.0, None, frozenset())


class Accounts:
    """Who may do what; every change is a line of the audit log."""

    def __init__(self, store: ServerStore) -> None:
        self._store = store
        self._known = _Remembered()

    def note(self, who: str, what: str, **detail: Any) -> None:
        """Add a line to the audit log."""
        self._store.note(who, what, **detail)

    def new_token(
        self,
        name: str,
        role: str,
        *,
        scopes: str = "",
        days: float | None = None,
        datasets: tuple[str, ...] = (),
        by: str,
    ) -> tuple[str, str]:
        """A token of a principal, who is made where there is none: its id, and its one showing."""
        check_principal(name)
        if role not in ROLES:
            raise ParameterError(f"role {role!r} is unknown; give one of {', '.join(ROLES)}")
        granted = parse_scopes(role, scopes)
        if days is not None and not 0 < days <= 3650:
            raise ParameterError(f"a token lasts {days} days; give a number above 0, up to 3650")
        secret = _PREFIX + secrets.token_urlsafe(32)
        identity, now = secrets.token_hex(6), self._store.clock()
        expires = None if days is None else now + 86400 * days

        def made(view: View) -> str:
            row = view.one("SELECT role FROM {principals} WHERE name = ?", name)
            if row is not None and row[0] != role:
                return str(row[0])
            unknown = [each for each in datasets if not self._has_dataset(view, each)]
            if unknown:
                return f"?{unknown[0]}"
            if row is None:
                view.do("INSERT INTO {principals} VALUES (?, ?, ?)", name, role, now)
            view.do(
                "INSERT INTO {tokens} VALUES (?, ?, ?, ?, ?, ?, NULL)",
                identity, token_hash(secret), name, " ".join(sorted(granted)), now, expires,
            )  # fmt: skip
            for dataset in datasets:
                _grant(view, name, dataset)
            detail = {"token": identity, "for": name, "role": role, "scopes": sorted(granted)}
            self._store.note_in(view, by, "token new", {**detail, "datasets": list(datasets)})
            return ""

        problem = self._store.change(made)
        if problem.startswith("?"):
            raise ParameterError(f"there is no dataset {problem[1:]!r}; add it first")
        if problem:
            raise ParameterError(
                f"{name!r} has the role {problem!r}, and a role cannot be changed; choose another "
                "name"
            )
        return identity, secret

    def tokens(self) -> list[Token]:
        """All tokens, without what they are."""
        rows = self._store.read(
            lambda view: view.all(
                "SELECT t.id, t.principal, p.role, t.scopes, t.created, t.expires, t.revoked "
                "FROM {tokens} t JOIN {principals} p ON p.name = t.principal ORDER BY t.created"
            )
        )
        return [
            Token(each, name, role, tuple(scopes.split()), created, expires, revoked)
            for each, name, role, scopes, created, expires, revoked in rows
        ]

    def revoke(self, identity: str, *, by: str) -> bool:
        """End a token, and every login by it; False: there is none."""

        def ended(view: View) -> bool:
            if view.one("SELECT 1 FROM {tokens} WHERE id = ?", identity) is None:
                return False
            view.do(
                "UPDATE {tokens} SET revoked = ? WHERE id = ? AND revoked IS NULL",
                self._store.clock(), identity,
            )  # fmt: skip
            view.do("DELETE FROM {logins} WHERE token = ?", identity)
            self._store.note_in(view, by, "token revoke", {"token": identity})
            return True

        done = self._store.change(ended)
        self._known.clear()
        return done

    def principal(self, secret: str) -> Principal | None:
        """Whose token this is; None: nobody's, or it ended."""
        changes = self._known.changes
        principal = self._principal("t.hash = ?", token_hash(secret))
        if principal is None:
            self._known.drop(secret)
        else:
            self._known.put(principal, secret, self.seen_by(principal), changes)
        return principal

    def known(self, secret: str) -> Principal | None:
        """A known principal without waiting: for a second after it was looked up."""
        return self._known.get(secret)

    def old(self, secret: str) -> bool:
        """Whether whoever has this token is to be looked up again meanwhile."""
        return self._known.old(secret)

    def _principal(self, condition: str, value: str) -> Principal | None:
        row = self._store.read(
            lambda view: view.one(
                "SELECT p.name, p.role, t.scopes, t.id, t.expires FROM {tokens} t "
                "JOIN {principals} p ON p.name = t.principal "
                f"WHERE {condition} AND t.revoked IS NULL",
                value,
            )
        )
        if row is None or (row[4] is not None and row[4] <= self._store.clock()):
            return None
        role: Role = row[1]
        return Principal(row[0], role, frozenset(row[2].split()), row[3])

    def login(self, principal: Principal, seconds: float) -> str:
        """A session of a browser: the secret for its cookie."""
        secret = secrets.token_urlsafe(32)

        def kept(view: View) -> None:
            view.do("DELETE FROM {logins} WHERE expires <= ?", self._store.clock())
            view.do(
                "INSERT INTO {logins} VALUES (?, ?, ?)",
                token_hash(secret), principal.token, self._store.clock() + seconds,
            )  # fmt: skip
            self._store.note_in(view, principal.name, "login", {"token": principal.token})

        self._store.change(kept)
        return secret

    def logged_in(self, secret: str) -> Principal | None:
        """Whose session of a browser this is."""
        row = self._store.read(
            lambda view: view.one(
                "SELECT token, expires FROM {logins} WHERE hash = ?", token_hash(secret)
            )
        )
        if row is None or row[1] <= self._store.clock():
            return None
        return self._principal("t.id = ?", row[0])

    def logout(self, secret: str) -> None:
        """End a session of a browser."""
        self._store.change(
            lambda view: view.do("DELETE FROM {logins} WHERE hash = ?", token_hash(secret))
        )

    # Datasets and who may see them

    def add_dataset(self, name: str, declared: Declaration, *, by: str) -> bool:
        """Declare a dataset; False: it is there with the same declaration."""
        check_declaration(name, declared)
        text = msgspec.json.encode(declared).decode()

        def added(view: View) -> str:
            row = view.one("SELECT declaration FROM {datasets} WHERE name = ?", name)
            if row is None:
                view.do("INSERT INTO {datasets} VALUES (?, ?, ?)", name, text, self._store.clock())
                self._store.note_in(view, by, "dataset add", {"dataset": name})
                return "new"
            return "same" if row[0] == text else "other"

        outcome = self._store.change(added)
        if outcome == "other":
            raise ParameterError(
                f"the dataset {name!r} was declared differently before, and a declaration cannot "
                "be changed; give it as it was, or choose another name"
            )
        return outcome == "new"

    def datasets(self) -> dict[str, Declaration]:
        """All datasets by name."""
        rows = self._store.read(
            lambda view: view.all("SELECT name, declaration FROM {datasets} ORDER BY name")
        )
        return {name: msgspec.json.decode(text, type=Declaration) for name, text in rows}

    def _has_dataset(self, view: View, name: str) -> bool:
        return view.one("SELECT 1 FROM {datasets} WHERE name = ?", name) is not None

    def seen_by(self, principal: Principal) -> list[str]:
        """The datasets that a principal may see."""
        if principal.role == "owner":
            query, values = "SELECT name FROM {datasets} ORDER BY name", ()
        else:
            query = "SELECT dataset FROM {grants} WHERE principal = ? ORDER BY dataset"
            values = (principal.name,)  # type: ignore[assignment]
        return [row[0] for row in self._store.read(lambda view: view.all(query, *values))]

    def may_see(self, principal: Principal, dataset: str) -> bool:
        """Whether a principal may see a dataset."""
        seen = self._known.seen_by(principal)
        return dataset in (self.seen_by(principal) if seen is None else seen)

    def grants(self, dataset: str) -> list[str]:
        """Who may see a dataset, besides owners."""
        query = "SELECT principal FROM {grants} WHERE dataset = ? ORDER BY principal"
        return [row[0] for row in self._store.read(lambda view: view.all(query, dataset))]

    def is_analyst(self, name: str) -> bool:
        """Whether there is an analyst of this name."""
        row = self._store.read(
            lambda view: view.one("SELECT role FROM {principals} WHERE name = ?", name)
        )
        return row is not None and row[0] == "analyst"

    def set_grant(self, analyst: str, dataset: str, *, granted: bool, by: str) -> bool:
        """Let an analyst see a dataset, or no longer; False: nobody of this name is known."""

        def changed(view: View) -> bool:
            known = view.one("SELECT role FROM {principals} WHERE name = ?", analyst)
            if known is None or known[0] != "analyst":
                return False
            if granted:
                _grant(view, analyst, dataset)
            else:
                view.do(
                    "DELETE FROM {grants} WHERE principal = ? AND dataset = ?", analyst, dataset
                )
            what = "grant" if granted else "grant end"
            self._store.note_in(view, by, what, {"dataset": dataset, "analyst": analyst})
            return True

        done = self._store.change(changed)
        self._known.clear()
        return done


def token_hash(secret: str) -> str:
    """What is stored of a token: 256 random bits need no salt."""
    return hashlib.sha256(secret.encode()).hexdigest()


def _grant(view: View, analyst: str, dataset: str) -> None:
    view.do("INSERT INTO {grants} VALUES (?, ?) ON CONFLICT DO NOTHING", analyst, dataset)
