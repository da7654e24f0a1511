"""The description of the API as OpenAPI 3.1, made from the table of endpoints."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

import msgspec

from winnow._version import __version__
from winnow.serve import replies
from winnow.serve.api import ENDPOINTS, Endpoint
from winnow.serve.problems import TITLES, ProblemBody

_REF = "#/components/schemas/{name}"
_NAMED = re.compile(r"{(\w+)}")

_OF_A_DATASET = ("getSchema", "getBudget", "plan", "release", "ask", "listShares", "getSpending")
_OF_A_RELEASE = ("getRelease", "getReceipt")
LINKS: dict[type, dict[str, dict[str, str]]] = {
    replies.DatasetList: {name: {"dataset": "/datasets/0/name"} for name in _OF_A_DATASET},
    replies.JobList: {
        "getJob": {"job": "/jobs/0/id"},
        **{name: {"release": "/jobs/0/id"} for name in _OF_A_RELEASE},
    },
    replies.JobAnswer: {
        "getJob": {"job": "/id"},
        "getBudget": {"dataset": "/dataset"},
        **{name: {"release": "/id"} for name in _OF_A_RELEASE},
    },
    replies.ReleaseAnswer: {
        "getReceipt": {"release": "/id"},
        "download": {"release": "/id", "file": "/downloads/0"},
    },
    replies.NewToken: {"revokeToken": {"token": "/id"}},
}
"""Where one can go from an answer: to which operation, with which parts of it in the address."""


@lru_cache(maxsize=1)
def openapi() -> dict[str, Any]:
    """The whole document."""
    types: list[Any] = [ProblemBody]
    for endpoint in ENDPOINTS:
        types += [each for each in (endpoint.body, endpoint.answers) if _described(each)]
    unique = list(dict.fromkeys(types))
    _, components = msgspec.json.schema_components(unique, ref_template=_REF)
    paths: dict[str, dict[str, Any]] = {}
    for endpoint in ENDPOINTS:
        paths.setdefault(endpoint.path, {})[endpoint.method.lower()] = _operation(endpoint)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "winnow serve",
            "version": __version__,
            "description": "Questions to private data under budgets, with receipts.",
        },
        "security": [{"token": []}],
        "paths": paths,
        "components": {
            "schemas": components,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


def _described(kind: type | None) -> bool:
    return kind is not None and issubclass(kind, msgspec.Struct)


def _operation(endpoint: Endpoint) -> dict[str, Any]:
    parameters: list[dict[str, Any]] = [
        {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}
        for name in _NAMED.findall(endpoint.path)
    ]
    parameters += [
        {"name": name, "in": "query", "required": False, "schema": {"type": "string"}}
        for name in endpoint.query
    ]
    if endpoint.spends:
        parameters.append(
            {
                "name": "Idempotency-Key",
                "in": "header",
                "required": True,
                "schema": {
                    "type": "string", "minLength": 1, "maxLength": 200,
                    "pattern": "^[!-~]([ -~]*[!-~])?$",
                },
            }
        )  # fmt: skip
    operation: dict[str, Any] = {
        "operationId": endpoint.name,
        "summary": (endpoint.answers.__doc__ or "").strip().split("\n")[0],
        "description": f"Needs the scope {endpoint.scope!r} of: {', '.join(endpoint.roles)}.",
        "parameters": parameters,
        "responses": {
            str(endpoint.status): {
                "description": "Done",
                "content": {endpoint.text: {"schema": _schema(endpoint.answers)}},
                **_links(endpoint.answers),
            },
            **{str(status): _problem(status) for status in sorted({s for s, _ in TITLES.values()})},
        },
    }
    if endpoint.body is not None:
        operation["requestBody"] = {
            "required": True,
            "content": {"application/json": {"schema": _schema(endpoint.body)}},
        }
    return operation


def _schema(kind: type) -> dict[str, Any]:
    if _described(kind):
        return {"$ref": _REF.format(name=kind.__name__)}
    return {"type": "string" if kind is str else "object"}


def _links(answers: type) -> dict[str, Any]:
    leads = LINKS.get(answers, {})
    made = {
        name: {
            "operationId": name,
            "parameters": {part: f"$response.body#{where}" for part, where in taken.items()},
        }
        for name, taken in leads.items()
    }
    return {"links": made} if made else {}


def _problem(status: int) -> dict[str, Any]:
    titles = [title for code, title in TITLES.values() if code == status]
    return {
        "description": "; ".join(titles),
        "content": {"application/problem+json": {"schema": _schema(ProblemBody)}},
    }
