"""What pyproject, the conda recipe and the citation say of the project is one and the same."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from winnow import __version__

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
RECIPE = (ROOT / "conda" / "meta.yaml").read_text(encoding="utf-8")
CONDA_NAMES = {"duckdb": "python-duckdb"}
"""Packages that conda-forge calls otherwise than PyPI does."""


def listed(section: str) -> set[str]:
    """The requirements of one section of the recipe, without spaces."""
    found = re.search(rf"^  {section}:\n((?:    - .*\n)+)", RECIPE, re.MULTILINE)
    assert found, section
    return {re.sub(r"\s+", "", line.partition("- ")[2]) for line in found[1].splitlines()}


def test_the_conda_recipe_needs_what_the_package_needs() -> None:
    wanted = {f"python{PROJECT['requires-python']}"}
    for needed in PROJECT["dependencies"]:
        name, bound = re.fullmatch(r"([\w-]+)(.*)", needed).groups()  # type: ignore[union-attr]
        wanted.add(f"{CONDA_NAMES.get(name, name)}{bound}")
    assert listed("run") == wanted


def test_the_conda_recipe_has_the_name_version_license_and_command() -> None:
    assert f'{{% set version = "{__version__}" %}}' in RECIPE
    assert f"\n  name: {PROJECT['name']}\n" in RECIPE
    assert f"\n  license: {PROJECT['license']}\n" in RECIPE
    for name, target in PROJECT["scripts"].items():
        assert f"- {name} = {target}\n" in RECIPE


def test_one_sentence_says_everywhere_what_it_is() -> None:
    said = PROJECT["description"].rstrip(".")
    assert f'summary: "{said}"' in RECIPE
    what = said.partition(": ")[2]
    for name in ("README.md", "docs/index.md", "CITATION.cff"):
        text = " ".join((ROOT / name).read_text(encoding="utf-8").split())
        assert what in text, name


def test_every_extra_is_on_the_page_of_platforms() -> None:
    page = (ROOT / "docs" / "platforms.md").read_text(encoding="utf-8")
    inner = {"all", "compare", "dev", "docs", "test", "wide"}
    for extra in set(PROJECT["optional-dependencies"]) - inner:
        assert f"| `{extra}` |" in page, extra
