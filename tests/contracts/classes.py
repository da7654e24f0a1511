"""Every class of the package, to find those that a contract forgot."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Iterator

import winnow


def all_classes() -> Iterator[type]:
    """Those that are defined outside the audits."""
    for module in pkgutil.walk_packages(winnow.__path__, "winnow."):
        parts = module.name.split(".")
        if "audit" in parts or parts[-1] == "__main__":
            continue
        for made in vars(importlib.import_module(module.name)).values():
            if inspect.isclass(made) and made.__module__ == module.name:
                yield made
