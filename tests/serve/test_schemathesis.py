"""Requests that nobody thought of, made from the OpenAPI document, as each role."""

import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings

from serve.served import PEOPLE, Served, config_of, declarations, serving, write_data
from winnow.serve import bodies
from winnow.serve.api import ENDPOINTS
from winnow.serve.openapi import LINKS

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
        _check(case.operation, answer)

    for found in schema.get_all_operations():
        given(case=found.ok().as_strategy())(_SETTINGS(lambda case: tried(case)))()
    assert statuses == {401} if who is None else 401 not in statuses


ORDER = {"order": {"kind": "tabulate", "by": [{"marginals": 1}], "epsilon": 0.01}}
FITTING = {
    "plan": ORDER,
    "release": ORDER,
    "ask": {"questions": [{"colour": "red"}]},
    "newToken": {"name": "carl", "datasets": ["people"]},
    "setShare": {"part": 0.5},
}
"""Bodies that fit the table: those that do not are made up by the test above."""


@contextmanager
def one_table(folder: Path) -> Iterator[tuple[Served, dict[str, Any], str]]:
    """A server with a release that has appeared, its document, and the release's id.

    Whatever is released later appears when it is asked for: the clock moves on instead.
    """
    write_data(folder)
    with serving(config_of(folder, datasets={"people": declarations()["people"]})) as served:
        job = served.released("bob", "people", "seen by the owner", **ORDER["order"])
        requests = served.service.requests
        real, start = requests.now, time.monotonic()
        requests.now = lambda: real() + 3600 + 3600 * (time.monotonic() - start)
        yield served, served.call(None, "GET", "/v1/openapi.json").json(), job["id"]


@pytest.mark.parametrize("who", ["olga", "auditor", "ann", "reader", None])
def test_each_role_reaches_all_that_it_may_and_every_link_leads_there(
    tmp_path: Path, who: str | None
) -> None:
    """A complete pass: every endpoint with what fits it, then every link of every answer."""
    schemathesis = pytest.importorskip("schemathesis")
    role, _, scopes = PEOPLE[who] if who is not None else ("", (), "")
    may = {
        each.name
        for each in ENDPOINTS
        if role in each.roles and (not scopes or each.scope in scopes.split())
    }
    with one_table(tmp_path) as (served, document, release):
        schema = schemathesis.openapi.from_dict(document)
        operations = {
            found.ok().definition.raw["operationId"]: found.ok()
            for found in schema.get_all_operations()
        }
        spare, _ = served.service.accounts.new_token("spare", "analyst", by="test")
        names = {"dataset": "people", "analyst": "bob", "token": spare, "file": "table.csv"}
        reached: set[str] = set()
        followed: set[tuple[str, str]] = set()

        def asked(name: str, named: dict[str, str]) -> Any:
            operation = operations[name]
            answer = served.call(
                who, operation.method.upper(), operation.path.format(**named),
                f"{len(reached)} {len(followed)} {name}",
                **({"json": FITTING[name]} if name in FITTING else {}),
            )  # fmt: skip
            _check(operation, answer)
            wanted = {None: 401}.get(who, 403)
            assert (answer.status_code < 400) if name in may else answer.status_code == wanted
            if name == "release" and name in may:
                served.waited(str(who), answer.json()["id"])
            return answer

        for endpoint in ENDPOINTS:
            mine = release if role == "owner" else _released(served, who, may)
            found = asked(endpoint.name, names | {"job": mine, "release": mine})
            if endpoint.name not in may:
                continue
            reached.add(endpoint.name)
            for target, taken in LINKS.get(endpoint.answers, {}).items():
                if target in may:
                    named = {part: _at(found.json(), where) for part, where in taken.items()}
                    asked(target, named)
                    followed.add((endpoint.name, target))
    assert reached == may
    assert followed == {
        (each.name, target)
        for each in ENDPOINTS
        for target in LINKS.get(each.answers, {})
        if {each.name, target} <= may
    }


def _released(served: Served, who: str | None, may: set[str]) -> str:
    """A release of whoever asks, made beside the server where they may make none."""
    if who is None:
        return "none"
    order = msgspec.convert(ORDER["order"], bodies.AnyOrder)
    opened = served.service.catalogue.get("people")
    assert opened is not None
    made = served.service.jobs.order(opened, order, who, "theirs")
    served.waited(who, made.id)
    return made.id


def _at(document: Any, where: str) -> str:
    """What a link takes out of an answer."""
    for part in where.strip("/").split("/"):
        document = document[int(part)] if isinstance(document, list) else document[part]
    return str(document)


@pytest.mark.parametrize("who", ["olga", "ann", None])
def test_random_walks_lead_each_role_to_what_it_may_see(tmp_path: Path, who: str | None) -> None:
    schemathesis = pytest.importorskip("schemathesis")
    with one_table(tmp_path) as (served, document, _):
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
                return schemathesis.Response.from_any(answer)

            def validate_response(self, response: Any, case: Any, **kwargs: Any) -> None:
                _check(case.operation, response)

        Machine.run(settings=_WALKS)
    assert bool(+reached) is (who is not None)
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


def _check(operation: Any, answer: Any) -> None:
    """Whether an answer is one that the document describes."""
    import schemathesis

    status, [kind] = answer.status_code, _values(answer.headers["content-type"])
    assert str(status) in operation.definition.raw["responses"]
    assert status < 500, (operation.label, answer.text)
    if status >= 400:
        assert kind == "application/problem+json"
    elif kind == "application/json":
        operation.validate_response(schemathesis.Response.from_any(answer))


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
