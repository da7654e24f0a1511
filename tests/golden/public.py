"""The modules that users import, in one place."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

import winnow as wn

privacy = import_module("winnow.privacy")
ledger = import_module("winnow.privacy.ledger")
audit = import_module("winnow.audit")
plots = import_module("winnow.plots")
errors = import_module("winnow.errors")

MODULES: dict[str, ModuleType] = {
    "winnow": wn,
    "winnow.audit": audit,
    "winnow.errors": errors,
    "winnow.plan": wn.plan,
    "winnow.plots": plots,
    "winnow.privacy": privacy,
    "winnow.privacy.ledger": ledger,
}
TAPE = ("winnow.core.tape", "Tape")
LAW = ("winnow.core.laws", "Law")
