"""Files that users keep: ledgers, sessions, schemas, saved releases and models."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

import winnow as wn
from golden.cases import Case, plain, rounded
from golden.data import SCHEMA, VOTES, examples, people, table, write_people
from golden.public import ledger as books
from golden.public import privacy as pv
from golden.selection import SEED
from reference.asking import opened as asking

QUESTIONS = (wn.where(age=(30, 50), sex="Female"), wn.where(rooms=1), wn.where(town=["north"]))


def _entries(book: Any) -> Any:
    """Entries as read, without times, tags, the marks of the chain and the tree of names."""
    found = [entry.to_dict() for entry in book.entries()]
    for entry in found:
        entry["body"]["tree"] = "TREE"
    return [{k: v for k, v in e.items() if k not in ("time", "tag", "previous")} for e in found]


def _layout(path: str) -> list[str]:
    """The tables of a ledger's file, as SQLite knows them."""
    with sqlite3.connect(path) as connection:
        rows = connection.execute("select sql from sqlite_master where sql is not null").fetchall()
        names = connection.execute("select name from meta order by name").fetchall()
    return sorted(" ".join(row[0].split()) for row in rows) + [str(name[0]) for name in names]


def ledger() -> Any:
    people = table(20_000)
    book = books.Ledger.open("book.db", create=True)
    book.open_dataset(
        "people", epsilon=4, delta=1e-5, delta_for_events=1e-6, relation=people.relation,
        unit=people.unit,
    )  # fmt: skip
    own = books.RecordedBudget(book, "people", analyst="Ada")
    with wn.Session(people, budget=own, seed=SEED) as session:
        first = session.top_k("town", k=2, epsilon=0.25)
        session.release(table(), wn.marginals(1), epsilon=0.5, delta=1e-6, method=wn.MWEM(rounds=2))
        asked = session.ask(epsilon=0.5, delta=5e-7, max_queries=50, state="state")
        asked.ask(QUESTIONS[0])
        asked.close()
        again = wn.resume(table(20_000), "state")
        again.ask(QUESTIONS[1])
        again.close()
    book.open_dataset("votes", epsilon=1, relation="add-remove")
    other = books.RecordedBudget(book, "votes", analyst="Bob")
    pick = wn.select(VOTES, epsilon=0.5, budget=other, seed=SEED)
    refused = _refused(lambda: wn.select(VOTES, epsilon=0.75, budget=other, seed=SEED))
    head = pick.receipt.ledger.split("#")[1]
    checked = book.verify(head)
    return rounded(plain({
        "entries": _entries(book),
        "datasets": [[repr(d), str(d.cap.guarantee), d.charges] for d in book.datasets()],
        "receipts": [first.receipt.to_dict(), pick.receipt.to_dict()],
        "refused": refused,
        "verified": [repr(checked), checked.ok],
        "repr": [repr(book), repr(other), repr(session)],
        "key": len(Path("book.db.key").read_bytes()),
        "files": sorted(path.name for path in Path().glob("*") if "db-" not in path.name),
        "layout": _layout("book.db"),
        "head": head.partition(":")[0],
    }))  # fmt: skip


def _refused(run: Any) -> str:
    try:
        return f"not refused: {run()}"
    except wn.WinnowError as error:
        return f"{type(error).__name__}: {error}"


def broken_ledger() -> Any:
    """An edited entry is found."""
    book = books.Ledger.open("book.db", create=True)
    book.open_dataset("people", epsilon=1)
    book.charge("people", pv.PureDP(0.25, "add-remove"))
    book.charge("people", pv.PureDP(0.25, "add-remove"))
    with sqlite3.connect("book.db") as connection:
        names = [row[1] for row in connection.execute("pragma table_info(entries)")]
        for (sql,) in connection.execute(
            "select sql from sqlite_master where type = 'trigger'"
        ).fetchall():
            connection.execute(f"drop trigger {sql.split()[2]}")
        connection.execute("update entries set dataset = 'others' where sequence = 2")
    found = book.verify()
    later = _refused(lambda: book.charge("people", pv.PureDP(0.1, "add-remove")))
    return [names, repr(found), found.ok, later, _refused(lambda: books.Ledger.open("none.db"))]


def journal(**options: Any) -> Any:
    given = {"epsilon": 1, "delta": 1e-6, "max_queries": 500, "seed": SEED, "state": "state"}
    with asking(table(20_000), **given | options) as opened:
        first = [opened.ask(question).to_dict() for question in QUESTIONS]
    with wn.resume(table(20_000), "state") as again:
        second = [again.ask(question).to_dict() for question in QUESTIONS]
        status = [repr(again), again.status, str(again.guarantee), again.receipt]
    lines = [json.loads(line) for line in Path("state").read_text().split("\n") if line]
    other = _refused(lambda: wn.resume(table(), "state"))
    return rounded(plain({
        "lines": lines, "first": first, "second": second, "status": status, "other": other,
        "files": sorted(path.name for path in Path().iterdir()),
    }))  # fmt: skip


