"""The description of the API as OpenAPI 3.1, made from the table of endpoints."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

import msgspec

from winnow._version import __version__
from winnow.serve.api import ENDPOINTS, Endpoint
from winnow.serve.problems import TITLES, ProblemBody

_REF = "#/components/schemas/{name}"
_NAMED = re.compile(r"{(\w+)}")


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


def _problem(status: int) -> dict[str, Any]:
    titles = [title for code, title in TITLES.values() if code == status]
    return {
        "description": "; ".join(titles),
        "content": {"application/problem+json": {"schema": _schema(ProblemBody)}},
    }
