"""What a user calls has at most ten parameters: options of data and methods are objects."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from inspect import Parameter, getattr_static, isclass, isfunction, ismodule, signature
from typing import Any

import pytest

import winnow as wn
import winnow.audit
import winnow.plots
import winnow.privacy
import winnow.privacy.ledger
from winnow.serve.client import Client, Plans

MOST = 10
HOMES = (wn, wn.plan, winnow.privacy, winnow.privacy.ledger, winnow.plots, winnow.audit)
MANY = {"promise": 12, "moments": 11}
"""A row of the table of promises by its name: each takes the two or three numbers that it needs.
Moments have a level of their intervals beside what every release of a table takes."""


def parameters(called: Any) -> list[str]:
    """What a user may give, without the object itself."""
    given = signature(called).parameters.values()
    several = (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD)
    return [
        each.name for each in given if each.name not in ("self", "cls") and each.kind not in several
    ]


def methods(made: type[Any]) -> Iterator[tuple[str, Any]]:
    """The public methods of a class, static ones and makers included."""
    for name in dir(made):
        held = getattr_static(made, name)
        function = getattr(held, "__func__", held)
        if not name.startswith("_") and isfunction(function):
            yield f"{made.__name__}.{name}", function


@cache
def called() -> dict[str, Any]:
    """All public functions, and the methods of all public classes."""
    found: dict[str, Any] = {"Session": wn.Session}
    for home in HOMES:
        for name in dir(home):
            made = getattr(home, name)
            if name.startswith("_") or ismodule(made):
                continue
            if isclass(made):
                found |= dict(methods(made))
            elif callable(made):
                found[f"{home.__name__}.{name}"] = made
    return found | dict(methods(Client)) | dict(methods(Plans))


@pytest.mark.parametrize("name", sorted(called()))
def test_nothing_that_a_user_calls_has_more_than_ten_parameters(name: str) -> None:
    given = parameters(called()[name])
    assert len(given) <= MANY.get(name.rpartition(".")[2], MOST), given


def test_verbs_readers_and_the_client_are_among_what_is_counted() -> None:
    assert {"winnow.read_baskets", "winnow.plan.top_k", "Session.ask", "Client.top_k"} <= {
        *called()
    }
    assert len(called()) > 300
