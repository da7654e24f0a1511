"""A ledger as version 1 wrote it: entries without accounts and tree, no mark of the end."""

from __future__ import annotations

import hashlib
import hmac
import json
import sqlite3
from fractions import Fraction
from pathlib import Path
from typing import Any

from winnow.privacy import PureDP, to_json
from winnow.privacy.ledger import Entry
from winnow.privacy.ledger.entry import START

IDENTITY = "ab" * 16
LAYOUT = """
CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;
CREATE TABLE entries (
    sequence INTEGER PRIMARY KEY CHECK (sequence > 0),
    time TEXT NOT NULL, kind TEXT NOT NULL, dataset TEXT NOT NULL, body TEXT NOT NULL,
    previous TEXT NOT NULL UNIQUE, tag TEXT NOT NULL UNIQUE,
    used INTEGER NOT NULL CHECK (used >= 0), cap INTEGER NOT NULL CHECK (used <= cap)
) STRICT;
CREATE INDEX by_dataset ON entries (dataset, sequence);
CREATE TRIGGER meta_update BEFORE UPDATE ON meta
    BEGIN SELECT RAISE(ABORT, 'a ledger is only appended to'); END;
"""


def first_ledger(path: Path) -> Path:
    """'census' with epsilon 1, of which ann and bo used .3 each, and a session of its own."""
    key = bytes(range(32))
    file = path.with_name(path.name + ".key")
    file.touch(0o600)
    file.write_text(key.hex())
    chain = hmac.new(key, b"winnow-chain:" + IDENTITY.encode(), hashlib.sha256).digest()
    check = hmac.new(key, b"winnow-ledger:" + IDENTITY.encode(), hashlib.sha256).hexdigest()
    mark = hmac.new(chain, b"data:digest", hashlib.sha256).hexdigest()
    opening = {"epsilon": 1.0, "delta": 0.0, "delta_for_events": 0.0, "relation": "add-remove",
               "accountant": "pure"}  # fmt: skip
    contents: list[tuple[str, dict[str, Any], Fraction]] = [("open", opening, Fraction(0))]
    contents.append(("data", {"fingerprint": mark}, Fraction(0)))
    for number in range(6):
        event = to_json(PureDP(0.1, "add-remove"))
        charge = {"event": event, "cost": ["1/10", "0"], "analyst": ("ann", "bo")[number % 2]}
        charge |= {"plan": "", "session": "s"} if number == 5 else {"plan": ""}
        contents.append(("charge", charge, Fraction(number + 1, 10)))
    told = {"session": "s", "released": 2, "lines": 3, "journal": "ab"}
    contents += [("session", told | {"released": 1}, Fraction(6, 10))]
    contents += [("session", told, Fraction(6, 10))]
    connection = sqlite3.connect(path)
    connection.executescript(LAYOUT)
    meta = {"version": "1", "library": "0.1.0", "identity": IDENTITY, "key": check}
    connection.executemany("INSERT INTO meta VALUES (?, ?)", meta.items())
    previous = START
    for sequence, (kind, content, used) in enumerate(contents, 1):
        body = content | {"used": [str(used), "0"]}
        time = f"2026-01-01T00:00:{sequence:02}+00:00"
        entry = Entry(sequence, time, kind, "census", body, previous).sealed(chain)
        row = (sequence, time, kind, "census", json.dumps(body), previous, entry.tag)
        connection.execute("INSERT INTO entries VALUES (?,?,?,?,?,?,?,0,0)", row)
        previous = entry.tag
    connection.commit()
    connection.close()
    return path
