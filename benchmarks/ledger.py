"""The ledger under load: time against its length, many processes, races, and damage.

    length   the time of a charge and of reading what is left, with 100 to 100,000 entries
    load     processes that charge as fast as they can until the cap: charges a second, the time
             that one waits, and whether exactly what the cap allows was granted
    race     four processes open one new ledger at the same moment, a hundred times
    damage   a spent ledger, damaged in 10,000 ways: what an attempt to charge meets

On SQLite and on a Postgres server of its own (from the wheel pgserver). The disk and its other
users decide most of the times: each charge waits for it.
"""

from __future__ import annotations

import json
import os
import sqlite3
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import Any

import pgserver
import psycopg

from _common import HERE, arguments, report, save
from winnow.privacy import PureDP
from winnow.privacy.ledger import Ledger, RecordedBudget
from winnow.privacy.ledger.accounts import texts_of
from winnow.privacy.ledger.postgres_store import PostgresStore
from winnow.privacy.ledger.sqlite_store import SQLiteStore

sys.path.insert(0, str(HERE.parent / "tests"))
from reference.ledger_damage import outcomes

LENGTHS = (100, 10_000, 100_000)
LOADS = (("SQLite", 8), ("Postgres", 32))
TITLES = {
    "length": "Time in milliseconds against the number of entries",
    "load": "Processes that charge until the cap",
    "race": "Four processes open one new ledger",
    "damage": "What a charge to a spent, damaged ledger meets",
}
EVENT = PureDP(Fraction(1, 1000), "add-remove")

Place = tuple[str, Path]
"""The address of a ledger and the file of its key."""


@contextmanager
def places(store: str) -> Iterator[Callable[[], Place]]:
    """Addresses of new ledgers on a store."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        server = pgserver.get_server(root / "pg") if store == "Postgres" else None
        made = 0

        def fresh() -> Place:
            nonlocal made
            made += 1
            key = root / f"{made}.key"
            if server is None:
                return str(root / f"{made}.db"), key
            with psycopg.connect(server.get_uri(), autocommit=True) as connection:
                connection.execute(f"CREATE DATABASE ledger{made}")
            return server.get_uri(f"ledger{made}"), key

        try:
            yield fresh
        finally:
            if server is not None:
                server.cleanup()


def opened(place: Place, charges: int) -> Ledger:
    """A new ledger with room for so many charges."""
    ledger = Ledger.open(place[0], key_file=place[1], create=True)
    ledger.open_dataset("people", epsilon=Fraction(charges, 1000))
    return ledger


def fill(ledger: Ledger, until: int) -> None:
    """Charge, a thousand times in each transaction, until there are so many entries."""

    def many(chain: Any, end: Any) -> int:
        for _ in range(min(1000, until - chain.seen[0])):
            account = chain.dataset("people")
            cost = account.cap.cost(EVENT, account.used)
            after = account.charged(account.used + cost)
            body = {"event": {}, "cost": texts_of(cost), "analyst": "", "plan": ""}
            chain.add(end, "charge", after, body)
        return int(chain.seen[0])

    while ledger._append(many) < until:
        pass


def copied(source: Place, place: Place) -> Ledger:
    """The ledger of a file on Postgres: filling it there takes long."""
    book = SQLiteStore(Path(source[0]))
    last = book.read(lambda view: view.newest(0))[1]
    assert last is not None
    PostgresStore(place[0]).create(book.meta(), last)
    rows = sqlite3.connect(source[0])
    with (
        psycopg.connect(place[0]) as connection,
        connection.cursor() as cursor,
        cursor.copy("COPY winnow_entries FROM STDIN") as copy,
    ):
        for row in rows.execute("SELECT * FROM entries ORDER BY sequence"):
            copy.write_row(row)
    rows.close()
    return Ledger.open(place[0], key_file=source[1])


def middle(run: Callable[[], Any], repeats: int = 31) -> float:
    """The median of some runs, in milliseconds."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        run()
        times.append((time.perf_counter() - start) * 1000)
    return statistics.median(times)


def lengths() -> list[dict[str, Any]]:
    rows = []
    with places("SQLite") as files, places("Postgres") as databases:
        source = files()
        ledger = opened(source, 10**6)
        for length in LENGTHS:
            fill(ledger, length)
            for store, own in (("Postgres", copied(source, databases())), ("SQLite", ledger)):
                rows.append({"store": store, "entries": length, **times(own)})
    return sorted(rows, key=lambda row: (row["store"] != "SQLite", row["entries"]))


