"""Bundles: options that several commands share, taken by each of them as one value.

A bundle is a frozen dataclass whose fields are options. A command has one parameter of that type;
``unbundled`` shows Typer the fields in its place. So an option that is added to a bundle is on
every command that takes the bundle.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, is_dataclass
from functools import wraps
from inspect import Parameter, signature
from typing import Any, get_type_hints


def unbundled(command: Callable[..., None]) -> Callable[..., None]:
    """The command with the options of its bundles as parameters of its own."""
    hints = get_type_hints(command, include_extras=True)
    shown: list[Parameter] = []
    bundles: dict[str, type[Any]] = {}
    for name, parameter in signature(command).parameters.items():
        if is_dataclass(hints[name]):
            bundles[name] = hints[name]
            shown += _options(hints[name], parameter.kind)
        else:
            shown.append(parameter.replace(annotation=hints[name]))

    @wraps(command)
    def called(**given: Any) -> None:
        for name, bundle in bundles.items():
            given[name] = bundle(**{f.name: given.pop(f.name) for f in fields(bundle)})
        command(**given)

    called.__signature__ = signature(command).replace(parameters=shown)  # type: ignore[attr-defined]
    called.__annotations__ = {parameter.name: parameter.annotation for parameter in shown}
    return called


def _options(bundle: type[Any], kind: Any) -> list[Parameter]:
    hints = get_type_hints(bundle, include_extras=True)
    return [
        Parameter(f.name, kind, default=f.default, annotation=hints[f.name]) for f in fields(bundle)
    ]
