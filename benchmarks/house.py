"""How the house is built: files, lines, doors to private data, and the way of a release.

Counted in the source tree: files and lines by folder, lines of code (no docstrings, comments or
blank lines), files that charge a budget, spend a grant or open a seal with a key, the most
parameters of a public function, and the options of commands that are written by hand rather than
read off a record. Counted while they run, after a first call: the files and functions that one
``wn.release`` and one ``wn.top_k`` go through, and the calls from one folder into another.
Measured: processor seconds of ``import winnow`` and ``winnow --help``, the least of several.
Run: python benchmarks/house.py [--against DIR]
"""

from __future__ import annotations

import ast
import json
import os
import resource
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from inspect import isfunction, signature
from pathlib import Path
from types import FrameType
from typing import Any

from _common import arguments, machine, report

ROOT = Path(__file__).resolve().parents[1]
COUNTED = "counted"
"""What asks this script, in a process of the tree that is measured, for its counts."""
STARTS = {"import winnow": ["-c", "import winnow"], "winnow --help": ["-m", "winnow", "--help"]}


def trees(package: Path) -> Iterator[tuple[str, str, ast.Module]]:
    """The name, the text and the syntax of every file of the package."""
    for path in sorted(package.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        yield path.relative_to(package).as_posix(), text, ast.parse(text)


def size(package: Path) -> dict[str, Any]:
    """Files, lines and lines of code, of the whole and by folder."""
    files, lines, code = Counter[str](), Counter[str](), Counter[str]()
    for name, text, tree in trees(package):
        folder = name.split("/")[0] if "/" in name else "."
        said: set[int] = set()
        for node in ast.walk(tree):
            if not isinstance(node, ast.Expr) or not isinstance(node.value, ast.Constant):
                continue
            if isinstance(node.value.value, str):
                said |= set(range(node.lineno, (node.end_lineno or 0) + 1))
        every = text.splitlines()
        files[folder] += bool(every)
        lines[folder] += len(every)
        code[folder] += sum(
            1
            for place, line in enumerate(every, 1)
            if line.strip() and not line.lstrip().startswith("#") and place not in said
        )
    return {
        "files": sum(files.values()),
        "lines": sum(lines.values()),
        "lines of code": sum(code.values()),
        "by folder": {each: [files[each], lines[each], code[each]] for each in sorted(files)},
    }


def doors(package: Path) -> dict[str, list[str]]:
    """The files that charge, spend and open, besides audits, which do so on made-up data."""
    found: dict[str, set[str]] = {"charge": set(), "spend": set(), "open": set()}
    for name, _, tree in trees(package):
        if "audit" in name or name.startswith("experiments/"):
            continue
        for node in ast.walk(tree):
            if not isinstance(node, ast.Call):
                continue
            called = node.func
            own = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
            whose = ast.unparse(called.value) if isinstance(called, ast.Attribute) else ""
            if own == "charge" and "checked_budget" in whose:
                found["charge"].add(name)
            if own in ("spend", "redeem") and not whose.startswith("self"):
                found["spend"].add(name)
            if own == "open" and whose.split(".")[-1].endswith("key"):
                found["open"].add(name)
    return {what: sorted(names) for what, names in found.items()}


def parameters() -> dict[str, int]:
    """The public functions of the package with the most parameters."""
    import winnow as wn

    given = {
        name: len(signature(getattr(wn, name)).parameters)
        for name in dir(wn)
        if isfunction(getattr(wn, name))
    }
    most = sorted(given, key=lambda name: (-given[name], name))
    return {name: given[name] for name in most[:6]}


WRITTEN = ("typer.Option", "typer.Argument", "option", "plot_of", "relation_of_people")
"""What makes an option of a command by hand."""
ALONE = ("app", "audit", "compiling", "demo", "ledger", "reproduce", "schema")
"""Files of commands that belong to no capability."""


def by_hand(package: Path) -> dict[str, int]:
    """Options that commands write themselves: of commands on data, and of all others."""
    others = {f"cli/{each}.py" for each in ALONE}
    found = {"data": 0, "other": 0}
    for name, _, tree in trees(package):
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and ast.unparse(node.func) in WRITTEN:
                named = node.args and not isinstance(node.args[0], ast.Name)
                if named or node.keywords:
                    found["other" if name in others or name.startswith("serve/") else "data"] += 1
    return found


def way(call: Callable[[], Any], package: Path) -> dict[str, int]:
    """The files and functions that a call goes through, and its changes of folder."""
    call()
    inside = str(package) + os.sep
    files: set[str] = set()
    functions: set[Any] = set()
    changes = calls = 0

    def folder(name: str) -> str:
        own = name[len(inside) :]
        return own.split(os.sep)[0] if os.sep in own else "."

    def watch(frame: FrameType, event: str, _: Any) -> None:
        nonlocal changes, calls
        name = frame.f_code.co_filename
        if event != "call" or not name.startswith(inside):
            return
        files.add(name)
        if not frame.f_code.co_name.startswith("<"):
            functions.add(frame.f_code)
        calls += 1
        before = frame.f_back
        while before is not None and not before.f_code.co_filename.startswith(inside):
            before = before.f_back
        if before is not None and folder(before.f_code.co_filename) != folder(name):
            changes += 1

    sys.setprofile(watch)
    try:
        call()
    finally:
        sys.setprofile(None)
    return {
        "files": len(files), "functions": len(functions), "folder changes": changes, "calls": calls
    }  # fmt: skip


def ways(package: Path) -> dict[str, dict[str, int]]:
    """The ways of releases that a newcomer reads first."""
    import numpy as np
    import pandas as pd

    import winnow as wn

    rng = np.random.default_rng(0)
    schema = {"a": 4, "b": 3, "c": 5, "d": 2}
    frame = pd.DataFrame({name: rng.integers(0, n, 2000) for name, n in schema.items()})
    table, counts = wn.read_table(frame, schema=schema), np.arange(1000)
    pairs = wn.marginals(2)
    return {
        "top_k": way(lambda: wn.top_k(counts, k=10, epsilon=1, seed=0), package),
        "release, tables": way(
            lambda: wn.release(table, pairs, epsilon=1, method="tables", seed=0), package
        ),
        "release, auto": way(lambda: wn.release(table, pairs, epsilon=1, seed=0), package),
    }


def start(package: Path, words: list[str], times: int = 7) -> float:
    """The least processor seconds of a fresh process, beyond those of an empty one."""
    path = str(package.parent)
    own = os.environ | {"PYTHONPATH": path}

    def least(these: list[str]) -> float:
        taken = []
        for _ in range(times):
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            subprocess.run([sys.executable, *these], env=own, stdout=subprocess.DEVNULL, check=True)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            taken.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
        return min(taken)

    return least(words) - least(["-c", "pass"])


def counted(package: Path) -> dict[str, Any]:
    """All that is counted in this process."""
    return {
        "size": size(package),
        "doors": doors(package),
        "parameters": parameters(),
        "options by hand": by_hand(package),
        "ways": ways(package),
    }


def measured(tree: Path) -> dict[str, Any]:
    """The figures of a tree, in a process that imports it."""
    package = tree / "src" / "winnow"
    own = os.environ | {"PYTHONPATH": str(package.parent), "PYTHONWARNINGS": "ignore"}
    done = subprocess.run(
        [sys.executable, __file__, COUNTED, str(package)],
        env=own, capture_output=True, text=True, check=True,
    )  # fmt: skip
    found: dict[str, Any] = json.loads(done.stdout)
    found["seconds"] = {what: round(start(package, words), 3) for what, words in STARTS.items()}
    return found


def rows(found: dict[str, Any]) -> list[tuple[str, str]]:
    """The figures as lines of a table."""
    listed = [(name, f"{found['size'][name]:,}") for name in ("files", "lines", "lines of code")]
    listed += [(f"files that {what}", str(len(names))) for what, names in found["doors"].items()]
    listed += [("most parameters", ", ".join(f"{k} {n}" for k, n in found["parameters"].items()))]
    for what, n in found["options by hand"].items():
        listed.append((f"options by hand, {what}", str(n)))
    for name, one in found["ways"].items():
        listed.append((name, ", ".join(f"{n:,} {what}" for what, n in one.items())))
    listed += [(what, f"{seconds:.3f} s") for what, seconds in found["seconds"].items()]
    return listed


def main() -> None:
    if sys.argv[1:2] == [COUNTED]:
        print(json.dumps(counted(Path(sys.argv[2]))))
        return
    parser = arguments(__doc__ or "", "house")
    parser.add_argument("--against", type=Path, help="another tree, shown beside this one")
    options = parser.parse_args()
    found = {"this tree": measured(ROOT)}
    if options.against is not None:
        found["other tree"] = measured(options.against)
    lists = [rows(each) for each in found.values()]
    table = [[first[0], *(pair[1] for pair in line)] for line in zip(*lists, strict=True)
             for first in line[:1]]  # fmt: skip
    report("The house", ["measure", *found], table)
    document = {"machine": machine(), **found["this tree"]}
    options.out.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
