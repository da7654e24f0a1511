"""Killed between any two steps of a release: done again, once charged, from the same key."""

import json
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec
import pytest

from reference.inside import WrittenKey
from serve.served import config_of, declarations, shared_workers, write_data
from winnow.errors import InputError, LedgerError
from winnow.privacy import Budget
from winnow.serve import bodies, orders
from winnow.serve.checking import check
from winnow.serve.config import Limits
from winnow.serve.documents import document_of
from winnow.serve.problems import Refusal
from winnow.serve.requests import DONE, FAILED, Request
from winnow.serve.service import Service

STEPS = (
    "before the request is written",
    "before the charge",
    "after the charge",
    "before the result is written",
    "after the result is written",
)
ORDER = bodies.TabulateOrder(by=[bodies.WorkloadPiece(table=["colour"])], epsilon=0.5)


def service_of(folder: Path, step: Callable[[str], None] = lambda _: None) -> Service:
    people = msgspec.structs.replace(declarations()["people"], questions=None)
    return Service(
        config_of(folder, datasets={"people": people}), step=step, workers=shared_workers()
    )


def released(service: Service) -> Request:
    """One release under one key, waited for."""
    opened = service.catalogue.get("people")
    assert opened is not None
    request = service.jobs.order(opened, ORDER, "ann", "the key")
    for _ in range(3000):
        found = service.requests.request(request.id)
        if found is not None and found.shown is not None:
            return found
        time.sleep(0.01)
    raise AssertionError("it did not end")


def die_at_each_step(root: Path) -> None:
    """In a process of its own: one child for each step, which is killed there."""
    import os

    children = {}
    for number, step in enumerate(STEPS):
        child = os.fork()
        children[child] = step
        if not child:
            service = service_of(
                root / str(number), lambda name, at=step: name == at and os.kill(os.getpid(), 9)
            )
            service.start()
            released(service)
            os._exit(1)
    for child, step in children.items():
        assert os.WIFSIGNALED(os.waitpid(child, 0)[1]), step


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for each step, left behind by a server that was killed there."""
    root = tmp_path_factory.mktemp("killed")
    for number in range(len(STEPS)):
        write_data(root / str(number))
    tests = str(Path(__file__).parents[1])
    program = (
        f"import sys; sys.path.insert(0, {tests!r})\nfrom pathlib import Path\n"
        f"from serve.test_crashes import die_at_each_step\ndie_at_each_step(Path({str(root)!r}))"
    )
    subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, timeout=120)
    return root


@pytest.fixture
def started(request: pytest.FixtureRequest, killed: Path) -> Iterator[tuple[Service, Any]]:
    """The server of a step, started again; and the key that it had written down."""
    service = service_of(killed / str(STEPS.index(request.param)))
    begun = service.requests.begin_again("people")
    keys = [service.vault.unseal(each.tape, each.id) for each in begun if each.tape is not None]
    service.start()
    yield service, keys
    service.stop()


@pytest.mark.slow
@pytest.mark.parametrize("started", STEPS, indirect=True)
def test_a_release_that_was_killed_is_completed_for_one_charge(
    started: tuple[Service, list[bytes]],
) -> None:
    service, keys = started
    found = released(service)
    assert found.state == DONE and service.ledger.dataset("people").charges == 1
    assert released(service) == found, "the same key is the same answer, uncharged"
    assert service.ledger.dataset("people").charges == 1
    assert service.ledger.verify().ok and service.store.verify_audit_log() == ""
    assert found.tape is None, "the key is forgotten when the result is there"
    opened = service.catalogue.get("people")
    assert opened is not None
    for key in keys:  # by the library alone, from the key that was written before the charge
        budget = Budget(20.0, 1e-4, relation="substitution")
        made = orders.run(opened, ORDER, budget, WrittenKey(key))
        again = document_of(made.released, 1)
        assert json.loads(found.result or "")["value"] == json.loads(again.text)["value"]


def test_changed_data_are_not_released_for_an_old_charge(tmp_path: Path) -> None:
    write_data(tmp_path)
    service = service_of(tmp_path)
    service.start()
    opened = service.catalogue.get("people")
    assert opened is not None
    with (tmp_path / "people.csv").open("a") as file:
        file.write("red,3,another\n")
    service.jobs._finish = lambda _: None  # type: ignore[method-assign]  # as if it were killed
    service.jobs.order(opened, ORDER, "ann", "the key")
    service.stop()
    again = service_of(tmp_path)
    again.start()
    assert released(again).state == FAILED
    assert again.ledger.dataset("people").charges == 1  # it stays charged
    again.stop()


def test_a_store_that_cannot_be_written_shows_nothing_and_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As with a full disk: the release waits, and is completed once there is room."""
    write_data(tmp_path)
    service = service_of(tmp_path)
    service.start()
    finish, failures = service.requests.finish, []

    def full(*given: Any) -> None:
        if not failures:
            failures.append(service.requests.request(given[0]))
            raise LedgerError("the store of the server cannot be used: disk full")
        finish(*given)

    monkeypatch.setattr(service.requests, "finish", full)
    monkeypatch.setattr("winnow.serve.jobs._PAUSE", 0.01)
    assert released(service).state == DONE
    assert failures and failures[0].shown is None
    assert service.ledger.dataset("people").charges == 1
    service.stop()


