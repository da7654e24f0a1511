"""``wn.connect``: the verbs of the library over HTTP, with its results and its errors."""

from __future__ import annotations

import inspect
import json
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import msgspec
import pytest

import winnow as wn
from serve.served import Served
from winnow.serve import bodies, line
from winnow.serve.bodies import Workload
from winnow.serve.client import Client, Verbs, pieces_of
from winnow.serve.gate import MOST_BYTES
from winnow.serve.workloads import workload_of

ELSEWHERE = {
    "above": "a threshold on values that one holds",
    "open_above": "the same as a stream",
    "open_selection": "scores that many processes hold",
    "ask": "a session is the owner's; the client's ask asks the one of a dataset",
    "learn": "left out on purpose",
    "lp": "left out on purpose",
    "mips": "vectors that one holds",
    "boost": "the same",
    "bounds": "the owner's: a server clips at the declared range, or asks for moments with bounds",
    "calibrate": "spends nothing",
}
"""Verbs of the library that a server does not have, and why."""

DECLARED = {
    "budget", "seed", "relation", "sensitivity", "monotone", "labels", "label_column",
    "score_column", "max_items", "unit", "items", "memory", "pad_to",
    "progress", "accountant", "run",
}  # fmt: skip
"""What the owner declares, or the server decides."""

FINER = {
    "select": {"delta", "noise", "thresholds", "growth", "with_leads"},
    "top_k": {"ordered", "noise", "gamma", "rounded", "reach"},
}  # fmt: skip
"""Settings of single mechanisms, which a server chooses by itself."""


def test_the_client_has_the_verbs_of_the_library_or_says_why_not() -> None:
    """And their options: a new one has to be offered, or to be written down here."""
    spending = {
        name
        for name in dir(wn)
        if name[0].islower() and "epsilon" in _signature(getattr(wn, name)).parameters
    }
    offered = {name for name in vars(Verbs) if not name.startswith("_")}
    assert spending - offered <= set(ELSEWHERE) and not offered - spending
    for name in offered:
        theirs, ours = (
            set(_signature(getattr(of, name)).parameters) - {"self"} for of in (wn, Client)
        )
        data = next(iter(_signature(getattr(wn, name)).parameters))
        missing = theirs - ours - DECLARED - FINER.get(name, set()) - {data}
        assert not missing, f"{name} of the client lacks {missing}"
        assert ours - theirs <= {"dataset", "error", "column", "rows"}, name


def _signature(function: Any) -> inspect.Signature:
    return inspect.signature(function) if inspect.isfunction(function) else inspect.Signature()


@pytest.fixture
def ann(served: Served, monkeypatch: pytest.MonkeyPatch) -> Client:
    monkeypatch.setattr(served.service.jobs, "_reserve", lambda *given: given[2] + 0.05)
    return wn.connect(served.service.config.origin, token=served.tokens["ann"])


def test_results_look_like_those_of_the_library(ann: Client) -> None:
    picked = ann.select("people", column="colour", epsilon=0.1)
    assert picked.value in ("red", "green", "blue")
    assert str(picked.guarantee) == "0.1-DP, protects each row (replace one)"
    assert picked.receipt.mechanism == "permute-and-flip" and "winnow.ledger#" in str(picked)
    top = ann.top_k("people", k=2, column="colour", epsilon=0.1, with_counts=True)
    assert list(top.to_columns()) == ["item", "count"] and len(top.value) == 2
    assert top.value.margin > 0, "how far off each count may be"
    tables = ann.tabulate("people", wn.marginals(1), epsilon=0.5)
    assert {each.columns for each in tables.value} == {("colour",), ("age",)}
    colours = tables.value.table("colour")
    assert colours.estimate.shape == (3,) and colours.standard_error.min() > 0
    assert list(tables.to_pandas()) == [
        "table", "colour", "age", "estimate", "standard_error", "low", "high",
    ]  # fmt: skip
    items = ann.itemsets("baskets", size=1, k=1, epsilon=1.0, delta=1e-6)
    assert all(isinstance(each, tuple) for each in items.value)
    given = {"size": 2, "k": 1, "epsilon": 1.0, "delta": 1e-6}
    pairs = ann.itemsets("baskets", supports="winners", **given).value
    assert all(isinstance(each, tuple) and isinstance(n, int) for each, n in pairs)
    best = ann.itemsets("baskets", size=1, epsilon=0.05, delta=1e-7).value
    assert best is None or isinstance(best, tuple), "without k one itemset, as in the library"
    few = {**given, "epsilon": 0.05, "delta": 1e-7, "method": wn.LimitedDomain(reach=9)}
    chosen = ann.itemsets("baskets", **few)
    assert "of the 9 largest" in chosen.receipt.mechanism
    planned = ann.plan.itemsets("baskets", **few)
    assert planned.details["mechanism"] == chosen.receipt.mechanism
    rules = ann.itemsets("baskets", supports="subsets", **given).value
    assert isinstance(rules, wn.ItemsetSupports) and isinstance(rules.baskets, int)
    assert all(rule.confidence >= 0.1 for rule in rules.rules(0.1))
    ages = ann.quantiles(
        "people", "age", [0.75, 0.25], by=["colour"], method=wn.Halving(level=0.9), epsilon=0.5
    )
    assert ages.value.groups == (("red",), ("green",), ("blue",))
    assert ages.value.values.shape == (3, 2) and ages.value.quantiles == (0.75, 0.25)
    assert (ages.value.low <= ages.value.values).all() and ages.value.level == 0.9
    means = ann.moments("people", "age", ["mean", "deviation"], by=["colour"], epsilon=0.5).value
    assert means.groups == ages.value.groups and means.of("age", "mean").value.shape == (3,)
    assert (means.of("age", "mean").low <= means.of("age", "mean").high).all()
    seen = ann.describe("people", epsilon=0.5).value
    assert {each.name for each in seen.columns} >= {"age", "colour"} and seen.column("colour").top
    counted = ann.histogram("people", "age", bins=2, epsilon=0.5)
    assert counted.value.labels == tuple(counted.value.to_columns()["bin"])
    assert len(counted.value.estimate) == 2
    line = ann.regress("people", "age", ["colour"], epsilon=0.5).value
    assert line.terms == ("intercept", "colour = green", "colour = blue")
    assert line.predict({"colour": ["red"]})[0] == line.coefficient[0]


