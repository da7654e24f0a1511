"""Everything that somebody sees of one call: its result, its words, its files, its errors.

An observation is a flat table: a path such as ``result.receipt.reason`` or ``files.out.json.size``,
and a leaf (the type, and the text of the value to the last digit). Two observations are compared
path by path. Only what is sealed stays closed: of that its public description is seen.
"""

from __future__ import annotations

import io
import json
import logging
import os
import traceback
import warnings
from collections.abc import Callable, Mapping
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any

import numpy as np

from winnow.core.sealed import Sealed

Leaf = tuple[str, str]
Observation = dict[str, Leaf]

_PLAIN = (bool, int, float, complex, str, bytes, Fraction, Path, Enum, np.generic, Sealed)
_NAMED = (type, FunctionType, BuiltinFunctionType, ModuleType)


@dataclass(frozen=True)
class Shown:
    """What a command showed."""

    exit: int
    stdout: str
    stderr: str


def observe(call: Callable[[], Any], folder: Path) -> Observation:
    """Run a call and write down all that can be seen of it; it may write into an empty folder."""
    seen: Observation = {}
    out, err, logged = io.StringIO(), io.StringIO(), io.StringIO()
    with warnings.catch_warnings(record=True) as warned, _logs_to(logged):
        warnings.simplefilter("always")
        with redirect_stdout(out), redirect_stderr(err):
            try:
                result = call()
            except Exception as error:
                _error(error, seen)
            else:
                _result(result, seen)
    for place, warning in enumerate(warned):
        where = Path(warning.filename).name
        seen[f"warnings.{place}"] = (warning.category.__name__, f"{warning.message} at {where}")
    for name, stream in (("stdout", out), ("stderr", err), ("log", logged)):
        seen[name] = ("text", stream.getvalue())
    _files(folder, seen)
    return seen


def _result(result: Any, seen: Observation) -> None:
    _walk(result, "result", seen, ())
    if not isinstance(result, dict | list | tuple):  # those an entry put together itself
        seen["repr"] = ("text", repr(result))
        seen["str"] = ("text", str(result))
        if hasattr(result, "to_json"):
            seen["json"] = ("text", result.to_json())


@contextmanager
def _logs_to(stream: io.StringIO) -> Any:
    handler = logging.StreamHandler(stream)
    handler.setFormatter(logging.Formatter("%(name)s %(levelname)s %(message)s"))
    root, own = logging.getLogger(), logging.getLogger("winnow")
    level = own.level
    root.addHandler(handler)
    own.setLevel(logging.DEBUG)  # all that anybody could hear
    try:
        yield
    finally:
        own.setLevel(level)
        root.removeHandler(handler)


def _walk(value: Any, path: str, seen: Observation, above: tuple[int, ...]) -> None:
    """All leaves of a value, its private attributes too: a result may be pickled and sent."""
    kind = type(value).__name__
    if value is None or isinstance(value, _PLAIN):
        seen[path] = (kind, repr(value))
    elif isinstance(value, _NAMED):
        seen[path] = (kind, getattr(value, "__qualname__", value.__name__))
    elif id(value) in above or len(above) > 40:
        seen[path] = (kind, "as above")
    elif isinstance(value, Shown):
        _shown(value, path, seen)
    else:
        _parts(value, path, seen, (*above, id(value)))


def _parts(value: Any, path: str, seen: Observation, above: tuple[int, ...]) -> None:
    kind = type(value).__name__
    if isinstance(value, np.ndarray):
        layout = f"{value.dtype} {value.shape}"
        seen[path] = (f"array of {layout}", repr(value.tolist()))
    elif isinstance(value, Mapping):
        seen[path] = (kind, repr([*map(str, value)]))
        for key, part in value.items():
            _walk(part, f"{path}.{key}", seen, above)
    elif isinstance(value, list | tuple):
        seen[path] = (kind, f"length {len(value)}")
        for place, part in enumerate(value):
            _walk(part, f"{path}.{place}", seen, above)
    elif isinstance(value, set | frozenset):
        seen[path] = (kind, repr(sorted(map(repr, value))))
    elif type(value).__module__.split(".")[0] == "winnow":
        seen[path] = (kind, "")
        for name in _attributes(value):
            _walk(getattr(value, name, None), f"{path}.{name}", seen, above)
    else:  # of another library: a repr may hold an address, which is no one's data
        seen[path] = (kind, "")


def _attributes(value: Any) -> list[str]:
    slots = [name for cls in type(value).__mro__ for name in getattr(cls, "__slots__", ())]
    names = [*getattr(value, "__dict__", {}), *slots]
    return [name for name in names if not name.startswith("__") and not _cached(value, name)]


def _cached(value: Any, name: str) -> bool:
    """Whether it is a function of the other attributes, there only if somebody asked for it."""
    return isinstance(getattr(type(value), name, None), cached_property)


def _shown(value: Shown, path: str, seen: Observation) -> None:
    seen[f"{path}.exit"] = ("int", str(value.exit))
    seen[f"{path}.stderr"] = ("text", value.stderr)
    seen[f"{path}.stdout"] = ("text", value.stdout)
    _json(value.stdout, f"{path}.json", seen)


def _json(text: str, path: str, seen: Observation) -> None:
    """Each field of a JSON document, if it is one."""
    try:
        document = json.loads(text)
    except ValueError:
        return
    _walk(document, path, seen, ())


def _error(error: BaseException, seen: Observation) -> None:
    """The whole chain: what stands behind an error can be read by whoever catches it."""
    left: list[tuple[str, BaseException | None]] = [("error", error)]
    known: set[int] = set()
    while left:
        path, fault = left.pop()
        if fault is None or id(fault) in known:
            continue
        known.add(id(fault))
        frames = traceback.extract_tb(fault.__traceback__)
        where = f"{Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else ""
        seen[path] = (type(fault).__name__, str(fault))
        seen[f"{path}.args"] = ("text", repr(fault.args))
        seen[f"{path}.attributes"] = ("text", repr(sorted(vars(fault).items())))
        seen[f"{path}.place"] = ("text", where)
        left += [(f"{path}.cause", fault.__cause__), (f"{path}.context", fault.__context__)]


def _files(folder: Path, seen: Observation) -> None:
    files = sorted(Path(top) / name for top, _, names in os.walk(folder) for name in names)
    seen["files"] = ("names", repr([str(path.relative_to(folder)) for path in files]))
    for path in files:
        name, content = f"files.{path.relative_to(folder)}", path.read_bytes()
        seen[f"{name}.mode"] = ("mode", oct(path.stat().st_mode))
        seen[f"{name}.size"] = ("bytes", str(len(content)))
        seen[f"{name}.content"] = ("bytes", repr(content))
        text = content.decode("utf-8", "replace")
        if path.suffix == ".json":
            _json(text, f"{name}.json", seen)
        elif text.startswith("{"):  # a document on each line
            for place, line in enumerate(text.split("\n")):
                _json(line, f"{name}.line.{place}", seen)
