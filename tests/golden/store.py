"""The files of expected results."""

from __future__ import annotations

import json
from difflib import unified_diff
from importlib import import_module
from pathlib import Path
from typing import Any

from golden.cases import Case

NAMES = ("accounting", "api", "commands", "files", "plans", "selection", "tables")


def cases(name: str) -> dict[str, Case]:
    """The cases of one file."""
    found: dict[str, Case] = import_module(f"golden.{name}").cases()
    return found


def path(name: str) -> Path:
    return Path(__file__).parent / f"{name}.json"


def expected(name: str) -> dict[str, Any]:
    """What was written down; nothing where there is no file yet."""
    if not path(name).exists():
        return {}
    found: dict[str, Any] = json.loads(path(name).read_text(encoding="utf-8"))
    return found


def text(document: Any) -> str:
    """JSON with one value on each line."""
    return json.dumps(document, indent=1, sort_keys=True, ensure_ascii=False, allow_nan=False)


def write(name: str) -> str:
    """Run all cases of a file and write them down; those that lack a package stay as they are."""
    before, after, kept = expected(name), {}, []
    for label, case in cases(name).items():
        if missing := case.missing():
            kept.append(f"{label} ({missing} is not installed)")
            if label in before:
                after[label] = before[label]
        else:
            after[label] = case.result()
    path(name).write_text(text(after) + "\n", encoding="utf-8")
    changed = sum(before.get(label) != after.get(label) for label in before | after)
    rest = f"; kept as they were: {', '.join(kept)}" if kept else ""
    return f"{path(name).name}: {len(after)} results, {changed} changed{rest}"


def difference(name: str, label: str, found: Any) -> str:
    """What changed, and what to do about it; empty: nothing."""
    wanted = expected_of(name).get(label)
    if found == wanted and text(found) == text(wanted):
        return ""
    lines = unified_diff(
        text(wanted).split("\n"), text(found).split("\n"), f"{name}.json", "now", lineterm="", n=2
    )
    shown = "\n".join(list(lines)[:60])
    return (
        f"{label!r} is not what {name}.json says:\n{shown}\n"
        f"Users see this. If it is meant: python tests/golden/write.py {name}, and read the diff."
    )


_read: dict[str, dict[str, Any]] = {}


def expected_of(name: str) -> dict[str, Any]:
    """What was written down, read once."""
    if name not in _read:
        _read[name] = expected(name)
    return _read[name]
