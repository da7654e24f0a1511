"""Plans in processes of their own: bounded in memory and time, and ended when nobody waits."""

import json
import os
import pickle
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from serve.canaries import CANARY
from serve.loading import process_of, write_config
from serve.served import Served, config_of, declarations, serving, write_data
from winnow.serve import bodies
from winnow.serve.config import read_config
from winnow.serve.datasets import OpenDataset
from winnow.serve.plan_tasks import Made, Step
from winnow.serve.planning import PlanRequest, PlanWorkers, Wait
from winnow.serve.problems import Refusal
from winnow.serve.service import Service

QUICK = bodies.TabulateOrder(by=[bodies.WorkloadPiece(marginals=1)], epsilon=0.1, delta=1e-7)
LONG = bodies.TabulateOrder(by=[bodies.WorkloadPiece(ranges="age")], epsilon=0.1, delta=1e-7)
"""Over 5,000 codes: 12.5 million ranges, some ten seconds and gigabytes."""


def until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.01)


@pytest.fixture(scope="module")
def long_table(tmp_path_factory: pytest.TempPathFactory) -> OpenDataset:
    folder = tmp_path_factory.mktemp("long")
    write_data(folder)
    schema = {"colour": {"values": ["red", "green", "blue"]}, "age": {"codes": 5000}}
    people = msgspec.structs.replace(declarations()["people"], schema=schema, questions=None)
    service = Service(config_of(folder, datasets={"people": people}))
    service.start()
    opened = service.catalogue.get("people")
    service.stop()
    assert opened is not None
    return opened


@pytest.fixture
def workers(request: pytest.FixtureRequest) -> Iterator[PlanWorkers]:
    made = PlanWorkers(**{"number": 2, "seconds": 60.0, "megabytes": 2000} | request.param)
    yield made
    made.close()


def asked(
    workers: PlanWorkers, opened: OpenDataset, order: bodies.AnyOrder, wait: Wait | None = None,
    who: str = "ann",
) -> list[Made]:  # fmt: skip
    step = Step(order, priced=False)
    return workers.ask(PlanRequest(who, opened, "combined", (step,)), wait or Wait())


class Asking(threading.Thread):
    """Somebody who waits for a plan."""

    def __init__(self, *given: Any, **more: Any) -> None:
        super().__init__(daemon=True)
        self._given, self._more = given, more
        self.refused: Refusal | None = None
        self.start()

    def run(self) -> None:
        try:
            asked(*self._given, **self._more)
        except Refusal as error:
            self.refused = error


@pytest.mark.parametrize("workers", [{"number": 1, "megabytes": 200}], indirect=True)
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the limit is that of Linux")
def test_a_plan_that_needs_too_much_memory_is_refused_and_the_next_is_made(
    workers: PlanWorkers, long_table: OpenDataset
) -> None:
    with pytest.raises(Refusal, match=r"limits\.plan_mb") as caught:
        asked(workers, long_table, LONG)
    assert caught.value.problem.status == 422
    assert asked(workers, long_table, QUICK)[0].expected.error is not None


@pytest.mark.extras
@pytest.mark.parametrize("workers", [{"number": 1, "seconds": 60.0}], indirect=True)
def test_a_plan_that_takes_too_long_is_refused_and_the_next_is_made(
    workers: PlanWorkers, long_table: OpenDataset
) -> None:
    assert asked(workers, long_table, QUICK)
    workers._seconds = 0.2
    with pytest.raises(Refusal, match=r"limits\.plan_seconds") as caught:
        asked(workers, long_table, LONG)
    assert caught.value.problem.status == 422
    workers._seconds = 60.0
    assert asked(workers, long_table, QUICK)


@pytest.mark.extras
@pytest.mark.parametrize("workers", [{"number": 1}], indirect=True)
def test_a_process_that_somebody_ended_is_replaced(
    workers: PlanWorkers, long_table: OpenDataset
) -> None:
    assert asked(workers, long_table, QUICK)
    process = workers._idle[0]._process
    assert process is not None
    process.kill()
    process.wait()
    assert asked(workers, long_table, QUICK)


@pytest.mark.extras
@pytest.mark.parametrize("workers", [{"number": 2}], indirect=True)
def test_one_principal_never_has_all_processes_and_whoever_leaves_frees_them(
    workers: PlanWorkers, long_table: OpenDataset
) -> None:
    waits = [Wait() for _ in range(3)]
    mine = [Asking(workers, long_table, LONG, wait) for wait in waits]
    until(lambda: len(workers._doing) == 1)
    assert asked(workers, long_table, QUICK, who="bob"), "the other process is free for others"
    assert len(workers._doing) == 1
    for wait in reversed(waits):
        wait.leave()
    for each in mine:
        each.join(60)
        assert each.refused is not None and "nobody waits" in str(each.refused)
    assert not workers._doing
    assert asked(workers, long_table, QUICK)


