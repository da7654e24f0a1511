"""Releases and questions: charged once, the same again for the same key, and nothing private."""

import json
import logging
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from serve.served import CANARY, Served

ORDERS = [
    ("people", {"kind": "select", "column": "colour", "epsilon": 0.2}),
    ("people", {"kind": "top-k", "column": "colour", "k": 2, "epsilon": 0.2, "with_counts": True}),
    ("people", {"kind": "tabulate", "by": [{"marginals": 2}, {"prefixes": "age"}], "epsilon": 0.2,
                "delta": 1e-7, "values": ["age"]}),
    ("people", {"kind": "regress", "target": "age", "epsilon": 0.2}),
    ("people", {"kind": "moments", "values": ["age"], "statistics": ["mean"], "epsilon": 0.2}),
    ("people", {"kind": "quantiles", "column": "age", "quantiles": [0.5, 0.9], "by": ["colour"],
                "method": {"kind": "halving", "level": 0.9}, "epsilon": 0.2}),
    ("people", {"kind": "histogram", "column": "age", "bins": 2, "split": "quantiles",
                "epsilon": 0.2}),
    ("people", {"kind": "describe", "epsilon": 0.2}),
    ("people", {"kind": "release", "workload": [{"marginals": 1}], "epsilon": 0.2, "delta": 1e-7}),
    pytest.param(
        "people", {"kind": "release", "method": "graphical",
                   "workload": [{"marginals": 2}], "epsilon": 0.2, "delta": 1e-7},
        marks=pytest.mark.extras,
    ),
    ("log", {"kind": "top-k", "k": 3, "epsilon": 0.2, "delta": 1e-7}),
    ("log", {"kind": "tabulate", "epsilon": 0.2, "delta": 1e-7}),
    ("baskets", {"kind": "itemsets", "size": 2, "k": 2, "epsilon": 0.2, "delta": 1e-7}),
]  # fmt: skip


@pytest.mark.parametrize(
    ("dataset", "order"), ORDERS, ids=lambda each: each["kind"] if isinstance(each, dict) else each
)
def test_a_release_costs_what_its_plan_says_and_shows_no_private_text(
    served: Served, dataset: str, order: dict[str, object]
) -> None:
    at = f"/v1/datasets/{dataset}"
    planned = served.call("ann", "POST", f"{at}/plans", json={"order": order}).json()
    assert planned["fits"], planned
    before = served.service.ledger.dataset(dataset)
    job = served.released("ann", dataset, f"costs {dataset} {order['kind']}", **order)
    assert job["state"] == "done", job
    after = served.service.ledger.dataset(dataset)
    assert after.charges == before.charges + 1
    said = served.call("ann", "GET", f"{at}/schema").json()["unit"]
    assert served.call("ann", "GET", f"{at}/budget").json()["guarantee"].endswith(f"-DP, {said}")
    assert str(after.guarantee).endswith(f"-DP, {said}")
    charged = served.call("olga", "GET", f"{at}/spending").json()["charges"][-1]
    assert (charged["analyst"], charged["charged"]) == ("ann", planned["charged"])
    real = served.service.requests.now
    served.service.requests.now = lambda: real() + 1e6
    try:
        release = served.call("ann", "GET", job["release"])
        files = [
            served.call("ann", "GET", f"{job['release']}/{name}").text
            for name in release.json()["downloads"]
        ]
    finally:
        served.service.requests.now = real
    assert release.json()["receipt"]["randomness"] == "os"
    head = release.json()["receipt"]["ledger"]
    verified = served.call("olga", "GET", "/v1/ledger/verify", params={"head": head}).json()
    assert verified["ok"], verified
    assert CANARY not in "".join([release.text, *files])
    lines = served.service.store.audit_log(most=10_000)
    assert any(line.detail.get("release") == job["id"] and line.who == "ann" for line in lines)