def times(ledger: Ledger) -> dict[str, float]:
    budget = RecordedBudget(ledger, "people")
    return {
        "charge_ms": middle(lambda: ledger.charge("people", EVENT)),
        "left_ms": middle(lambda: budget.left),
        "note_data_ms": middle(lambda: ledger.note_data("people", b"digest")),
    }


def at_once(processes: int, work: Callable[[], str]) -> list[str]:
    """What processes of their own answer that start at the same moment."""
    start = time.time() + 0.5
    running = []
    for _ in range(processes):
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(read)
            time.sleep(max(start - time.time(), 0))
            try:
                answer = work()
            except BaseException as error:
                answer = f"failed: {type(error).__name__}: {error}"
            with os.fdopen(write, "w") as pipe:
                pipe.write(answer)
            os._exit(0)
        os.close(write)
        running.append((child, read))
    answers = []
    for child, read in running:
        with os.fdopen(read) as pipe:
            answers.append(pipe.read())
        os.waitpid(child, 0)
    return answers


def load(store: str, processes: int, charges: int) -> dict[str, Any]:
    with places(store) as fresh:
        place = fresh()
        ledger = opened(place, charges)

        def work() -> str:
            own, times = Ledger.open(place[0], key_file=place[1]), []
            while True:
                start = time.perf_counter()
                try:
                    own.charge("people", EVENT)
                except Exception as refusal:
                    times.append(type(refusal).__name__)
                    return " ".join(map(str, times))
                times.append(time.perf_counter() - start)

        began = time.perf_counter()
        answers = [answer.split() for answer in at_once(processes, work)]
        took = time.perf_counter() - began - 0.5
        waits = sorted(float(text) for answer in answers for text in answer[:-1])
        recorded, check = ledger.dataset("people"), ledger.verify()
        return {
            "store": store,
            "processes": processes,
            "a_second": len(waits) / took,
            "p50_s": waits[len(waits) // 2],
            "p99_s": waits[len(waits) * 99 // 100],
            "longest_s": waits[-1],
            "allowed": charges,
            "granted": len(waits),
            "overspent": max(0, recorded.charges - charges),
            "lost": len(waits) - recorded.charges,
            "ended_by": sorted({answer[-1] for answer in answers}),
            "verified": check.ok,
        }


def races(store: str, creations: int) -> dict[str, Any]:
    failed, wrong = 0, 0
    with places(store) as fresh:
        for _ in range(creations):
            place = fresh()

            def work(place: Place = place) -> str:
                opened(place, 4).charge("people", EVENT)
                return "charged"

            failed += sum(answer != "charged" for answer in at_once(4, work))
            ledger = Ledger.open(place[0], key_file=place[1])
            wrong += not ledger.verify().ok or ledger.dataset("people").charges != 4
    return {"store": store, "openings": 4 * creations, "failed": failed, "wrong": wrong}


def damage(number: int, seed: int) -> list[dict[str, Any]]:
    with tempfile.TemporaryDirectory() as folder:
        found = outcomes(Path(folder), number, seed)
    return [
        {"damage": kind, "met": met, "times": times} for (kind, met), times in sorted(found.items())
    ]


def main() -> None:
    parser = arguments(__doc__ or "", "ledger")
    parser.add_argument("--charges", type=int, default=3000, help="charges of each load")
    parser.add_argument("--creations", type=int, default=100, help="ledgers made in the race")
    parser.add_argument("--damage", type=int, default=10_000, help="damaged copies")
    parser.add_argument("--parts", default=",".join(TITLES), help="the others stay as they are")
    options = parser.parse_args()
    run: dict[str, Callable[[], list[dict[str, Any]]]] = {
        "length": lengths,
        "load": lambda: [load(store, processes, options.charges) for store, processes in LOADS],
        "race": lambda: [races(store, options.creations) for store, _ in LOADS],
        "damage": lambda: damage(options.damage, options.seed),
    }
    parts = options.parts.split(",")
    kept = json.loads(options.out.read_text()) if options.out.exists() else {}
    others = {"others": os.getloadavg()[0]} if "load" in parts else {}
    kept.pop("machine", None)
    days = {
        **kept.get("days", {}),
        **dict.fromkeys(parts, time.strftime("%Y-%m-%d", time.gmtime())),
    }
    document: dict[str, Any] = {**kept, **others, **{name: run[name]() for name in parts}}
    document["days"] = days
    for name in parts:
        rows = document[name]
        shown = [[_text(value) for value in row.values()] for row in rows]
        report(TITLES[name], list(rows[0]), shown)
    save(options.out, document)


def _text(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


if __name__ == "__main__":
    main()
