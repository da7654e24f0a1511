"""Two servers on neighbours: whatever is no release is the same, byte by byte."""

import re
import threading
import time
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from reference.inside import WrittenKey
from serve.served import Served, config_of, serving, shared_workers, write_data
from winnow.serve import bodies
from winnow.serve.principals import Principal
from winnow.serve.service import Service

ANN = Principal("ann", "analyst", frozenset(), "")
PLANS = [
    {"kind": "select", "column": "colour", "epsilon": 0.5},
    {"kind": "select", "column": "nobody", "epsilon": 0.5},
    {"kind": "top-k", "column": "age", "k": 3, "epsilon": 0.5, "with_counts": True},
    {"kind": "tabulate", "by": [{"marginals": 2}], "epsilon": 0.5, "delta": 1e-7},
    {"kind": "regress", "target": "age", "epsilon": 0.5},
    {"kind": "moments", "values": ["age"], "by": ["colour"], "epsilon": 0.5},
    {"kind": "quantiles", "column": "age", "quantiles": [0.5], "by": ["colour"], "epsilon": 0.5},
    {"kind": "histogram", "column": "age", "bins": 3, "split": "quantiles", "epsilon": 0.5},
    {"kind": "describe", "epsilon": 0.5},
    {"kind": "release", "workload": [{"ranges": "age"}], "epsilon": 0.5, "method": "tables"},
    {"kind": "itemsets", "size": 2, "epsilon": 0.5, "delta": 1e-7},
    {"kind": "top-k", "k": 3, "epsilon": 0.5, "delta": 1e-7},
    {"kind": "tabulate", "by": [{"table": ["colour"]}], "epsilon": 500.0},
]


def told(served: Served) -> list[str]:
    """Everything that a server says but for releases, without times and random names."""
    said = []
    for name in ("people", "log", "baskets"):
        at = f"/v1/datasets/{name}"
        said += [served.call("ann", "GET", f"{at}/{what}").text for what in ("schema", "budget")]
        for order in PLANS:
            said.append(served.call("ann", "POST", f"{at}/plans", json={"order": order}).text)
    said.append(served.call("ann", "GET", "/v1/datasets").text)
    said.append(served.call("olga", "GET", "/v1/datasets/people/spending").text)
    job = served.released("ann", "people", "one", kind="select", column="colour", epsilon=0.5)
    said += [job["state"], job.get("problem", ""), str(round(job["due"] - job["accepted"], 3))]
    said.append(served.call("ann", "GET", "/v1/datasets/people/budget").text)
    return [re.sub(r"20\d\d-[^\"]+|#?\d+:[0-9a-f]{64}", "", each) for each in said]


def test_neighbours_differ_in_releases_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(WrittenKey, "fresh", classmethod(lambda cls: cls(b"k" * 64)))
    heard = []
    for number, (row, event, basket) in enumerate(
        [("red,3,x", "p3,item1", "b0,b1"), ("blue,9,y", "p3,rare", "b4,unheard")]
    ):
        folder = tmp_path / str(number)
        write_data(folder)
        for file, line in (("people.csv", row), ("log.csv", event), ("baskets.csv", basket)):
            with (folder / file).open("a") as content:
                content.write(line + "\n")
        with serving(config_of(folder)) as served:
            heard.append(told(served))
    assert heard[0] == heard[1]


@pytest.mark.slow
@pytest.mark.parametrize("away", [0.0, 1e5, -1e5])
def test_whether_a_release_was_complete_when_a_server_ended_is_not_to_be_seen(
    tmp_path: Path, away: float
) -> None:
    heard = [
        after_the_next_start(tmp_path / step, step, away)
        for step in ("before the result is written", "after the result is written")
    ]
    assert heard[0] == heard[1]
    assert [told[0]["state"] for told in heard[0]] == ["running", "running", "done"]


def after_the_next_start(folder: Path, last: str, away: float) -> list[list[dict[str, object]]]:
    """What a server says of releases after one that ended at that step: all but their names."""
    write_data(folder)
    config = config_of(folder)
    order = bodies.SelectOrder(epsilon=0.5, column="colour")
    ended = threading.Event()

    def stopped(step: str) -> None:
        if step == last:
            ended.set()
            raise SystemExit

    first = Service(config, step=stopped, workers=shared_workers())
    first.start()
    opened = first.catalogue.get("people")
    assert opened is not None
    request = first.jobs.order(opened, order, "ann", "one")
    assert ended.wait(60)
    first.stop()
    second = Service(config, workers=shared_workers())
    began = second.requests.now() + away
    second.requests.now = lambda: began  # type: ignore[method-assign]
    second.start()
    said = []
    try:
        for later in (0.0, 0.99 * request.due, 1.01 * request.due):
            second.requests.now = lambda later=later: began + later  # type: ignore[method-assign]
            said.append(
                [
                    msgspec.to_builtins(job) | {"id": "", "release": "", "accepted": at, "due": due}
                    for job in second.job_list(ANN).jobs
                    for at, due in [(job.accepted - began, round(job.due - job.accepted, 3))]
                ]
            )
            if later == 0.0:
                _until(lambda: second.requests.request(request.id).shown is not None)
    finally:
        second.stop()
    return said


def _until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_what_has_appeared_stays_when_a_server_starts_again(tmp_path: Path) -> None:
    write_data(tmp_path)
    config = config_of(tmp_path)
    with serving(config) as served:
        job = served.released("ann", "people", "one", kind="select", column="colour", epsilon=0.5)
        requests = served.service.requests
        request = requests.request(job["id"])
        assert request is not None and request.shown is not None
        requests.now = lambda: request.shown + 1.0
        requests.seen()
    again = Service(config, workers=shared_workers())
    again.requests.now = lambda: request.accepted - 1e5  # somebody set the clock back
    again.start()
    try:
        assert again.job(ANN, job["id"]).state == "done"
    finally:
        again.stop()