def test_the_same_key_is_the_same_release_and_another_body_is_refused(served: Served) -> None:
    order = {"order": {"kind": "select", "column": "colour", "epsilon": 0.01}}
    first = served.call("ann", "POST", "/v1/datasets/people/releases", "again", json=order)
    charges = served.service.ledger.dataset("people").charges
    served.waited("ann", first.json()["id"])
    again = served.call("ann", "POST", "/v1/datasets/people/releases", "again", json=order)
    assert again.json()["id"] == first.json()["id"]
    assert served.service.ledger.dataset("people").charges <= charges + 1
    order["order"]["epsilon"] = 0.02
    other = served.call("ann", "POST", "/v1/datasets/people/releases", "again", json=order)
    assert (other.status_code, other.json()["type"]) == (422, "urn:winnow:problem:other-body")
    mine = served.call("bob", "POST", "/v1/datasets/people/releases", "again", json=order)
    assert mine.status_code == 202, "keys belong to whoever chose them"


def test_one_key_at_one_moment_is_one_release_of_each_principal(served: Served) -> None:
    def ordered(number: int) -> tuple[str, int, str | None]:
        who, epsilon = ("ann", "bob")[number % 2], 0.01 if number < 8 else 0.02
        order = {"kind": "select", "column": "colour", "epsilon": epsilon}
        answer = served.call(
            who, "POST", "/v1/datasets/people/releases", "at once", json={"order": order}
        )
        return who, answer.status_code, answer.json().get("id")

    before = served.service.ledger.dataset("people").charges
    with ThreadPoolExecutor(16) as threads:
        found = set(threads.map(ordered, range(16)))
    assert served.service.ledger.dataset("people").charges == before + 2
    for who in ("ann", "bob"):
        codes = sorted(code for each, code, _ in found if each == who)
        assert codes == [202, 422]  # one id, and another body that is refused
    assert len({identity for _, code, identity in found if code == 202}) == 2


def test_what_passes_the_share_is_refused_with_what_would_fit(served: Served) -> None:
    served.call("olga", "PUT", "/v1/datasets/people/shares/bob", json={"part": 0.1})
    order = {"kind": "select", "column": "colour", "epsilon": 3.0}
    planned = served.call("bob", "POST", "/v1/datasets/people/plans", json={"order": order}).json()
    assert not planned["fits"] and "would fit" in planned["refused"]
    refused = served.call(
        "bob", "POST", "/v1/datasets/people/releases", "too much", json={"order": order}
    )
    assert (refused.status_code, refused.json()["type"]) == (409, "urn:winnow:problem:budget")
    assert "would fit" in refused.json()["detail"]


def test_a_wanted_error_gives_the_epsilon_that_brings_it(served: Served) -> None:
    for order in (
        {"kind": "tabulate", "by": [{"marginals": 2}], "delta": 1e-7, "error": 40.0},
        {"kind": "select", "column": "colour", "error": 40.0},
        {"kind": "top-k", "column": "colour", "k": 2, "error": 40.0},
    ):
        found = served.call("ann", "POST", "/v1/datasets/people/plans", json={"order": order})
        planned = found.json()
        assert found.status_code == 200, planned
        assert planned["error"] <= 40.0 * 1.001
        given = {**order, "epsilon": planned["epsilon"] * 0.9}
        del given["error"]
        less = served.call("ann", "POST", "/v1/datasets/people/plans", json={"order": given})
        assert less.json()["error"] > 40.0 * 0.99


def test_questions_are_answered_again_as_they_were(served: Served) -> None:
    body = {"questions": [{"colour": "red"}, {"colour": ["red", "blue"], "age": {"to": 5}}]}
    at = "/v1/datasets/people/questions"
    first = served.call("ann", "POST", at, "q1", json=body)
    assert first.status_code == 200, first.text
    assert [len(first.json()["answers"])] == [2]
    assert served.call("ann", "POST", at, "q1", json=body).json() == first.json()
    body["questions"].pop()
    assert served.call("ann", "POST", at, "q1", json=body).status_code == 422
    missing = served.call("ann", "POST", at, json=body)
    assert missing.status_code == 422 and "Idempotency-Key" in missing.json()["detail"]
    unknown = served.call("ann", "POST", at, "q2", json={"questions": [{"colour": "mauve"}]})
    assert unknown.status_code == 422 and "mauve" in unknown.json()["detail"]


