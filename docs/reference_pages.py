"""The reference: one page for each capability, written from the code when the site is built.

Every public name lies on one page, by the module that defines it, so a new name needs no list here.
A page has the names with their first sentences, an example, the options of verbs and methods as
tables, the signatures with their docstrings, and the help of the commands.
"""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Iterator
from dataclasses import MISSING, is_dataclass
from functools import cache
from pathlib import Path
from typing import Any

from reference_contents import PAGES, Page
from table_text import table

from winnow.core.options import Method, Methods, Option, options

HERE = Path(__file__).parent
SOURCE = HERE.parent / "src" / "winnow"
STUBS = ("", "plan", "privacy", "privacy/ledger", "plots", "audit")
"""Folders whose stubs list public names; a name of two of them belongs to the first."""


@cache
def public() -> dict[str, str]:
    """Every public name, such as winnow.plan.top_k, and the module that defines it."""
    names: dict[str, str] = {}
    defined = set()
    for stub in STUBS:
        text = (SOURCE / stub / "__init__.pyi").read_text(encoding="utf-8")
        package = ".".join(["winnow", *filter(None, stub.split("/"))])
        for module, name in re.findall(r"^from ([\w.]+) import (\w+) as \2$", text, re.MULTILINE):
            if (module, name) not in defined and not name.startswith("_") and name != "plan":
                defined.add((module, name))
                names[f"{package}.{name}"] = module
    return names


def page_of(name: str, module: str) -> Page:
    """The page that a public name lies on."""
    for page in PAGES:
        if name in page.names:
            return page
    fitting = [(prefix, page) for page in PAGES for prefix in page.modules if _in(module, prefix)]
    if not fitting:
        raise LookupError(f"{name} of {module} lies on no page of docs/reference_contents.py")
    return max(fitting, key=lambda pair: len(pair[0]))[1]


def _in(module: str, prefix: str) -> bool:
    return module == prefix or module.startswith(f"{prefix}.")


def names_on(page: Page) -> list[str]:
    """What a page documents: functions first, then classes, each in the order of the stubs."""
    own = [name for name, module in public().items() if page_of(name, module) is page]
    shown = [*own, *page.more]
    return sorted(shown, key=_place)


def _place(name: str) -> tuple[bool, bool, bool]:
    """Verbs come first, then other functions, then classes."""
    what = thing(name)
    of_verb = public().get(name, "").endswith(".verb")
    return inspect.isclass(what), not callable(what), not (of_verb and _verb(name))


def _verb(name: str) -> bool:
    return name.count(".") == 1


@cache
def thing(name: str) -> Any:
    """What a dotted name means."""
    module, _, last = name.rpartition(".")
    return getattr(importlib.import_module(module), last)


def first_sentence(what: Any) -> str:
    """The first sentence of a docstring, on one line."""
    text = " ".join((inspect.getdoc(what) or "").partition("\n\n")[0].split())
    return re.split(r"(?<=[.:]) (?=[A-Z])", text)[0].replace("|", "\\|").replace("``", "`")


def summary(page: Page) -> str:
    """The names of a page with what they are."""
    lines = []
    for name in names_on(page):
        what = thing(name)
        role = "exc" if _error(what) else "class" if inspect.isclass(what) else "func"
        if not (inspect.isclass(what) or callable(what)):
            continue
        lines.append([f"{{py:{role}}}`{_short(name)} <{name}>`", first_sentence(what)])
    return table(["name", "what it does"], lines)


def _error(what: Any) -> bool:
    return inspect.isclass(what) and issubclass(what, BaseException)


def directive(name: str) -> str:
    """How Sphinx documents a name."""
    what = thing(name)
    if _error(what):
        return f".. autoexception:: {name}\n"
    if inspect.isclass(what):
        extra = "" if issubclass(what, Method) else "   :members:\n"
        return f".. autoclass:: {name}\n{extra}"
    return f".. autofunction:: {name}\n" if callable(what) else f".. autodata:: {name}\n"


def _records(page: Page) -> Iterator[tuple[str, type[Any]]]:
    """The verbs and methods of a page, with the records of their options."""
    for name in names_on(page):
        what = thing(name)
        if inspect.isclass(what):
            if issubclass(what, Method) and is_dataclass(what):
                yield f"wn.{what.__name__}", what
        elif hasattr(what, "__wrapped__") and _verb(name):
            last = list(what.__wrapped__.__annotations__)
            hints = [key for key in last if key != "return"]
            record = what.__wrapped__.__globals__.get(what.__wrapped__.__annotations__[hints[-1]])
            if is_dataclass(record):
                yield f"wn.{what.__name__}", record


def option_tables(page: Page) -> str:
    """The options of verbs and methods, read off their records."""
    parts = []
    for name, record in _records(page):
        fields = options(record)
        if not fields:
            continue
        lines = []
        for field in fields:
            default = "needed" if field.default is MISSING else f"`{_plain(field.default)}`"
            lines.append([f"`{field.name}=`", default, _help(field.option)])
        parts.append(f"### Options of {name}\n\n{table(['option', 'default', 'meaning'], lines)}")
    return "\n\n".join(parts)


def _plain(value: Any) -> str:
    return f"wn.{type(value).__name__}()" if isinstance(value, Method) else repr(value)


def _help(option: Option | Methods) -> str:
    return option.help.replace("|", "\\|").replace("<", "\\<").replace("*", "\\*")


def command_help(command: str) -> str:
    """What ``winnow COMMAND --help`` shows, 88 columns wide."""
    from typer.testing import CliRunner

    from winnow.cli.app import app

    runner = CliRunner(env={"COLUMNS": "88", "TERM": "dumb", "NO_COLOR": "1"})
    shown = runner.invoke(app, [*command.split(), "--help"], prog_name="winnow")
    if shown.exit_code:
        raise RuntimeError(f"winnow {command} --help: {shown.output}")
    return "\n".join(line.rstrip() for line in shown.output.strip("\n").splitlines())


def page_text(page: Page) -> str:
    """A page of the reference, in MyST."""
    parts = [
        f"# {page.title} (reference)",
        f"{page.about} Guide: [{page.title}](../{page.guide}.md).",
    ]
    if page.example:
        parts.append(f"```python\n{page.example.strip()}\n```")
    parts += ["## Names", summary(page), option_tables(page), "## Signatures"]
    parts.append("```{eval-rst}\n" + "\n".join(map(directive, names_on(page))) + "```")
    for command in page.commands:
        parts.append(f"## winnow {command}\n\n```text\n{command_help(command)}\n```")
    return "\n\n".join(part for part in parts if part) + "\n"


def reference_index() -> str:
    """All pages of the reference, each with the names that it documents."""
    lines = []
    for page in PAGES:
        verbs = [
            name
            for name in names_on(page)
            if callable(thing(name)) and not inspect.isclass(thing(name))
        ]
        shown = ", ".join(f"`{_short(name)}`" for name in verbs[:6])
        lines.append([f"[{page.title}](reference/{page.name}.md)", page.about, shown])
    entries = "\n".join(f"{page.title} <reference/{page.name}>" for page in PAGES)
    tree = f"```{{toctree}}\n:hidden:\n\n{entries}\n```\n"
    return f"{table(['page', 'about', 'functions'], lines)}\n{tree}"


def _short(name: str) -> str:
    return name.replace("winnow.", "wn.", 1)


def write_pages() -> None:
    """Write every page whose text has changed into docs/reference."""
    folder = HERE / "reference"
    folder.mkdir(exist_ok=True)
    for page in PAGES:
        path, text = folder / f"{page.name}.md", page_text(page)
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


TABLES = (reference_index,)
