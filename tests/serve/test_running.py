"""A server over its life: one at a time, clocks that are set, bad ends, and open addresses."""

import json
import re
import shutil
import socket
from pathlib import Path
from typing import Any

import httpx
import msgspec
import pytest

from reference.commands import invoke
from serve.loading import write_config
from serve.served import Served, config_of, declarations, serving, write_data
from winnow.errors import DataError, LedgerError
from winnow.serve.config import Config
from winnow.serve.limits import Buckets
from winnow.serve.service import Service

AT = "/v1/datasets/people/questions"
BODY = {"questions": [{"colour": "red"}]}


def one_dataset(folder: Path, **settings: Any) -> Config:
    people = declarations()["people"]
    return config_of(folder, datasets={"people": people}, **settings)


@pytest.mark.parametrize("years", [10, -10])
def test_a_clock_that_is_set_forgets_no_answer(
    tmp_path: Path, years: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_data(tmp_path)
    config = one_dataset(tmp_path)
    with serving(config) as served:
        first = served.call("ann", "POST", AT, "k", json=BODY).json()
        real = served.service.store.clock
        served.service.store.clock = lambda: real() + years * 365 * 86_400
        served.service.forget_answers()
        assert served.call("ann", "POST", AT, "k", json=BODY).json() == first
        ran = served.service.requests.served()
    moved = real() + years * 365 * 86_400
    monkeypatch.setattr("winnow.serve.store.ServerStore.__init__.__defaults__", (lambda: moved,))
    with serving(config) as served:  # set between two runs
        served.service.forget_answers()
        assert served.service.requests.served() >= ran, "the time that it ran goes on"
        assert served.call("ann", "POST", AT, "k", json=BODY).json() == first


def test_two_folders_on_one_store_are_not_served_at_once(tmp_path: Path) -> None:
    write_data(tmp_path / "one")
    store = str(tmp_path / "shared.db")
    one = Service(one_dataset(tmp_path / "one", store=store))
    one.start()
    try:
        shutil.copytree(tmp_path / "one", tmp_path / "two")
        two = Service(one_dataset(tmp_path / "two", store=store))
        with pytest.raises(DataError, match="another server uses this store"):
            two.start()
        with pytest.raises(DataError, match="another server uses this store"):
            two.start()  # the refusal keeps no lock of its own
    finally:
        one.stop()
    two.start()
    two.stop()


def test_a_store_that_another_server_took_is_written_no_more(tmp_path: Path) -> None:
    write_data(tmp_path)
    service = Service(one_dataset(tmp_path))
    service.start()
    try:
        (tmp_path / "winnow-serve.db.serving").unlink()  # as when a connection is lost
        taken = service.store._database.hold()
        assert taken is not None
        service.store.held_still()
        with pytest.raises(LedgerError, match="another server uses this store"):
            service.store.note("server", "something")
        taken.release()
        service.store.held_still()
        service.store.note("server", "something")
    finally:
        service.stop()


def test_a_server_that_cannot_end_well_ends_and_lets_others_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    write_data(tmp_path)
    config = one_dataset(tmp_path)
    service = Service(config)
    service.start()
    session = service.actors["people"]._session

    def lost(*_: Any, **__: Any) -> None:
        raise LedgerError("the lock on the dataset was lost")

    with monkeypatch.context() as broken:
        broken.setattr(session, "close", lost)
        broken.setattr(service.store, "note", lost)
        service.stop()
    assert "could not end as it should" in caplog.text and "could not be closed" in caplog.text
    assert session is not None
    session.close()
    again = Service(config)
    again.start()
    again.stop()


def test_no_secret_is_in_the_repr_of_a_configuration() -> None:
    from rich.pretty import pretty_repr

    address = "postgresql://ann:hunter2@db.example/winnow?password=hunter3"
    config = Config(folder="here", store=address, ledger=address)
    assert "store='a database'" in repr(config) and "folder='here'" in repr(config)
    for text in (repr(config), str(config), pretty_repr(config)):
        assert "hunter" not in text
    assert msgspec.json.decode(msgspec.json.encode(config), type=Config) == config


def test_what_is_no_http_is_answered_padded_and_at_its_time(served: Served) -> None:
    host, port = served.service.config.address
    before = served.server.ticker.answers
    for nonsense in (b"GET\r\n\r\n", b"\x16\x03\x01 TLS?\r\n\r\n", b"GET / HTTP/9.9\r\nx\r\n\r\n"):
        with socket.create_connection((host, port), timeout=10) as wire:
            wire.sendall(nonsense)
            wire.sendall(nonsense)  # one answer, whatever comes after it
            answer = b""
            while piece := wire.recv(65536):
                answer += piece
        head, _, body = answer.partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 400") and head.count(b"HTTP/1.1") == 1
        assert len(body) % 512 == 0 and json.loads(body)["status"] == 400
        assert b"application/problem+json" in head and b"no-store" in head
    assert served.server.ticker.answers == before + 3, "by the ticker, like all others"


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/readyz"), ("GET", "/login"), ("GET", "/v1/openapi.json"), ("GET", "/nowhere"),
        ("GET", "/v1/nowhere"), ("GET", "/"), ("POST", "/logout"),
    ],
)  # fmt: skip
def test_addresses_without_a_token_have_a_rate(
    served: Served, monkeypatch: pytest.MonkeyPatch, method: str, path: str
) -> None:
    monkeypatch.setattr(served.server, "_buckets", Buckets(0.01, 2))
    statuses = [served.call(None, method, path).status_code for _ in range(3)]
    assert 429 not in statuses[:2] and statuses[2] == 429, statuses
    assert served.call(None, "GET", "/healthz").status_code == 200, "the process is watched by it"
    assert served.call("ann", "GET", "/v1/me").status_code == 200, "others have their own"


