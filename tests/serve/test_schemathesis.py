"""Requests that nobody thought of, made from the OpenAPI document, as each role."""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from serve.served import PEOPLE, Served, config_of, declarations, serving, write_data
from winnow.serve.api import ENDPOINTS

pytestmark = pytest.mark.extras

_SETTINGS = settings(
    max_examples=6, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much]
)
_WALKS = settings(
    _SETTINGS, max_examples=12, stateful_step_count=10, derandomize=True, database=None,
    deadline=None, suppress_health_check=list(HealthCheck),
)  # fmt: skip


@pytest.mark.parametrize("who", ["olga", "ann", "reader", None])
def test_answers_are_as_the_document_describes_them(served: Served, who: str | None) -> None:
    schemathesis = pytest.importorskip("schemathesis")
    schema = schemathesis.openapi.from_dict(served.call(None, "GET", "/v1/openapi.json").json())
    statuses: set[int] = set()

    def tried(case: Any) -> None:
        answer = _sent(served, who, case)
        statuses.add(answer.status_code)
        _check(case, answer)

    for found in schema.get_all_operations():
        given(case=found.ok().as_strategy())(_SETTINGS(lambda case: tried(case)))()
    assert statuses == {401} if who is None else 401 not in statuses


FITTING = {
    "release": {"order": {"kind": "tables", "by": [{"marginals": 1}], "epsilon": 0.01}},
    "ask": {"questions": [{"colour": "red"}]},
    "newToken": {"name": "carl", "datasets": ["people"]},
}
"""Bodies that fit the table: those that do not are made up by the test above."""

REACHED = {
    "olga": {"getSchema", "getBudget", "listShares", "getSpending", "getJob", "getRelease",
             "getReceipt", "newToken", "revokeToken"},
    "ann": {"getSchema", "getBudget", "release", "ask", "getJob", "getRelease", "getReceipt",
            "download"},
    None: set(),
}  # fmt: skip
"""What each role may get to, most of it only by links from what was answered before."""


@pytest.mark.parametrize("who", REACHED)
def test_links_lead_each_role_to_what_it_may_see(tmp_path: Path, who: str | None) -> None:
    schemathesis = pytest.importorskip("schemathesis")
    write_data(tmp_path)
    with serving(config_of(tmp_path, datasets={"people": declarations()["people"]})) as served:
        served.released("bob", "people", "seen by the owner", **FITTING["release"]["order"])
        requests = served.service.requests
        real, hours = requests.now, [0.0]
        requests.now = lambda: real() + 3600 * hours[0]  # instead of waiting until a job is due
        hours[0] += 1
        document = served.call(None, "GET", "/v1/openapi.json").json()
        schema = schemathesis.openapi.from_dict(document).include(operation_id=_linked(document))
        reached: Counter[str] = Counter()
        statuses: set[int] = set()

        class Machine(schema.as_state_machine()):  # type: ignore[misc]
            """Follows the links of the document from answer to answer."""

            def before_call(self, case: Any) -> None:
                name = case.operation.definition.raw["operationId"]
                if name in FITTING and case.path_parameters.get("dataset", "people") == "people":
                    case.body = FITTING[name]

            def call(self, case: Any, **kwargs: Any) -> Any:
                answer = _sent(served, who, case)
                statuses.add(answer.status_code)
                name = case.operation.definition.raw["operationId"]
                reached[name] += answer.status_code < 400
                if name == "release" and answer.status_code == 202:
                    served.waited(str(who), answer.json()["id"])
                    hours[0] += 1
                return schemathesis.Response.from_any(answer)

            def validate_response(self, response: Any, case: Any, **kwargs: Any) -> None:
                _check(case, response)

        Machine.run(settings=_WALKS)
    found = REACHED[who] & set(+reached)
    assert 2 * len(found) >= len(REACHED[who]), found  # identities are random, and so are walks
    role = PEOPLE[who][0] if who is not None else "nobody"
    assert set(+reached) <= {each.name for each in ENDPOINTS if role in each.roles}
    assert statuses == {401} if who is None else 401 not in statuses


def _linked(document: dict[str, Any]) -> list[str]:
    """The operations from which links lead, and to which."""
    found: set[str] = set()
    for operation in (each for methods in document["paths"].values() for each in methods.values()):
        links = [
            name for answer in operation["responses"].values() for name in answer.get("links", ())
        ]
        found.update([operation["operationId"], *links] if links else [])
    return sorted(found)


def _check(case: Any, answer: Any) -> None:
    """Whether an answer is one that the document describes."""
    import schemathesis

    status, [kind] = answer.status_code, _values(answer.headers["content-type"])
    assert str(status) in case.operation.definition.raw["responses"]
    assert status < 500, (case.operation.label, answer.text)
    if status >= 400:
        assert kind == "application/problem+json"
    elif kind == "application/json":
        case.operation.validate_response(schemathesis.Response.from_any(answer))


def _sent(served: Served, who: str | None, case: Any) -> Any:
    """The case over the wire, with the token of a role."""
    key = str(dict(case.headers or {}).get("Idempotency-Key", "")).strip()
    headers = {"idempotency-key": key} if key.isascii() and key.isprintable() else {}
    if who is not None:
        headers["authorization"] = f"Bearer {served.tokens[who]}"
    made = case.as_transport_kwargs(base_url=str(served.client.base_url))
    return served.client.request(
        made["method"], made["url"], params=made.get("params"), json=made.get("json"),
        headers=headers,
    )  # fmt: skip


def _values(header: str | list[str]) -> list[str]:
    """The values of a header: schemathesis keeps a list of them."""
    return [header] if isinstance(header, str) else header
