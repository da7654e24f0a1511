"""The files at the door: the map names all there is, recipes name files that exist."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from winnow import __version__

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src" / "winnow"
MAP = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
RECIPES = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
AT_THE_DOOR = (
    "ARCHITECTURE.md",
    "CONTRIBUTING.md",
    "GOVERNANCE.md",
    "SECURITY.md",
    "CITATION.cff",
)
FOLDERS = sorted(
    path.name for path in SOURCE.iterdir() if path.is_dir() and (path / "__init__.py").exists()
)
FILES = sorted(path.name for path in SOURCE.glob("[a-z]*.py"))


@pytest.mark.parametrize("name", [*FOLDERS, *FILES])
def test_the_map_names_everything(name: str) -> None:
    tables, _, _ = MAP.partition("## The way of one release")
    first = [row.split("|")[1] for row in tables.splitlines() if row.startswith("| `")]
    assert any(f"`{name}`" in cell for cell in first), f"ARCHITECTURE.md has no line for {name}"


def test_the_picture_shows_every_folder() -> None:
    drawn = (ROOT / "docs" / "architecture_figure.py").read_text(encoding="utf-8")
    shown = set(re.findall(r"\w+", drawn.partition("FILES = ")[0]))
    assert set(FOLDERS) - {"plan"} <= shown  # a folder of names alone


def test_the_map_names_no_folder_that_is_gone() -> None:
    capabilities, _, _ = MAP.partition("Files of a capability")
    named = re.findall(r"^\| ((?:`[\w.]+`(?:, )?)+) \|", capabilities, re.MULTILINE)
    for name in re.findall(r"`([\w.]+)`", " ".join(named)):
        assert (SOURCE / name).exists(), name


@pytest.mark.parametrize("text", [MAP, RECIPES], ids=["map", "recipes"])
def test_every_file_that_is_named_exists(text: str) -> None:
    paths = set(re.findall(r"`((?:\w+/)+[\w.]*)`", text))
    assert len(paths) > 10
    for path in paths - {"tests/"}:
        places = (
            ROOT,
            SOURCE,
            SOURCE / "select",
            SOURCE / "release",
            SOURCE / "read",
            SOURCE / "core",
            SOURCE / "numbers",
        )
        known = "NAME" in path or any((place / path).exists() for place in places)
        assert known or path in ("mechanisms/", "kernels/", "engines/"), path


@pytest.mark.parametrize("name", AT_THE_DOOR)
def test_the_readme_and_the_pages_link_it_and_the_source_archive_has_it(name: str) -> None:
    assert f"]({name})" in (ROOT / "README.md").read_text(encoding="utf-8")
    index = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    if name.endswith(".md"):
        assert f"\n{name.removesuffix('.md')}\n" in index
        page = (ROOT / "docs" / name).read_text(encoding="utf-8")
        assert page.startswith(f"```{{include}} ../{name}\n")
    else:
        assert name in index
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert f"/{name}" in settings["tool"]["hatch"]["build"]["targets"]["sdist"]["include"]


def test_the_citation_has_the_version() -> None:
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\nversion: {__version__}\n" in citation


def test_there_are_some_thirty_words_in_the_glossary() -> None:
    _, _, words = MAP.partition("## Glossary")
    assert len(re.findall(r"^- \*\*", words, re.MULTILINE)) >= 30