def test_a_synthetic_table_has_the_labels_of_the_schema(ann: Client) -> None:
    release = ann.release("people", wn.marginals(2), epsilon=1.0, delta=1e-6)
    rows = release.to_columns()
    assert set(rows) == {"colour", "age"} and len(rows["age"]) == 300
    assert set(rows["colour"]) <= {"red", "green", "blue"}
    assert all(isinstance(age, int) and 0 <= age < 10 for age in rows["age"].tolist())
    assert len(set(map(len, release.value.answers().values()))) == 1


def test_a_plan_spends_nothing_and_a_release_what_it_said(ann: Client) -> None:
    before = ann.budget("people")
    plan = ann.plan.tabulate("people", wn.marginals(1), error=40.0)
    assert plan.fits and plan.error is not None and plan.error <= 40.0 and plan.cost is not None
    assert ann.budget("people") == before
    ann.tabulate("people", wn.marginals(1), epsilon=plan.epsilon)
    after = ann.budget("people")
    assert after.charges == before.charges + 1
    assert before.left - after.left <= plan.cost + 1e-9
    assert len(ann.receipts("people")) == len(ann.releases("people")) >= 1


def test_a_key_is_one_release_and_one_answer(ann: Client) -> None:
    before = ann.budget("people").charges
    keyed = ann.with_key("a key of mine")
    first, again = (keyed.select("people", column="colour", epsilon=0.01) for _ in range(2))
    assert first == again and ann.budget("people").charges == before + 1
    with pytest.raises(wn.ParameterError, match="another request"):
        keyed.select("people", column="colour", epsilon=0.02)


def test_questions_come_back_with_their_errors(ann: Client) -> None:
    one = ann.ask("people", wn.where(colour="red"))
    assert 0 <= one.value <= 1 and one.error is not None and one.receipt.randomness == "os"
    several = ann.ask("people", [wn.where(colour="red"), wn.where(age=(2, 5))])
    assert several[0].value == one.value and len(several) == 2


def test_errors_are_those_of_the_library(ann: Client, served: Served) -> None:
    with pytest.raises(wn.BudgetExceeded):
        ann.select("people", column="colour", epsilon=1000.0)
    with pytest.raises(wn.ParameterError, match="no such"):
        ann.budget("hidden")
    with pytest.raises(wn.ParameterError, match="size"):
        ann.select("people", column="size", epsilon=0.1)
    with pytest.raises(wn.ParameterError, match="a plan finds the epsilon"):
        ann.select("people", column="colour", error=3.0)
    stranger = wn.connect(served.service.config.origin, token="wnw_nobody")
    with pytest.raises(wn.ParameterError, match="token"):
        stranger.datasets()


@pytest.mark.parametrize(
    "url", ["http://data.example.org", "ftp://127.0.0.1", "127.0.0.1:80", "https://a:b@c.example"]
)
def test_a_token_leaves_by_tls_or_not_at_all(url: str) -> None:
    with pytest.raises(wn.ParameterError) as told:
        wn.connect(url, token="wnw_secret")
    assert "a:b" not in str(told.value)