def test_logins_with_a_valid_token_have_the_rate_of_its_principal(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(served.server, "_buckets", Buckets(0.01, 2))
    origin = {"origin": served.service.config.origin}
    with httpx.Client(base_url=str(served.client.base_url), trust_env=False) as browser:
        given = {"data": {"token": served.tokens["ann"]}, "headers": origin}
        statuses = [browser.post("/login", **given).status_code for _ in range(3)]
    assert statuses == [303, 303, 429]


# winnow serve check


def checked(config: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(
        invoke(["serve", "check", "--config", str(config), "--json"]).stdout
    )
    return found


@pytest.mark.extras
def test_a_store_or_ledger_that_cannot_be_used_is_a_problem(tmp_path: Path) -> None:
    write_config(tmp_path)
    config = tmp_path / "winnow.toml"
    fine = checked(config)
    assert fine["ok"] and not fine["problems"] and not fine["warnings"]
    assert not (tmp_path / "winnow-serve.db").exists(), "nothing is made"
    invoke(["serve", "token", "new", "ann", "--config", str(config)])
    assert checked(config)["ok"]
    key = (tmp_path / "winnow-serve.key").read_bytes()
    (tmp_path / "winnow-serve.key").unlink()
    assert "its key" in checked(config)["problems"][0]
    (tmp_path / "winnow-serve.key").write_bytes(key[::-1])
    (tmp_path / "winnow-serve.key").chmod(0o600)
    assert "not that of its store" in checked(config)["problems"][0]
    (tmp_path / "winnow-serve.key").write_bytes(key)
    (tmp_path / "winnow-serve.db").write_bytes(b"no database" * 100)
    assert "cannot be used" in checked(config)["problems"][0]
    (tmp_path / "winnow-serve.db").unlink()
    (tmp_path / "winnow.ledger").write_bytes(b"no ledger" * 100)
    assert len(checked(config)["problems"]) == 1


@pytest.mark.slow
@pytest.mark.parametrize("setting", ["store", "ledger", "key", "ledger_key"])
def test_a_file_that_no_folder_could_hold_is_a_problem(setting: str, tmp_path: Path) -> None:
    """The server would not start, and nothing is made to find that out."""
    write_config(tmp_path)
    config = tmp_path / "winnow.toml"
    written = config.read_text()
    config.write_text(f'{setting} = "nowhere/file"\n{written}')
    (problem,) = checked(config)["problems"]
    assert problem.startswith(f"{setting} = 'nowhere/file'") and "there is no folder" in problem
    assert not (tmp_path / "nowhere").exists()
    (tmp_path / "nowhere").mkdir()
    assert checked(config)["ok"]


@pytest.mark.slow
@pytest.mark.parametrize(("setting", "whose"), [("key", "server"), ("ledger_key", "ledger")])
def test_a_file_that_is_no_key_is_a_problem_and_stays(
    setting: str, whose: str, tmp_path: Path
) -> None:
    write_config(tmp_path)
    config = tmp_path / "winnow.toml"
    config.write_text(f'{setting} = "diary.txt"\n{config.read_text()}')
    (tmp_path / "diary.txt").write_text("my diary\n")
    (tmp_path / "diary.txt").chmod(0o644)
    (problem,) = checked(config)["problems"]
    assert problem.startswith(f"the key of the {whose} in") and "chmod 600" in problem
    (tmp_path / "diary.txt").chmod(0o600)
    (problem,) = checked(config)["problems"]
    assert problem.startswith(f"the key of the {whose} cannot be read from") and "key" in problem
    assert invoke(["serve", "--config", str(config)]).exit_code == 3
    assert (tmp_path / "diary.txt").read_text() == "my diary\n"


def test_a_key_whose_ledger_is_gone_is_a_problem(tmp_path: Path) -> None:
    write_config(tmp_path)
    config = tmp_path / "winnow.toml"
    config.write_text(f'ledger = "spent.db"\n{config.read_text()}')
    assert checked(config)["ok"]
    (tmp_path / "spent.db.key").write_bytes(bytes(32))
    (problem,) = checked(config)["problems"]
    assert "the ledger is gone" in problem


def test_a_database_that_cannot_be_reached_is_a_problem(tmp_path: Path) -> None:
    pytest.importorskip("psycopg")
    write_config(tmp_path)
    config = tmp_path / "winnow.toml"
    nobody = "postgresql://127.0.0.1:9/none"
    config.write_text(f'store = "{nobody}"\nledger = "{nobody}"\n{config.read_text()}')
    found = invoke(["serve", "check", "--config", str(config)])
    assert found.exit_code == 1 and found.stderr.count("error: ") == 2
    assert "fine" not in found.stdout and "Traceback" not in found.stderr


def test_the_session_of_a_dataset_takes_the_methods_of_the_library(tmp_path: Path) -> None:
    """What is checked is the plan that the session runs; nothing is opened for it."""
    write_config(tmp_path, max_queries=1000)
    config = tmp_path / "winnow.toml"
    written = config.read_text()

    def said(method: str) -> dict[str, Any]:
        config.write_text(written.replace('method = "auto"', f"method = {method}"))
        return checked(config)

    for method in ('"independent"', '"multiplicative-weights"'):
        assert said(method)["ok"]
    within = [
        said('{ kind = "multiplicative-weights", threshold = SHARE }'.replace("SHARE", share))
        for share in ("0.1", "0.2")
    ]
    notes = [each["notes"][0] for each in within]
    assert notes[0] != notes[1] and all("of 20,000 rows" in note for note in notes)
    for wrong in ('"recommended"', '{ kind = "independent", threshold = 0.1 }'):
        config.write_text(written.replace('method = "auto"', f"method = {wrong}"))
        assert invoke(["serve", "check", "--config", str(config)]).exit_code == 2
    assert not list(tmp_path.glob("sessions/*"))


@pytest.mark.extras
def test_a_session_whose_answers_say_nothing_is_warned_of(tmp_path: Path) -> None:
    """Half of the rows, said without looking, is never off by more than half of them."""
    write_config(tmp_path, max_queries=1000)
    config = tmp_path / "winnow.toml"
    written = config.read_text()
    fine = checked(config)
    assert fine["warnings"] == [] and "20,000 rows" in fine["notes"][0]
    config.write_text(written.replace("epsilon = 10.0", "epsilon = 0.004"))
    would = re.search(r"or epsilon = ([\d.]+) would do", checked(config)["problems"][0])
    assert would is not None  # it opens, and that is all
    config.write_text(written.replace("epsilon = 10.0", f"epsilon = {would[1]}"))
    found = checked(config)
    assert found["ok"] and "may be off by" in found["warnings"][0]
    shown = invoke(["serve", "check", "--config", str(config)])
    assert shown.exit_code == 0 and "warning: " in shown.stderr and "fine" not in shown.stdout
