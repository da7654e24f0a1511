"""Results that cannot be written down: refused beforehand, escaped, or failed; never in the way."""

import json
import sqlite3
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import winnow as wn
from serve.served import Served, config_of, declarations, serving, shared_workers, write_data
from winnow.errors import DataError, LedgerError, ParameterError
from winnow.privacy import Budget
from winnow.serve import bodies, orders
from winnow.serve.config import Limits
from winnow.serve.database import SQLiteDatabase, _reported
from winnow.serve.declarations import Declaration
from winnow.serve.documents import Document, document_of
from winnow.serve.orders import check_size, size_of
from winnow.serve.requests import DONE, FAILED, Request
from winnow.serve.service import Service
from winnow.serve.texts import writable
from winnow.serve.workloads import workload_of

SMALL = bodies.TabulateOrder(by=[bodies.WorkloadPiece(table=["colour"])], epsilon=0.1)
LARGE = bodies.TabulateOrder(by=[bodies.WorkloadPiece(ranges="age")], epsilon=0.1)


def service_of(folder: Path, **settings: Any) -> Service:
    people = msgspec.structs.replace(declarations()["people"], questions=None)
    config = config_of(
        folder, **{"datasets": {"people": people}, "limits": Limits(jobs=1)} | settings
    )
    service = Service(config, workers=shared_workers())
    service.start()
    return service


def ordered(service: Service, order: bodies.AnyOrder, key: str, who: str = "ann") -> Request:
    opened = service.catalogue.get("people")
    assert opened is not None
    return service.jobs.order(opened, order, who, key)


def ended(service: Service, request: Request) -> Request:
    for _ in range(3000):
        found = service.requests.request(request.id)
        if found is not None and found.shown is not None:
            return found
        time.sleep(0.01)
    raise AssertionError("it did not end")