def schema() -> Any:
    declared = wn.Schema.parse(
        SCHEMA
        | {"rate": {"values": [1.5, 2.5, 7]}, "income": {"edges": [0, 1.5, 10], "clip": True}}
    )
    declared.save("schema.json")
    text = Path("schema.json").read_text(encoding="utf-8")
    columns = [[repr(c), c.kind, c.labels, c.cardinality] for c in declared.columns]
    wrong = {
        "codes": {"a": 0}, "edges": {"a": {"edges": [3, 1]}}, "twice": {"a": {"values": [1, 1]}},
        "unknown": {"a": {"value": [1]}}, "empty": {},
    }  # fmt: skip
    return {
        "text": text, "dict": declared.to_dict(), "repr": repr(declared), "columns": columns,
        "shape": declared.shape, "cells": declared.cells, "names": declared.names,
        "same": wn.Schema.parse("schema.json") == declared,
        "subset": repr(declared.subset(["sex", "rate"])),
        "refused": {n: _refused(lambda g=given: wn.Schema.parse(g)) for n, given in wrong.items()},
    }  # fmt: skip


def sealed_reading() -> Any:
    """What a table that does not fit its schema is told: nothing of its values."""
    import pandas as pd

    frame = pd.DataFrame(people())
    wrong = {
        "value": (frame, {"sex": {"values": ["Female"]}}),
        "column": (frame, {"height": 3}),
        "kind": (frame, {"sex": 2}),
        "edges": (frame, {"age": {"edges": [0, 20]}}),
        "file": ("none.csv", SCHEMA),
    }
    return {
        name: _refused(lambda s=source, d=declared: wn.read_table(s, schema=d))
        for name, (source, declared) in wrong.items()
    }


def saved() -> Any:
    released = wn.release(
        table(columns="age sex"),
        wn.marginals(2),
        epsilon=2,
        delta=1e-6,
        seed=SEED,
        method=wn.MWEM(rounds=3),
    )
    about = {name: part for name, part in released.to_dict().items() if name != "value"}
    about["receipt"]["version"] = "VERSION"
    released.value.save("rows.csv", rows=8, seed=SEED)
    released.value.save("all.json", about=about)
    released.value.save("rows.parquet", rows=8, seed=SEED, about=about)
    parquet = pq.read_table("rows.parquet")
    metadata = {k.decode(): v.decode() for k, v in (parquet.schema.metadata or {}).items()}
    return rounded(plain({
        "csv": Path("rows.csv").read_text(encoding="utf-8"),
        "json": json.loads(Path("all.json").read_text(encoding="utf-8")),
        "parquet": parquet.to_pydict(),
        "parquet schema": [f"{field.name}: {field.type}" for field in parquet.schema],
        "parquet metadata": {k: v for k, v in metadata.items() if "pandas" not in k},
        "refused": _refused(lambda: released.value.save("rows.txt")),
    }))  # fmt: skip


def model() -> Any:
    points, classes = examples()
    rule = wn.OneRule(of="conjunctions:2", cuts=[2.0, 4.0])
    found = wn.learn(points, classes, method=rule, epsilon=2, seed=SEED)
    Path("model.json").write_text(json.dumps(found.to_dict()))
    again = wn.load_predictor("model.json")
    return rounded(plain([found.value.to_dict(), repr(again), again.text,
                          again.predict(points[:9])]))  # fmt: skip


def read_back() -> Any:
    """The made-up files, read in every way."""
    write_people()
    read = wn.read_table("people.csv", schema="schema.json")
    counted = wn.counts(
        "log.csv", item="page", person="visitor", max_items=2, reading=wn.Reading(salt="golden")
    )
    held = wn.read_baskets("baskets.csv", unit="basket", reading=wn.Reading(salt="golden"))
    return [
        [repr(read), repr(counted), repr(held)],
        wn.top_k(counted, k=3, epsilon=3, delta=1e-6, with_counts=True, seed=SEED),
        wn.itemsets(held, size=2, epsilon=3, delta=1e-6, seed=SEED),
        wn.learn(read, "sex", method="stumps", epsilon=1, seed=SEED).value.text,
    ]


def cases() -> dict[str, Case]:
    """All of them by name."""
    found: dict[str, Any] = {
        "ledger": ledger, "edited ledger": broken_ledger, "session state": journal,
        "session state independent": lambda: journal(method="independent", max_queries=20),
        "session state warm start": lambda: journal(warm_start=0.25),
        "session state fallback": lambda: journal(threshold=1e-6, updates=2, fallback=0.25),
        "schema": schema, "tables refused": sealed_reading, "saved release": saved,
        "saved model": model, "files read": read_back,
    }  # fmt: skip
    return {name: Case(run) for name, run in found.items()}
