"""Every number that an automatic choice rests on, read off the code with its reason."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from table_text import table

SOURCE = Path(__file__).parents[1] / "src" / "winnow"
FILES = {
    "release": (
        "choice", "after_fit", "answered", "rising", "model_distance", "terms",
        "graphical/rules", "graphical/predicted", "graphical/candidates", "graphical/situation",
        "graphical/whole_workload", "graphical/at_once", "graphical/planned_at_once",
        "graphical/model_plan", "rounds/adaptive", "rounds/prediction", "rounds/bounds",
        "rounds/mwem_plan", "rounds/warm_start", "rounds/settings", "tables/choice",
        "tables/moved", "tables/split", "tables/strategy", "tables/trees", "tables/on_trees",
        "matrices/linear",
    ),
    "select": (
        "methods", "choice", "looking", "label_choice", "label_recall", "table", "predicted",
        "generated_logs", "by_group",
    ),
    "itemsets": ("table", "mechanisms/chosen", "mechanisms/support", "mechanisms/weighted"),
    "ask": ("warm_start", "sizing", "compared"),
}  # fmt: skip
"""The files that decide, in each capability."""
Row = tuple[str, str, str, str]


def constants() -> Iterator[Row]:
    """Capability and file, name, value and reason of every number that has a name."""
    for folder, files in FILES.items():
        for file in files:
            yield from _of(folder, file)


def _of(folder: str, file: str) -> Iterator[Row]:
    body = ast.parse((SOURCE / folder / f"{file}.py").read_text()).body
    for place, node in enumerate(body):
        if not isinstance(node, ast.Assign) or not _numbers(node.value):
            continue
        target = node.targets[0]
        names = [
            each.id
            for each in (target.elts if isinstance(target, ast.Tuple) else [target])
            if isinstance(each, ast.Name) and each.id.lstrip("_").isupper()
        ]
        if names:
            after = body[place + 1] if place + 1 < len(body) else None
            yield f"{folder}/{file}", ", ".join(names), ast.unparse(node.value), _said(after)


def _numbers(value: ast.expr) -> bool:
    return any(
        isinstance(each, ast.Constant) and type(each.value) in (int, float)
        for each in ast.walk(value)
    )


def _said(node: ast.stmt | None) -> str:
    """The text after a constant, in one line."""
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        return " ".join(str(node.value.value).split())
    return "see the file's own words"


def choice_constants() -> str:
    """All of them as a table."""
    lines = [
        [file, f"`{names}`", f"`{value if len(value) < _LONG else value[:_LONG] + ' …'}`", why]
        for file, names, value, why in constants()
    ]
    safe = [[cell.replace("|", "\\|") for cell in line] for line in lines]
    number = sum(names.count(",") + 1 for _, names, _, _ in constants())
    return f"{number} names.\n\n" + table(["file", "name", "value", "reason"], safe)


_LONG = 60
TABLES = (choice_constants,)
