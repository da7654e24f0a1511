"""The examples of the README and of all pages are run, page by page, and their results compared.

- A ``python`` block is run in the namespace of its page. A line that ends with
  ``# -> text`` must be an expression whose str or repr is that text.
- A ``console`` block: every line ``$ winnow ...`` is run and must exit with 0, or with the
  code that the line names at its end, as in ``# exit code 3``.
- ``python no-run`` and ``console no-run`` blocks are skipped.

The working directory is a temporary one, shared by the blocks of a page.
"""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from reference.commands import invoke
from winnow.privacy import rows

ROOT = Path(__file__).parents[2]
PAGES = [
    ROOT / "README.md",
    *sorted((ROOT / "docs").glob("*.md")),
    *sorted((ROOT / "docs").glob("evidence/*.md")),
]
BLOCK = re.compile(r"^```(python|console)( no-run)?\n(.*?)^```$", re.DOTALL | re.MULTILINE)
EXPECTED = re.compile(r"^(?P<expression>\S.*?)\s+# -> (?P<text>.*)$", re.MULTILINE)
EXIT_CODE = re.compile(r"\s+# exit code (\d+)$")


def compared(value: Any, expected: str) -> None:
    assert expected in (str(value), repr(value)), f"{value!r} is not {expected}"


def run_python(code: str, filename: str, line: int, namespace: dict[str, Any]) -> None:
    tested = EXPECTED.sub(lambda m: f"compared({m['expression']}, {m['text']!r})", code)
    program = compile("\n" * (line - 1) + tested, filename, "exec", dont_inherit=True)
    exec(program, namespace)


def run_console(text: str, where: str) -> None:
    for line in re.sub(r"\\\n\s*", "", text).splitlines():
        if not line.startswith("$ winnow"):
            continue
        code = EXIT_CODE.search(line)
        words = shlex.split(EXIT_CODE.sub("", line))[2:]
        result = invoke(words)
        wanted = int(code[1]) if code else 0
        assert result.exit_code == wanted, f"{where}: {line}\n{result.output}{result.stderr}"


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES, ids=lambda page: f"{page.parent.name}-{page.name}")
def test_examples_of_the_page_run(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    text = page.read_text()
    namespace: dict[str, Any] = {"__name__": "__main__", "compared": compared}
    for block in BLOCK.finditer(text):
        kind, skipped, code = block.groups()
        line = text.count("\n", 0, block.start(3)) + 1
        if skipped:
            continue
        if kind == "python":
            run_python(code, str(page), line, namespace)
        else:
            run_console(code, f"{page.name}:{line}")


def test_a_wrong_result_is_noticed() -> None:
    with pytest.raises(AssertionError):
        run_python("1 + 1  # -> 3\n", "page", 1, {"compared": compared})


def test_every_citation_of_the_guarantee_table_is_in_the_references() -> None:
    references = (ROOT / "docs" / "references.md").read_text().splitlines()
    key = re.compile(r"[A-Z][A-Za-z]+(?:-[A-Z][A-Za-z]+)* (?:19|20)\d\d|Canonical|LMM|Joint")
    cited = {found for row in rows() for found in key.findall(row.citation)}
    assert not sorted(cited.difference(references))


def test_every_code_block_has_a_known_kind() -> None:
    """A block with a misspelt kind would be skipped silently."""
    known = re.compile(r"(python|console)( no-run)?|text|json|make|\{[a-z-]+\}.*")
    for page in PAGES:
        opening = True
        for line in page.read_text().splitlines():
            if line.startswith("```"):
                if opening:
                    assert known.fullmatch(line[3:]), f"{page.name}: {line}"
                opening = not opening