def test_the_client_needs_none_of_the_packages_of_the_server() -> None:
    code = "import sys, winnow as wn; wn.connect; print(*sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(run.stdout.split())
    assert "winnow.serve.client" in loaded
    assert not {"msgspec", "starlette", "jinja2", "uvicorn", "httpx"} & loaded


def test_a_token_is_not_shown() -> None:
    client = wn.connect("https://data.example.org", token="wnw_secret")
    assert "wnw_secret" not in repr(client) + repr(client.plan)


def test_workloads_are_sent_as_the_server_reads_them() -> None:
    for workload in (
        ["a", "b"], [["a"], ["a", "b"]], wn.marginals([1, 2]),
        wn.marginals(2, ["a", "b"]), wn.prefixes("a"), wn.ranges("a"),
        wn.where(a=(1, 3), b=["x", "y"]) , wn.marginals(1) + wn.where({"c": None}),
    ):  # fmt: skip
        sent = json.dumps(pieces_of(workload))
        read = workload_of(msgspec.json.decode(sent, type=Workload))
        assert pieces_of(read) == pieces_of(workload)
    with pytest.raises(wn.ParameterError, match="cannot be sent"):
        pieces_of(wn.marginals(2, sample=3))


class _Failing(BaseHTTPRequestHandler):
    """Refuses as often as it is told, and then answers; keeps the headers that it got."""

    replies: list[tuple[int, dict[str, Any]]]
    keys: list[str | None]

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        self.keys.append(self.headers["idempotency-key"])
        status, body = self.replies.pop(0)
        content = json.dumps(body).encode()
        self.send_response(status)
        if status == 302:
            self.send_header("location", "http://127.0.0.1:1/")
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def failing() -> Iterator[tuple[type[_Failing], str]]:
    handler = type("Handler", (_Failing,), {"replies": [], "keys": []})
    with HTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield handler, f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def _problem(word: str) -> dict[str, str]:
    return {"type": f"urn:winnow:problem:{word}", "title": word}


def test_what_passes_by_itself_is_sent_again_under_the_same_key(failing: Any) -> None:
    handler, url = failing
    answer = {"dataset": "d", "answers": [], "guarantee": "", "receipt": {
        "mechanism": "m", "event": {"type": "PureDP", "epsilon": 1, "relation": "add-remove"},
        "citation": "", "randomness": "os", "exact": True}}  # fmt: skip
    handler.replies += [(503, _problem("busy")), (409, _problem("pending")), (200, answer)]
    assert wn.connect(url, token="t").ask("d", [wn.where(a=1)]) == []
    assert len(handler.keys) == 3 and len(set(handler.keys)) == 1 and handler.keys[0]


@pytest.mark.parametrize("status", [302, 500])
def test_a_failure_is_told_and_a_redirect_is_not_followed(failing: Any, status: int) -> None:
    handler, url = failing
    handler.replies.append((status, _problem("internal") | {"id": "abc"} if status == 500 else {}))
    with pytest.raises(wn.DataError, match="abc" if status == 500 else "not as a server"):
        wn.connect(url, token="t").select("d", epsilon=1.0)


def test_a_server_that_is_not_there_is_named() -> None:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port = found.getsockname()[1]
    with pytest.raises(wn.DataError, match=f"{port} cannot be reached: Connection refused"):
        wn.connect(f"http://127.0.0.1:{port}", token="t", patience=0.15).datasets()


def test_a_long_list_of_questions_is_asked_in_as_many_requests_as_it_needs(
    ann: Client, served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert line.MOST_QUESTIONS == bodies.MOST_QUESTIONS
    assert len(json.dumps({"questions": ["x" * 63_000]})) < line.MOST_BYTES < MOST_BYTES
    wide = [{"c" * 100: n} for n in range(1000)]
    parts = line.portioned(wide)
    assert len(parts) == 2 and [each for part in parts for each in part] == wide
    assert list(map(len, line.portioned([{}] * 2500))) == [1000, 1000, 500]
    assert line.portioned([]) == [[]]
    monkeypatch.setattr(line, "MOST_QUESTIONS", 2)
    asked = [wn.where(age=n) for n in range(5)]
    keyed = ann.with_key("five questions")
    first = keyed.ask("people", asked)
    assert [each.question for each in first] == [f"age={n}" for n in range(5)]
    assert [each.count for each in keyed.ask("people", asked)] == [each.count for each in first]
    keys = {each.key for each in served.service.requests.requests(principal="ann", questions=True)}
    assert {f"five questions {n}/3" for n in (1, 2, 3)} <= keys
