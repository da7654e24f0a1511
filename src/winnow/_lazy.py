"""Public names, loaded on first use and listed once: in the stub beside a package."""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any


class _Package(ModuleType):
    """A package whose public names are not replaced by folders of the same name.

    Importing ``winnow.select.verb`` makes Python bind the folder ``select`` in ``winnow``;
    ``winnow.select`` has to stay the verb.
    """

    def __setattr__(self, name: str, value: Any) -> None:
        if isinstance(value, ModuleType) and name in self.__dict__.get("_verbs", ()):
            return
        super().__setattr__(name, value)


def attach(
    package: str, file: str
) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """The ``__getattr__``, ``__dir__`` and ``__all__`` of a package, from its stub."""
    homes = _homes(Path(file).with_suffix(".pyi"))
    module = sys.modules[package]
    verbs = frozenset(name for name, (home, _) in homes.items() if home != package)
    module.__dict__["_verbs"] = verbs
    module.__class__ = _Package

    def load(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        home, original = homes[name]
        if home == package:  # a module, such as winnow.plan
            return import_module(f"{package}.{original}")
        value = getattr(import_module(home), original)
        module.__dict__[name] = value
        return value

    names = sorted(homes)
    return load, lambda: names, names


def _homes(stub: Path) -> dict[str, tuple[str, str]]:
    """Each public name of a stub, with the module and the name behind it."""
    homes = {}
    for statement in ast.parse(stub.read_text(encoding="utf-8")).body:
        if isinstance(statement, ast.ImportFrom) and statement.module is not None:
            for name in statement.names:
                homes[name.asname or name.name] = (statement.module, name.name)
    return homes