@pytest.mark.parametrize("workers", [{"number": 1}], indirect=True)
def test_the_end_of_a_server_ends_its_plans(workers: PlanWorkers, long_table: OpenDataset) -> None:
    mine = [Asking(workers, long_table, LONG) for _ in range(2)]
    until(lambda: len(workers._doing) == 1)
    workers.close()
    for each in mine:
        each.join(60)
        assert each.refused is not None and "ending" in str(each.refused)
    with pytest.raises(Refusal, match="ending"):
        asked(workers, long_table, QUICK)


def test_the_process_that_plans_is_told_public_facts_only(served: Served) -> None:
    for name in ("people", "log", "baskets"):
        opened = served.service.catalogue.get(name)
        assert opened is not None
        assert CANARY.encode() not in opened.outline and b"item3" not in opened.outline
        again = OpenDataset.of_outline(opened.outline)
        assert again.schema() == opened.schema() and again.labels() == opened.labels()
        assert (again.rows, again.unit) == (opened.rows, opened.unit)
        with pytest.raises(TypeError, match="private"):
            pickle.dumps(opened.data)


@pytest.mark.extras
def test_a_client_that_leaves_ends_its_plan(tmp_path: Path, long_table: OpenDataset) -> None:
    """With the token of somebody who may only read."""
    write_data(tmp_path)
    people = long_table.declared
    with serving(config_of(tmp_path, datasets={"people": people})) as served:
        served.service.plans._result_bytes = 10**12
        workers = served.service.workers
        content = json.dumps({"order": msgspec.to_builtins(LONG)}).encode()
        head = (
            "POST /v1/datasets/people/plans HTTP/1.1\r\nhost: x\r\n"
            f"authorization: Bearer {served.tokens['reader']}\r\n"
            f"content-length: {len(content)}\r\n\r\n"
        )
        with socket.create_connection(served.service.config.address) as connection:
            connection.sendall(head.encode() + content)
            until(lambda: bool(workers._doing))
        until(lambda: not workers._doing)
        quick = {"order": msgspec.to_builtins(QUICK)}
        at = "/v1/datasets/people/plans"
        assert served.call("reader", "POST", at, json=quick).status_code == 200


def children(process: int) -> list[int]:
    tasks = Path(f"/proc/{process}/task").iterdir()
    return [int(each) for task in tasks for each in (task / "children").read_text().split()]


@pytest.mark.extras
@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="it looks for processes in /proc")
def test_a_server_ends_when_it_is_told_to_while_a_plan_computes(tmp_path: Path) -> None:
    """The process that plans is stopped, so that its plan would take for ever."""
    port, _ = write_config(tmp_path)
    config = read_config(tmp_path / "winnow.toml")
    accounts = Service(config).accounts
    accounts.add_dataset("people", config.datasets["people"], by="test")
    _, token = accounts.new_token("ann", "analyst", datasets=("people",), by="test")
    with process_of(tmp_path, port) as process:
        until(lambda: len(children(process.pid)) == 2)
        planning = children(process.pid)
        for each in planning:
            os.kill(each, signal.SIGSTOP)
        order = {"kind": "tabulate", "by": [{"marginals": 1}], "epsilon": 0.1, "delta": 1e-7}
        content = json.dumps({"order": order}).encode()
        with socket.create_connection(("127.0.0.1", port)) as connection:
            connection.settimeout(60)
            connection.sendall(
                b"POST /v1/datasets/people/plans HTTP/1.1\r\nhost: x\r\n"
                b"authorization: Bearer %s\r\ncontent-length: %d\r\n\r\n%s"
                % (token.encode(), len(content), content)
            )
            time.sleep(0.3)
            process.send_signal(signal.SIGTERM)
            assert connection.recv(4096).startswith(b"HTTP/1.1 503")
        assert process.wait(60) in (0, -signal.SIGTERM)
        for each in planning:
            until(lambda each=each: not Path(f"/proc/{each}").exists())


def test_a_release_that_goes_on_does_not_keep_a_server_from_its_end(tmp_path: Path) -> None:
    """It is cut off, as by a crash, and done at the next start for the same charge."""
    write_data(tmp_path)
    people = msgspec.structs.replace(declarations()["people"], questions=None)
    config = config_of(tmp_path, datasets={"people": people})
    go_on, there = threading.Event(), threading.Event()

    def step(name: str) -> None:
        if name == "before the result is written":
            there.set()
            go_on.wait(60)
            raise SystemExit

    service = Service(config, step=step)
    service.start()
    opened = service.catalogue.get("people")
    assert opened is not None
    request = service.jobs.order(opened, QUICK, "ann", "one")
    assert there.wait(60)
    assert service.stop(0.01) is False
    go_on.set()
    again = Service(config)
    again.start()
    until(lambda: again.requests.request(request.id).shown is not None)  # type: ignore[union-attr]
    assert again.ledger.dataset("people").charges == 1
    assert again.stop(60.0) is True