def test_no_private_text_in_logs_metrics_or_answers(
    served: Served, caplog: pytest.LogCaptureFixture
) -> None:
    from prometheus_client import generate_latest

    with caplog.at_level(logging.DEBUG):
        said = [
            served.call("ann", "GET", f"/v1/datasets/{name}/schema").text
            for name in ("people", "log", "baskets")
        ]
        said.append(served.call("olga", "GET", "/v1/ledger/export").text)
        said.append(served.call("olga", "GET", "/v1/audit").text)
        for name in ("people", "log", "baskets"):
            for order in ({"kind": "select", "column": CANARY, "epsilon": 0.1},):
                answer = served.call(
                    "ann", "POST", f"/v1/datasets/{name}/plans", json={"order": order}
                )
                assert answer.status_code == 422
                said.append(answer.text.replace(f"'{CANARY}'", "what was given"))
    said.append(generate_latest(served.server.metrics.registry).decode())
    said.append(caplog.text)
    assert CANARY not in json.dumps(said)


def test_the_openapi_describes_every_endpoint(served: Served) -> None:
    from winnow.serve.api import ENDPOINTS

    document = served.call(None, "GET", "/v1/openapi.json").json()
    assert document["openapi"].startswith("3.1")
    described = {
        each["operationId"] for methods in document["paths"].values() for each in methods.values()
    }
    assert described == {endpoint.name for endpoint in ENDPOINTS}


def test_every_link_of_the_openapi_names_the_whole_address_it_leads_to() -> None:
    from winnow.serve.api import ENDPOINTS
    from winnow.serve.openapi import LINKS

    named = {each.name: {word[1:-1] for word in each.path.split("/") if word[:1] == "{"}
             for each in ENDPOINTS}  # fmt: skip
    for answers, leads in LINKS.items():
        assert answers in {endpoint.answers for endpoint in ENDPOINTS}
        for name, taken in leads.items():
            assert named[name] == set(taken), (answers, name)
            assert {where.split("/")[1] for where in taken.values()} <= set(
                answers.__struct_fields__
            )


def test_a_plan_is_worked_out_once_for_everybody(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the order and the accountant: what is left, and for whom, is looked up each time."""
    made: list[Any] = []
    workers = served.service.workers
    real = workers.ask
    monkeypatch.setattr(
        workers, "ask", lambda asked, wait: (made.append(asked.steps), real(asked, wait))[1]
    )
    at, order = "/v1/datasets/people/plans", {"kind": "release", "workload": [{"marginals": 1}]}
    body = {"order": {**order, "error": 33.0, "delta": 1e-7}}
    first = served.call("ann", "POST", at, json=body).json()
    assert len(made) == 1 and first["fits"]
    assert served.call("ann", "POST", at, json=body).json() == first
    chosen = {"order": {**order, "epsilon": first["epsilon"], "delta": 1e-7}}
    assert served.call("ann", "POST", at, json=chosen).json() == first
    served.released("ann", "people", "as planned", **chosen["order"])
    after = served.call("ann", "POST", at, json=body).json()
    assert len(made) == 1
    assert after["left_after"]["spent"] > first["left_after"]["spent"]
    other = served.call("olga", "POST", at, json=body).json()
    assert other["left_after"] != after["left_after"] and len(made) == 1


def test_no_more_plans_are_kept_than_said() -> None:
    from winnow.serve.datasets import _MOST_PLANS, KnownPlans

    kept = KnownPlans()
    for number in range(_MOST_PLANS):
        kept.put(number, number)
    assert kept.known(0) == 0, "the latest that was asked for"
    kept.put(_MOST_PLANS, "new")
    assert kept.known(1) is None and kept.known(0) == 0 and len(kept._held) == _MOST_PLANS
