"""Requests that nobody thought of, made from the OpenAPI document, as each role."""

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from serve.served import Served

pytestmark = pytest.mark.extras

_SETTINGS = settings(
    max_examples=6, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much]
)


@pytest.mark.parametrize("who", ["olga", "ann", "reader", None])
def test_answers_are_as_the_document_describes_them(served: Served, who: str | None) -> None:
    schemathesis = pytest.importorskip("schemathesis")
    schema = schemathesis.openapi.from_dict(served.call(None, "GET", "/v1/openapi.json").json())
    statuses: set[int] = set()

    def tried(case: Any) -> None:
        documented = set(map(int, case.operation.definition.raw["responses"]))
        answer = _sent(served, who, case)
        statuses.add(answer.status_code)
        assert answer.status_code in documented
        assert answer.status_code < 500, (case.operation.label, answer.text)
        if answer.status_code >= 400:
            assert answer.headers["content-type"] == "application/problem+json"
        elif answer.headers["content-type"] == "application/json":
            case.operation.validate_response(schemathesis.Response.from_any(answer))

    for found in schema.get_all_operations():
        given(case=found.ok().as_strategy())(_SETTINGS(lambda case: tried(case)))()
    assert statuses == {401} if who is None else 401 not in statuses


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
