"""Public names, their signatures and their members."""

from __future__ import annotations

import inspect
import re
from enum import Enum
from importlib import import_module
from typing import Any

import winnow as wn
from golden import public
from golden.cases import Case
from golden.data import VOTES, table

HOME = re.compile(r"\bwinnow\.[a-z_.]+\.(?=[A-Z_a-z])")
"""Where something is defined is nobody's business."""
ADDRESS = re.compile(r" at 0x[0-9a-f]+")
"""Where a function lies in memory differs from run to run."""


def signature(thing: Any) -> str:
    try:
        return ADDRESS.sub("", HOME.sub("", str(inspect.signature(thing))))
    except (TypeError, ValueError):
        return "no signature"


def about(thing: Any) -> Any:
    """A public thing as its users know it."""
    if inspect.isclass(thing) and issubclass(thing, Enum):
        return members(thing)
    if inspect.isclass(thing):
        bases = [base.__name__ for base in thing.__mro__[1:-1] if not base.__name__.startswith("_")]
        call = {} if issubclass(thing, Exception) else {"call": signature(thing)}
        return call | {"is a": bases, "members": members(thing)}
    if callable(thing):
        return signature(thing)
    if inspect.ismodule(thing):
        return f"module {thing.__name__}"
    return type(thing).__name__ if "__args__" in dir(thing) else repr(thing)


def members(kind: type) -> dict[str, str]:
    """What is public of a class, but for what Python's own classes have."""
    if issubclass(kind, Enum):
        return {name: repr(member) for name, member in kind.__members__.items()}
    own = [base for base in kind.__mro__ if base.__module__.startswith("winnow")]
    names = {name for base in own for name in vars(base) if not name.startswith("_")}
    names |= {name for base in own for name in vars(base).get("__annotations__", ())}
    return {name: _member(kind, name) for name in sorted(names) if not name.startswith("_")}


def _member(kind: type, name: str) -> str:
    held = inspect.getattr_static(kind, name, None)
    if isinstance(held, classmethod | staticmethod):
        return f"{type(held).__name__} {signature(getattr(kind, name))}"
    if inspect.isfunction(held):
        return signature(held)
    if isinstance(held, int | float | str | tuple | bool):
        return HOME.sub("", repr(held))
    return "attribute"


def names(module: str) -> Any:
    held = public.MODULES[module]
    listed = getattr(held, "__all__", None) or [
        name
        for name, thing in vars(held).items()
        if getattr(thing, "__module__", "") == held.__name__ and not name.startswith("_")
    ]
    return {name: about(getattr(held, name)) for name in listed if name != "__version__"}


def noise() -> Any:
    """What is documented of the randomness."""
    tape = getattr(import_module(public.TAPE[0]), public.TAPE[1])
    law = getattr(import_module(public.LAW[0]), public.LAW[1])
    return [signature(tape.fresh), signature(tape.seeded), members(law)]


def results() -> Any:
    """The kinds of things that calls return and that are not exported."""
    given: dict[str, Any] = {"epsilon": 1, "delta": 1e-6, "seed": 1}
    opened = [
        wn.ask(table(20_000), method=method, max_queries=20, **given)
        for method in ("multiplicative-weights", "independent")
    ]
    released = wn.release(table(), wn.marginals(1), method=wn.MWEM(rounds=1), **given).value
    things = [
        *opened,
        opened[0].ask(wn.where(sex="Male")),
        wn.open_above(threshold=1, epsilon=1, seed=1),
        wn.above(VOTES, threshold=1, epsilon=1, seed=1).value,
        wn.boost(wn.seal_examples([[1, 1], [1, -1]], [1, -1]), epsilon=1, rounds=1, seed=1).value,
        wn.OneRule(of="stumps", cuts=[1.0]),
        wn.marginals(1),
        wn.marginals(1).over(table().schema),
        wn.learn(table(), "sex", method="stumps", epsilon=1, seed=1).value,
        wn.learn(table(), "sex", method="stumps", epsilon=1, seed=1).value.bound,
        released.measurements[0],
        released.errors,
        wn.Budget(epsilon=1).spent,
    ]
    for session in opened:
        session.close()
    return {type(thing).__name__: members(type(thing)) for thing in things}


def cases() -> dict[str, Case]:
    """All of them by name."""
    made: dict[str, Any] = {name: lambda n=name: names(n) for name in public.MODULES}
    made["names of winnow"] = lambda: [wn.__all__, dir(wn)]
    made["noise"] = noise
    made["results"] = results
    return {name: Case(run) for name, run in made.items()}
