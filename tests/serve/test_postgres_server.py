"""The store and the ledger in Postgres: the same server, and one that comes back by itself."""

import shutil
import time
from pathlib import Path
from typing import Any

import pytest

from serve.served import config_of, declarations, serving, write_data
from winnow.errors import DataError, LedgerError
from winnow.serve.service import Service

pytestmark = pytest.mark.extras


def test_a_server_on_postgres_survives_the_end_of_its_connections(
    postgres_address: str, tmp_path: Path
) -> None:
    psycopg = pytest.importorskip("psycopg")
    write_data(tmp_path)
    config = config_of(
        tmp_path,
        store=postgres_address,
        ledger=postgres_address,
        ledger_key="team.key",
        datasets={"people": declarations()["people"]},
    )
    body = {"questions": [{"colour": "red"}]}
    at = "/v1/datasets/people/questions"
    with serving(config) as served:
        first = served.call("ann", "POST", at, "q1", json=body)
        assert first.status_code == 200, first.text
        job = served.released("ann", "people", "r1", kind="select", column="colour", epsilon=0.5)
        assert job["state"] == "done"
        with psycopg.connect(postgres_address, autocommit=True) as other:
            other.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                "WHERE pid <> pg_backend_pid() AND datname = current_database()"
            )
        status = 0
        for attempt in range(100):  # the lost lock ends the session, which is gone on with
            answer = served.call("ann", "POST", at, f"again {attempt}", json=body)
            status = answer.status_code
            if status == 200:
                break
            assert status in (500, 503), answer.text
            time.sleep(0.1)
        assert status == 200
        assert answer.json()["answers"][0]["count"] == first.json()["answers"][0]["count"]
        assert served.call("ann", "POST", at, "q1", json=body).json() == first.json()
        job = served.released("bob", "people", "r1", kind="select", column="colour", epsilon=0.5)
        assert job["state"] == "done"
        verified = served.call("olga", "GET", "/v1/ledger/verify").json()
        assert verified["ok"] and served.service.ledger.dataset("people").charges == 3
    with serving(config) as served:  # started again, it goes on
        assert served.call("ann", "POST", at, "q1", json=body).json() == first.json()
        assert served.waited("bob", job["id"])["state"] == "done"


def test_two_folders_on_one_database_are_not_served_at_once_and_a_lost_lock_ends_well(
    postgres_address: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    psycopg = pytest.importorskip("psycopg")
    write_data(tmp_path / "one")
    settings: dict[str, Any] = {
        "store": postgres_address,
        "ledger": postgres_address,
        "ledger_key": "team.key",
        "datasets": {"people": declarations()["people"]},
    }

    def end_connections() -> None:
        with psycopg.connect(postgres_address, autocommit=True) as other:
            other.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                "WHERE pid <> pg_backend_pid() AND datname = current_database()"
            )

    one = Service(config_of(tmp_path / "one", **settings))
    one.start()
    shutil.copytree(tmp_path / "one", tmp_path / "two")
    two = Service(config_of(tmp_path / "two", **settings))
    with pytest.raises(DataError, match="another server uses this store"):
        two.start()
    end_connections()
    one.store.held_still()  # the lock is taken again
    with pytest.raises(DataError, match="another server uses this store"):
        two.start()
    end_connections()
    taken = two.store.hold()
    assert taken is not None
    one.store.held_still()
    with pytest.raises(LedgerError, match="another server uses this store"):
        one.store.note("server", "something")
    end_connections()
    one.stop()
    taken.release()
    two = Service(config_of(tmp_path / "two", **settings))
    two.start()
    two.stop()
