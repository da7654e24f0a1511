"""The import rules of pyproject.toml hold, and each of them catches what breaks it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
RULES = {
    rule["id"]: rule
    for rule in tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"][
        "contracts"
    ]
}
CAPABILITIES = sorted(
    f"winnow.{path.parent.name}" for path in (ROOT / "src/winnow").glob("*/verb.py")
)

BROKEN = [
    ("foundations", "winnow.core.tape", "winnow.privacy.events"),
    ("foundations", "winnow.privacy.grant", "winnow.read.counts"),
    ("foundations", "winnow.errors", "winnow.core.relation"),
    ("capabilities", "winnow.select.verb", "winnow.inner_product.verb"),
    ("capabilities", "winnow.select.table", "winnow.release.rounds.settings"),
    ("capabilities", "winnow.learn.verb", "winnow.itemsets.verb"),
    ("capabilities", "winnow.read.baskets", "winnow.itemsets.kernels.mine"),
    ("capabilities", "winnow.lp.verb", "winnow.cli.printing"),
    ("files", "winnow.select.crossing.private_labels", "winnow.select.mechanisms.joint"),
    ("files", "winnow.select.mechanisms.joint", "winnow.select.table"),
    ("files", "winnow.select.table", "winnow.select.plan.verb"),
    ("files", "winnow.release.tables.settings", "winnow.release.tables.plan"),
    ("files", "winnow.release.plan", "winnow.release.verb"),
    ("files", "winnow.lp.kernels.owned_rows", "winnow.lp.crossing.rows"),
    ("release", "winnow.release.methods", "winnow.release.choice"),
    ("release", "winnow.release.rounds.mwem_plan", "winnow.release.graphical.rules"),
    ("release", "winnow.release.tables.mechanism", "winnow.release.value"),
    ("numba", "winnow.learn.bound", "numba"),
    ("numba", "winnow.core.noise", "llvmlite"),
    ("running", "winnow.select.table", "winnow.core.run"),
    ("running", "winnow.lp.mechanisms.scalar", "winnow.core.run"),
    ("running", "winnow.cli.printing", "winnow.core.run"),
]
"""A rule, who breaks it, and what they import."""


def lint(source: Path) -> subprocess.CompletedProcess[str]:
    command = Path(sys.executable).with_name("lint-imports")
    return subprocess.run(
        [str(command), "--no-cache", "--no-logo", "--config", str(ROOT / "pyproject.toml")],
        cwd=source,
        env=os.environ | {"PYTHONPATH": str(source), "COLUMNS": "1000"},
        capture_output=True,
        text=True,
    )


def test_the_rules_hold() -> None:
    done = lint(ROOT / "src")
    assert done.returncode == 0, done.stdout


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What the linter says of a copy in which every rule is broken, for each rule."""
    source = tmp_path_factory.mktemp("broken")
    shutil.copytree(
        ROOT / "src/winnow", source / "winnow", ignore=shutil.ignore_patterns("__pycache__")
    )
    for _, importer, imported in BROKEN:
        path = source / importer.replace(".", "/")
        path = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
        assert path.exists(), importer
        with path.open("a") as file:  # inside a function: hidden imports count
            file.write(f"\n\ndef _broken() -> None:\n    import {imported}\n")
    done = lint(source)
    assert done.returncode == 1, done.stdout + done.stderr
    _, _, broken = done.stdout.partition("Broken contracts")
    sections = {}
    for name in [rule["name"] for rule in RULES.values()]:
        _, _, rest = broken.partition(f"{name}\n---")
        ends = [rest.find(f"\n{rule['name']}\n---") for rule in RULES.values()]
        sections[name] = rest[: min([end for end in ends if end >= 0], default=len(rest))]
    return sections


@pytest.mark.parametrize(("rule", "importer", "imported"), BROKEN)
def test_a_broken_rule_is_named_with_what_breaks_it(
    report: dict[str, str], rule: str, importer: str, imported: str
) -> None:
    assert f"{importer} -> {imported} " in report[RULES[rule]["name"]]


def test_every_rule_has_something_that_breaks_it() -> None:
    assert {rule for rule, _, _ in BROKEN} == set(RULES)


def test_every_capability_is_under_the_rules() -> None:
    layers = " ".join(RULES["capabilities"]["layers"])
    assert [name for name in CAPABILITIES if name not in layers] == []
    rooms = [name for name in RULES["files"]["containers"] if name.count(".") == 1]
    assert sorted(rooms) == CAPABILITIES


def test_only_commands_and_audits_look_at_other_capabilities() -> None:
    excepted = {line.split(" -> ")[0] for line in RULES["capabilities"]["ignore_imports"]}
    drawn = {  # they draw themselves
        "winnow.release.tables.result", "winnow.release.synthetic", "winnow.select.lists",
        "winnow.numbers.histogram.result", "winnow.describe.result",
    }  # fmt: skip
    assert excepted == drawn | {
        f"winnow.**.{name}{rest}" for name in ("cli", "audit") for rest in ("", ".*")
    }
    running = {line.split(" -> ")[0] for line in RULES["running"]["ignore_imports"]}
    assert running == {
        "winnow.core.plan",
        "winnow.select.verb",
        "winnow.ask.opening",
        "winnow.serve.jobs",
        "winnow.**.audit",
        "winnow.**.audit.*",
        "winnow.experiments.*",
    }
