"""No private text in any answer, log or metric. Every server of the tests here is listened to."""

import json
import logging
from pathlib import Path

import httpx
import msgspec
import pytest

from serve.canaries import CANARY, Listener
from serve.served import Served, config_of, declarations, serving, write_data
from serve.test_authorization import MATRIX, WHO
from winnow.serve.api import ENDPOINTS
from winnow.serve.metrics import Metrics
from winnow.serve.problems import log_failure
from winnow.serve.screens import PAGES
from winnow.serve.ticker import Ticker


def test_every_endpoint_and_page_is_heard_as_everybody(served: Served) -> None:
    """Whether it is answered, refused or not there; the server of the tests hears all of it."""
    named = {"of_ann": "0" * 32, "spare": "0" * 12}
    for endpoint in ENDPOINTS:
        path, body, _ = MATRIX[endpoint.name]
        if endpoint.method in ("PUT", "DELETE"):
            continue  # what they change is for the test of authorization, which is heard as well
        for who in WHO:
            said = served.call(
                who, endpoint.method, path.format(**named), f"heard {endpoint.name}", json=body
            )
            assert said.status_code < 500
    for page in PAGES:
        places = {"dataset": "people", "release": "0" * 32, "file": "table.csv"}
        assert served.client.get(page.path.format(**places)).status_code in (303, 404, 405)


BROKEN = [
    ("people", f"colour,age,name\nred,3,x\n{CANARY},4,y\n"),
    ("people", f"colour,age,name\nred,3,x\nblue,{CANARY},y\n"),
    ("people", f"colour,age,{CANARY}\nred,3\n"),
    ("people", f"{CANARY}\n"),
    ("people", f'colour,age,name\n"{CANARY},3,x\n'),
    ("log", f"person,thing\np1,{CANARY}\n"),
    ("log", f"person,item\np1,{CANARY}\np2\n"),
    ("baskets", f"{CANARY}\xff,b0\n"),
]


def test_files_that_cannot_be_read_are_named_without_their_values(tmp_path: Path) -> None:
    """The server starts, serves the others, and says in its log what is wrong with these."""
    write_data(tmp_path)
    datasets = {"good": declarations()["hidden"]}
    for number, (like, content) in enumerate(BROKEN):
        (tmp_path / f"{number}.csv").write_bytes(content.encode("latin-1"))
        datasets[f"bad{number}"] = msgspec.structs.replace(
            declarations()[like], path=f"{number}.csv", questions=None
        )
    with serving(config_of(tmp_path, datasets=datasets)) as served:
        listed = served.call("olga", "GET", "/v1/datasets").json()["datasets"]
        ready = {each["name"] for each in listed if each["ready"]}
        assert "good" in ready and len(ready) < len(datasets)
        assert served.call("olga", "GET", "/readyz").status_code == 503
        for name in datasets:
            order = {"kind": "select", "column": "colour", "epsilon": 0.1}
            at = f"/v1/datasets/{name}/plans"
            said = served.call("olga", "POST", at, json={"order": order})
            assert said.status_code == (
                200 if name == "good" else 404 if name not in ready else 422
            )


def test_a_failure_is_logged_without_the_text_of_other_libraries(
    caplog: pytest.LogCaptureFixture,
) -> None:
    try:
        int(CANARY)
    except ValueError as error:
        log_failure("something failed", error)
    assert "ValueError" in caplog.text and CANARY not in caplog.text


def test_the_listener_hears_what_must_not_be_said() -> None:
    listener = Listener()
    log = logging.Logger("a twin")  # of its own: the server of the tests does not hear it
    log.addHandler(listener)
    log.warning("the value %s is wrong", CANARY)
    asked = httpx.Request("GET", "http://x/")
    for answer in (
        httpx.Response(200, content=json.dumps({"a": CANARY}), request=asked),
        httpx.Response(200, headers={"x-name": CANARY}, request=asked),
    ):
        listener.answered(answer)
    metrics = Metrics(Ticker(0.1))
    metrics.answered(CANARY)  # type: ignore[arg-type]
    listener.measured(metrics.registry)
    assert [each.split(":")[0] for each in listener.heard] == ["log", "answer", "answer", "metrics"]
    echoed = httpx.Request("GET", f"http://x/{CANARY}")
    listener.answered(httpx.Response(404, content=CANARY, request=echoed))
    assert len(listener.heard) == 4