def test_a_result_that_the_store_cannot_hold_fails_and_keeps_no_other_waiting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SQLite itself refuses the text, by a lower limit; there is one thread for all releases."""
    write_data(tmp_path)
    real = SQLiteDatabase._connect

    def short(database: SQLiteDatabase) -> sqlite3.Connection:
        connection = real(database)
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, 4000)
        return connection

    monkeypatch.setattr(SQLiteDatabase, "_connect", short)
    service = service_of(tmp_path)
    large, small = ordered(service, LARGE, "large"), ordered(service, SMALL, "small")
    assert ended(service, small).state == DONE
    failed = ended(service, large)
    assert failed.state == FAILED and "stays charged" in json.loads(failed.result or "")["problem"]
    assert service.ledger.dataset("people").charges == 2
    service.stop()
    again = service_of(tmp_path)
    other = ordered(again, SMALL, "other")
    assert ended(again, other).state == DONE and ended(again, large).state == FAILED
    again.stop()
    monkeypatch.undo()
    healed = service_of(tmp_path)
    assert ended(healed, large).state == DONE, "the key of its noise was kept"
    assert healed.ledger.dataset("people").charges == 3
    healed.stop()


def test_a_release_that_waits_for_a_store_that_is_away_keeps_no_other_waiting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_data(tmp_path)
    service = service_of(tmp_path)
    finish, first = service.requests.finish, []

    def away(identity: str, *given: Any) -> None:
        if not first:
            first.append(identity)
        if first == [identity]:
            raise LedgerError("the store of the server cannot be used: it is away")
        finish(identity, *given)

    monkeypatch.setattr(service.requests, "finish", away)
    monkeypatch.setattr("winnow.serve.jobs._PAUSE", 0.01)
    waiting, other = ordered(service, SMALL, "one"), ordered(service, SMALL, "two")
    assert ended(service, other).state == DONE
    assert service.requests.request(waiting.id).shown is None  # type: ignore[union-attr]
    first[0] = "none"
    assert ended(service, waiting).state == DONE
    service.stop()


@pytest.mark.parametrize(
    ("error", "raised"),
    [
        (sqlite3.DataError("string or blob too big"), DataError),
        (sqlite3.OperationalError("database is locked"), LedgerError),
        (sqlite3.DatabaseError("file is not a database"), LedgerError),
        (OverflowError("an integer"), DataError),
        (UnicodeEncodeError("utf-8", "\ud800", 0, 1, "surrogates"), DataError),
        (OSError(28, "No space left"), LedgerError),
    ],
    ids=lambda each: type(each).__name__ if isinstance(each, Exception) else "",
)
def test_a_store_that_is_away_is_told_from_a_value_that_none_holds(
    error: Exception, raised: type[Exception]
) -> None:
    with pytest.raises(raised) as caught, _reported():
        raise error
    assert type(caught.value) is raised and str(error) not in str(caught.value)


def test_errors_of_postgres_are_told_apart_by_their_class() -> None:
    psycopg = pytest.importorskip("psycopg")
    for error, raised in (
        (psycopg.errors.ProgramLimitExceeded(), DataError),
        (psycopg.errors.CharacterNotInRepertoire(), DataError),
        (psycopg.errors.AdminShutdown(), LedgerError),
        (psycopg.errors.DiskFull(), LedgerError),
        (psycopg.OperationalError("connection refused"), LedgerError),
    ):
        with pytest.raises(raised) as caught, _reported():
            raise error
        assert type(caught.value) is raised


ODD = ["a\0b", "c\ud800", "fine \U0001f600", "=1+1", "\\u0000"]


class Odd:
    """A released value with labels of every kind."""

    def to_dict(self) -> dict[str, Any]:
        return {"labels": ODD}

    def to_columns(self) -> dict[str, Any]:
        return {"odd\0": np.array(ODD, object), "count": np.arange(5)}


def test_labels_that_no_store_holds_are_written_with_escapes() -> None:
    selected = wn.select(wn.seal_scores([3, 1, 2], sensitivity=1), epsilon=1.0, seed=1)
    document = document_of(replace(selected, value=Odd()), 1)
    document.text.encode("ascii")
    labels = ["a\\u0000b", "c\\ud800", ODD[2], ODD[3], ODD[4]]
    assert json.loads(document.text)["value"]["labels"] == labels
    lines = document.files["table.csv"].encode().decode().splitlines()
    assert lines.pop(0) == "odd\\u0000,count"
    assert [line.split(",")[0] for line in lines] == [*labels[:3], "'=1+1", labels[4]]
    assert writable({"\0": ["\udfff", 1, None, "\U0001f600"]}) == {
        "\\u0000": ["\\udfff", 1, None, "\U0001f600"]
    }


@pytest.mark.parametrize("place", ["sqlite", pytest.param("postgres", marks=pytest.mark.extras)])
def test_an_item_with_a_nul_is_released(
    tmp_path: Path, place: str, request: pytest.FixtureRequest
) -> None:
    store = {} if place == "sqlite" else {"store": request.getfixturevalue("postgres_address")}
    items = ["bad\0item"] * 300 + ["other"] * 200
    people = [f"p{i}" for i in range(500)]
    pq.write_table(pa.table({"person": people, "item": items}), tmp_path / "log.parquet")
    log = Declaration(
        kind="events", path="log.parquet", item="item", person="person", epsilon=50.0, delta=1e-4
    )
    with serving(config_of(tmp_path, datasets={"log": log}, **store)) as served:
        served.service.accounts.set_grant("ann", "log", granted=True, by="test")
        job = served.released(
            "ann", "log", "k", kind="top-k", k=2, epsilon=10.0, delta=1e-6, with_counts=True
        )
        assert job["state"] == "done", job
        real = served.service.requests.now
        served.service.requests.now = lambda: real() + 1e6
        found = served.call("ann", "GET", job["release"])
        assert found.status_code == 200
        assert found.json()["value"][0][0] == "bad\\u0000item"
        for name in found.json()["downloads"]:
            content = served.call("ann", "GET", f"{job['release']}/{name}")
            assert content.status_code == 200 and "\0" not in content.text
        served.service.requests.now = real


ORDERS: list[bodies.AnyOrder] = [
    SMALL,
    LARGE,
    bodies.TabulateOrder(by=[bodies.WorkloadPiece(marginals=2)], epsilon=1.0, values=["age"]),
    bodies.TopKOrder(k=3, column="colour", epsilon=1.0, with_counts=True),
    bodies.SelectOrder(column="colour", epsilon=1.0),
    bodies.ReleaseOrder(
        workload=[bodies.WorkloadPiece(marginals=1), bodies.WorkloadPiece(ranges="age")],
        epsilon=1.0, delta=1e-6,
    ),
]  # fmt: skip


@pytest.mark.parametrize("order", ORDERS, ids=range(len(ORDERS)))
def test_the_size_that_is_expected_bounds_the_result(
    served: Served, order: bodies.AnyOrder
) -> None:
    """And is less than ten times as much, but for what receipts and guarantees take."""
    opened = served.service.catalogue.get("people")
    assert opened is not None
    budget = Budget(100.0, 1e-3, relation="substitution")
    document = document_of(orders.run(opened, order, budget).released, 1)
    about = 3000
    largest = max(len(text) for text in (document.text, *document.files.values()))
    size = size_of(opened, order)
    assert largest <= size.bytes + about
    assert size.bytes <= 10 * largest
    check_size(opened, order, size.bytes)
    with pytest.raises(ParameterError, match="fewer or smaller tables"):
        check_size(opened, order, size.bytes - 1)


def test_the_number_of_answers_is_that_of_the_workload(served: Served) -> None:
    opened = served.service.catalogue.get("people")
    assert opened is not None and opened.table is not None
    pieces = [
        bodies.WorkloadPiece(marginals=1), bodies.WorkloadPiece(marginals=2),
        bodies.WorkloadPiece(table=["age"]), bodies.WorkloadPiece(prefixes="age"),
        bodies.WorkloadPiece(ranges="age"), bodies.WorkloadPiece(where=[{"age": 3}] * 4),
    ]  # fmt: skip
    for piece in pieces:
        expected = workload_of([piece]).size(opened.table.schema)
        assert size_of(opened, bodies.TabulateOrder(by=[piece], epsilon=1.0)).answers == expected


def test_a_document_has_a_limit_and_says_what_mends_it() -> None:
    document = Document("x" * 10, {"table.csv": "é" * 10})
    document.check(20)
    with pytest.raises(DataError, match=r"limits\.result_mb"):
        document.check(19)


def test_what_would_be_too_large_is_refused_before_it_is_planned_or_charged(
    tmp_path: Path,
) -> None:
    """200 columns have 82 billion tables of six; to list them would already be too much."""
    names = [f"c{n}" for n in range(200)]
    (tmp_path / "wide.csv").write_text(",".join(names) + "\n" + ",".join("0" * 200) + "\n")
    schema = {name: {"codes": 5000 if name == "c0" else 2} for name in names}
    wide = Declaration(path="wide.csv", schema=schema, epsilon=1.0, delta=1e-5)
    with serving(config_of(tmp_path, datasets={"people": wide})) as served:
        for piece in ({"ranges": "c0"}, {"marginals": 6}, {"table": ["c0", *names[1:20]]}):
            for kind, pieces in (("tabulate", "by"), ("release", "workload")):
                order = {"kind": kind, pieces: [piece], "epsilon": 0.1, "delta": 1e-7}
                plan = served.call(
                    "reader", "POST", "/v1/datasets/people/plans", json={"order": order}
                )
                assert plan.status_code == 422 and "this server shows at most" in plan.text
                release = served.call(
                    "ann", "POST", "/v1/datasets/people/releases", "k", json={"order": order}
                )
                assert release.status_code == 422 and "limits.result_mb" in release.text
        assert served.service.ledger.dataset("people").charges == 0


def test_a_list_of_releases_is_read_without_what_was_released(served: Served) -> None:
    order = {"kind": "select", "column": "colour", "epsilon": 0.01}
    job = served.released("ann", "people", "brief", **order)
    assert job["state"] == "done"
    requests = served.service.requests
    whole = requests.request(job["id"])
    assert whole is not None and whole.result
    listed = [each for each in requests.requests(most=10_000) if each.id == job["id"]]
    assert [each.result for each in listed] == [None]


def test_a_schema_with_half_a_surrogate_is_shown(tmp_path: Path) -> None:
    write_data(tmp_path)
    schema = {"colour": {"values": ["red", "green", "blue", "x\ud800"]}, "age": {"codes": 10}}
    (tmp_path / "schema.json").write_text(json.dumps(schema))
    people = Declaration(path="people.csv", schema="schema.json", epsilon=5.0)
    with serving(config_of(tmp_path, datasets={"people": people})) as served:
        found = served.call("ann", "GET", "/v1/datasets/people/schema")
        assert found.status_code == 200
        assert found.json()["labels"]["colour"][-1] == "x\\ud800"
        order = {"kind": "tabulate", "by": [{"table": ["colour"]}], "epsilon": 0.5}
        assert served.released("ann", "people", "k", **order)["state"] == "done"
