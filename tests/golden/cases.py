"""A case: something that a user can do, by name, and how what came of it is written down."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

import winnow as wn

LONG_FLOAT = re.compile(r"(?<![\w.])-?\d+\.\d{9,}(?:e[+-]?\d+)?(?!\w)")
LONG_FRACTION = re.compile(r"(?:Fraction\()?\b(\d+)(?:/|, )(\d{7,})\b\)?")
VARIES = (
    (re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d)?(?:\.\d+)?(?:Z|\+\d\d:\d\d)?"), "TIME"),
    (re.compile(r'("{1,2})tree\1: \{(?:[^{}]|\{[^{}]*\})*\}'), r"\1tree\1: TREE"),
    (re.compile(r"\b[0-9a-f]{32,}\b"), "HEX"),
    (re.compile(r"\bwinnow " + re.escape(wn.__version__) + " *"), "winnow VERSION "),
    (re.compile(r"('version'|\"version\"|'library'|\"library\"|version)(: |=)(['\"])"
                + re.escape(wn.__version__)), r"\1\2\3VERSION"),
)  # fmt: skip


@dataclass(frozen=True)
class Case:
    """One run, in an empty folder."""

    run: Callable[[], Any]
    needs: tuple[str, ...] = ()
    """Packages that it cannot do without."""

    def missing(self) -> str:
        """The first package that is not installed; empty: none."""
        return next((name for name in self.needs if find_spec(name) is None), "")

    def result(self) -> Any:
        """What came of it, or how it was refused, as plain data that is the same everywhere."""
        with _somewhere():
            try:
                return plain(self.run())
            except wn.WinnowError as error:
                return plain({"refused": f"{type(error).__name__}: {error}"})


@contextmanager
def _somewhere() -> Iterator[None]:
    """An empty folder, and a terminal of 100 columns without colours."""
    fixed = {"COLUMNS": "100", "LINES": "40", "TERM": "xterm", "NO_COLOR": "1", "TZ": "UTC"}
    loud = ("FORCE_COLOR", "PY_COLORS", "GITHUB_ACTIONS", "TTY_COMPATIBLE", "TTY_INTERACTIVE")
    before, place = dict(os.environ), Path.cwd()
    with TemporaryDirectory() as folder:
        os.environ.update(fixed)
        for name in loud:
            os.environ.pop(name, None)
        os.chdir(Path(folder).resolve())
        try:
            yield
        finally:
            os.chdir(place)
            os.environ.clear()
            os.environ.update(before)


def plain(value: Any) -> Any:
    """Plain data: floats to the last bit, texts of several lines as lists of lines."""
    match value:
        case None | bool() | int():
            return value if type(value) in (bool, int, type(None)) else plain(value.value)
        case float():
            return float(value) if np.isfinite(value) else repr(float(value))
        case str():
            lines = [line.rstrip() for line in settled(str(value)).split("\n")]
            return lines[0] if len(lines) == 1 else lines
        case Fraction():
            return str(value)
        case np.ndarray():
            return {"dtype": str(value.dtype), "shape": list(value.shape),
                    "values": plain(value.ravel().tolist())}  # fmt: skip
        case np.generic():
            return {"dtype": str(value.dtype), "value": plain(value.item())}
        case dict():
            return {
                str(key): "VERSION"
                if isinstance(held, str) and held == wn.__version__
                else plain(held)
                for key, held in value.items()
            }
        case list() | tuple() | set() | frozenset():
            held = sorted(value) if isinstance(value, set | frozenset) else value
            return [plain(each) for each in held]
        case wn.Released():
            return {
                "value": plain(value.to_dict()["value"]),
                "repr": plain(repr(value)),
                "str": plain(str(value)),
            }
    return {"repr": plain(repr(value)), "str": plain(str(value))}


def settled(text: str) -> str:
    """The text without what differs from run to run: times, keys, versions, colours."""
    text = re.sub(r"\x1b\[[0-9;]*m", "", text).replace(os.getcwd(), "FOLDER")
    for pattern, name in VARIES:
        text = pattern.sub(name, text)
    return text


def rounded(value: Any, digits: int = 10) -> Any:
    """The same with floats to some digits: for sums and logarithms, whose last bits belong to
    the processor and the libraries, and which no noise is added to."""
    match value:
        case float():
            return float(f"{value:.{digits}g}")
        case str():
            text = LONG_FRACTION.sub(lambda found: repr(int(found[1]) / int(found[2])), value)
            return LONG_FLOAT.sub(lambda found: repr(rounded(float(found[0]), digits)), text)
        case dict():
            return {key: rounded(held, digits) for key, held in value.items()}
        case list():
            return [rounded(each, digits) for each in value]
    return value