def test_a_store_that_is_damaged_or_of_another_key_is_refused(tmp_path: Path) -> None:
    write_data(tmp_path)
    service_of(tmp_path)
    key = tmp_path / "winnow-serve.key"
    held = key.read_text()
    key.write_text("0" * 64 + "\n")
    with pytest.raises(Exception, match="restore both"):
        service_of(tmp_path)
    key.write_text(held)
    (tmp_path / "winnow-serve.db").write_bytes(b"not a database at all" * 100)
    with pytest.raises(LedgerError, match="cannot be used") as caught:
        service_of(tmp_path)
    assert caught.value.__cause__ is None and caught.value.__context__ is None


@pytest.mark.parametrize("mode", ["wal", "delete"])
def test_a_database_of_something_else_is_no_store_and_stays_as_it_is(
    tmp_path: Path, mode: str
) -> None:
    """Before, a server made its tables in it, and took it from all but the owner."""
    write_data(tmp_path)
    place = tmp_path / "winnow-serve.db"
    with closing(sqlite3.connect(place)) as other:
        other.execute(f"PRAGMA journal_mode={mode}")
        other.execute("CREATE TABLE meta (name TEXT, value TEXT)")
        other.commit()
    place.chmod(0o644)
    before = place.read_bytes()
    with pytest.raises(InputError, match="a database of something else"):
        service_of(tmp_path)
    found = check(config_of(tmp_path, datasets={}))
    assert "a database of something else" in found.problems[0]
    assert place.read_bytes() == before and place.stat().st_mode & 0o777 == 0o644


def test_one_server_at_a_time_serves_a_folder(tmp_path: Path) -> None:
    write_data(tmp_path)
    first, second = service_of(tmp_path), service_of(tmp_path)
    first.start()
    with pytest.raises(InputError, match="another server"):
        second.start()
    first.stop()
    second.start()
    second.stop()


def test_a_store_that_turns_read_only_takes_nothing_and_charges_nothing(tmp_path: Path) -> None:
    write_data(tmp_path)
    service = service_of(tmp_path)
    service.start()
    opened = service.catalogue.get("people")
    assert opened is not None
    with service.store._database._kept.connection() as connection:
        connection.execute("PRAGMA query_only = ON")
    with pytest.raises(LedgerError, match="cannot be used"):
        service.jobs.order(opened, ORDER, "ann", "the key")
    assert service.ledger.dataset("people").charges == 0
    assert released(service).state == DONE  # the connection was given up, and a new one is good
    service.stop()


def test_room_for_releases_is_freed_at_public_times(tmp_path: Path) -> None:
    """Whether a release finds room must not tell when another one really ended."""
    write_data(tmp_path)
    people = msgspec.structs.replace(declarations()["people"], questions=None)
    limits = Limits(jobs=1, waiting_jobs=1)
    service = Service(
        config_of(tmp_path, datasets={"people": people}, limits=limits), workers=shared_workers()
    )
    service.start()
    opened = service.catalogue.get("people")
    assert opened is not None
    real = time.time()
    service.requests.now = lambda: real
    for key in "ab":
        request = service.jobs.order(opened, ORDER, "ann", key)
        while service.requests.request(request.id).state != DONE:  # type: ignore[union-attr]
            time.sleep(0.01)
    with pytest.raises(Refusal, match="waiting"):
        service.jobs.order(opened, ORDER, "ann", "c")
    assert service.ledger.dataset("people").charges == 2
    service.requests.now = lambda: real + 60
    service.jobs.order(opened, ORDER, "ann", "c")
    service.stop()


def test_whoever_sets_the_clock_moves_no_public_time(tmp_path: Path) -> None:
    write_data(tmp_path)
    service = service_of(tmp_path)
    service.start()
    opened = service.catalogue.get("people")
    assert opened is not None
    for number, jump in enumerate((-86_400.0, 86_400.0 * 365)):
        request = service.jobs.order(opened, ORDER, "ann", f"key {number}")
        service.store.clock = lambda jump=jump: time.time() + jump
        while (found := service.requests.request(request.id)) and found.shown is None:
            time.sleep(0.005)
        assert found is not None and found.shown is not None
        assert found.shown == found.accepted + found.due
        assert abs(found.accepted - time.time()) < 60
    assert service.store.verify_audit_log() == ""
    service.stop()


def test_a_release_that_was_begun_long_ago_appears_soon_after_the_start(tmp_path: Path) -> None:
    """How long the server was away, or what its clock says now, is no delay of the release."""
    write_data(tmp_path)
    service = service_of(tmp_path)
    service.start()
    opened = service.catalogue.get("people")
    assert opened is not None
    service.jobs._finish = lambda _: None  # type: ignore[method-assign]  # as if it were killed
    keys = [service.jobs.order(opened, ORDER, "ann", f"key {n}").id for n in range(2)]
    month = 30 * 86_400.0
    for identity, moved in zip(keys, (-month, month), strict=True):
        service.store.change(
            lambda view, i=identity, m=moved: view.do(
                "UPDATE {requests} SET accepted = accepted + ? WHERE id = ?", m, i
            )
        )
    service.stop()
    again = service_of(tmp_path)
    again.start()
    for identity in keys:
        while (found := again.requests.request(identity)) and found.shown is None:
            time.sleep(0.005)
        assert found is not None and found.state == DONE and found.shown is not None
        assert found.shown - again.requests.now() < 60
    assert again.ledger.dataset("people").charges == 2
    again.stop()
