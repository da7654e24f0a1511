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
        "rounds/mwem", "rounds/mwem_plan", "rounds/by_rows", "rounds/warm_start",
        "rounds/settings", "tables/choice", "tables/moved", "tables/split", "tables/strategy",
        "tables/trees", "tables/on_trees", "tables/matrices", "matrices/linear",
    ),
    "select": (
        "methods", "choice", "looking", "label_choice", "label_recall", "table", "predicted",
        "generated_logs", "by_group", "auto_bound", "compared_bounds",
    ),
    "itemsets": ("table", "mechanisms/chosen", "mechanisms/support", "mechanisms/weighted"),
    "ask": ("warm_start", "sizing", "compared"),
    "learn": ("settings", "additive", "weights"),
}  # fmt: skip
"""The files that decide, in each capability."""
Row = tuple[str, str, str, str]

LIMITS = {
    "release/choice": "_LONG", "release/answered": "_BYTES_PER_CELL",
    "release/graphical/rules": "PLAIN_WORSE MODEL_CELLS MOST_MODEL_CELLS MOST_CANDIDATES",
    "release/graphical/candidates": "_BYTES_PER_CELL _BYTES_PER_MODEL_CELL",
    "release/graphical/whole_workload": "MOST_WEIGHED MOST_TABLES MOST_CELLS",
    "release/graphical/at_once": "_ROUNDS _TAKEN", "release/rounds/mwem": "MOST_ROUNDS",
    "release/tables/choice": "MOST_PURE",
    "release/tables/split": "_MOST_TABLES _MOST_CELLS _MOST_JOINED",
    "release/tables/trees": "MOST_LEVELS", "release/tables/matrices": "_FEWEST_BITS _ROOM",
    "release/matrices/linear": "MOST_EXPLICIT PLANNED_EXPLICIT MOST_FITTED _MOST_FITTED_ENTRIES "
                               "_MOST_ENTRIES _MOST_RANGES",
    "select/label_choice": "_LEAST_RHO", "itemsets/table": "_LONGEST_SET",
    "itemsets/mechanisms/weighted": "MOST_ITEMSETS", "ask/warm_start": "_MOST_WORK",
    "ask/sizing": "MOST_UPDATES", "learn/settings": "MOST_ROUNDS",
}  # fmt: skip
"""What bounds work and memory: with faster machines it would be larger."""
STEPS = {
    "release/choice": "_ROUNDING", "release/terms": "LARGE", "release/graphical/at_once": "_L1",
    "release/rounds/prediction": "REGRET", "release/rounds/warm_start": "_SMALLEST",
    "release/rounds/mwem": "_LARGEST_STEP",
    "release/tables/choice": "_GRID _REWEIGHTED _STEP _SAMPLED _SMALLEST_GAIN _NEARLY _LEAST_SCALE",
    "release/tables/moved": "REACHES", "release/tables/split": "_ROUNDS _LEAST",
    "select/choice": "_SAME", "select/looking": "_LARGEST", "select/label_recall": "_STEPS",
    "select/predicted": "_LEVELS _PLACES _STEPS _OFFSETS _FAR LAWS", "select/by_group": "_STEPS",
    "itemsets/mechanisms/chosen": "LENGTHS", "itemsets/mechanisms/weighted": "MOST_SHARES",
    "ask/warm_start": "PAIRS SINGLE", "learn/settings": "_GUMBEL",
    "learn/additive": "_STEP _WHOLE",
}  # fmt: skip
"""How finely formulas are evaluated and numbers rounded, and constants of mathematics."""
LIBRARIES = {
    "release/terms": "ASSUMED_ROWS",
    "release/rounds/by_rows": "STARTS",
    "select/choice": "_SIZES USUAL_ITEMS",
    "learn/settings": "ASSUMED",
    "select/generated_logs": "_PEOPLE _ACTIVITY _POWERS _AUDIENCES _LABELS _GROUPS",
}
"""The public libraries of data, and sizes that are assumed where nobody knows them."""
KINDS = (
    ("Numbers that decide", None),
    ("Public libraries and assumed sizes", LIBRARIES),
    ("Limits of work and memory", LIMITS),
    ("Steps and rounding", STEPS),
)


def constants() -> Iterator[Row]:
    """Capability and file, name, value and reason of every number that has a name."""
    for folder, files in FILES.items():
        for file in files:
            yield from _of(folder, file)


def _of(folder: str, file: str) -> Iterator[Row]:
    body = ast.parse((SOURCE / folder / f"{file}.py").read_text()).body
    for place, node in enumerate(body):
        if not isinstance(node, ast.Assign | ast.AnnAssign) or node.value is None:
            continue
        target = node.targets[0] if isinstance(node, ast.Assign) else node.target
        names = [
            each.id
            for each in (target.elts if isinstance(target, ast.Tuple) else [target])
            if isinstance(each, ast.Name) and each.id.lstrip("_").isupper()
        ]
        if names and _numbers(node.value):
            after = body[place + 1] if place + 1 < len(body) else None
            yield f"{folder}/{file}", ", ".join(names), ast.unparse(node.value), _said(after)


def kind_of(row: Row) -> str:
    """What the numbers of a row are for."""
    file, names, _, _ = row
    for title, held in KINDS:
        if held is not None and set(names.split(", ")) <= set(held.get(file, "").split()):
            return title
    return KINDS[0][0]


def stale() -> set[str]:
    """Names of a kind that no file has."""
    there = {f"{file} {name}" for file, names, _, _ in constants() for name in names.split(", ")}
    told = {
        f"{file} {name}"
        for _, held in KINDS
        for file, names in (held or {}).items()
        for name in names.split()
    }
    return told - there


def _numbers(value: ast.expr) -> bool:
    return any(
        isinstance(each, ast.Constant) and type(each.value) in (int, float)
        for each in ast.walk(value)
    )


def _said(node: ast.stmt | None) -> str:
    """The text after a constant, in one line."""
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        return " ".join(str(node.value.value).split())
    return ""


def choice_constants() -> str:
    """All of them as tables: what decides first."""
    rows = list(constants())
    parts = []
    for title, _ in KINDS:
        held = [row for row in rows if kind_of(row) == title]
        lines = [
            [file, f"`{names}`", f"`{value if len(value) < _LONG else value[:_LONG] + ' …'}`", why]
            for file, names, value, why in held
        ]
        safe = [[cell.replace("|", "\\|") for cell in line] for line in lines]
        number = how_many(held)
        heads = ["file", "name", "value", "reason"]
        parts.append(f"**{title}: {number}.**\n\n{table(heads, safe)}")
    return "\n\n".join(parts)


def how_many(rows: list[Row]) -> int:
    """Names in these rows."""
    return sum(names.count(",") + 1 for _, names, _, _ in rows)


_LONG = 60
TABLES = (choice_constants,)
