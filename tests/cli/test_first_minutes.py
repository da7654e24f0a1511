"""What somebody sees in the first minutes: what to do next, a report, a figure without a path."""

from __future__ import annotations

import shlex
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

import winnow as wn
from reference.commands import invoke
from winnow.cli.app import NEXT
from winnow.cli.demo import next_commands
from winnow.core import drawing


def test_winnow_alone_says_what_to_do_next() -> None:
    shown = invoke([])
    assert shown.exit_code == 0
    assert all(command in shown.output for _, commands in NEXT for command, _ in commands)
    assert "Usage:" not in shown.output
    assert "Usage:" in invoke(["--help"]).output


def test_every_command_that_winnow_alone_names_works_as_it_stands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for _, commands in NEXT:
        for command, _ in commands:
            if command in ("winnow demo", "winnow COMMAND --help"):
                continue
            assert invoke(shlex.split(command)[1:]).exit_code == 0, command


def test_the_commands_at_the_end_of_the_demo_work_as_they_stand(tmp_path: Path) -> None:
    assert invoke(["demo", "--write", str(tmp_path / "tour")]).exit_code == 0
    commands = next_commands(tmp_path / "tour")
    assert len(commands) == 3
    for command in commands:
        result = invoke(shlex.split(command)[1:])
        assert result.exit_code == 0, f"{command}\n{result.output}{result.stderr}"


LOG = "visitor,page\n" + "".join(f"v{i},page{i % 3}\n" for i in range(300)) + "v0,<b>rare</b>\n"


@pytest.mark.parametrize("counted", [True, False], ids=["counts", "no counts"])
def test_a_top_list_has_a_report_without_what_is_private(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, counted: bool
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("log.csv").write_text(LOG)
    asked = "top-k log.csv --item page --person visitor --max-items 2 -k 4 --epsilon 4 --delta 1e-6"
    more = ["--with-counts"] if counted else []
    result = invoke([*asked.split(), *more, "--report", "top.html"])
    assert result.exit_code == 0, result.stderr
    page = Path("top.html").read_text()
    assert "page0" in page and "(4, 1e-06)-DP" in page and "citation" in page
    assert (">noisy count<" in page) is counted and ("<svg" in page) is counted
    assert "rare" not in page


def test_a_report_that_is_no_page_is_refused_before_anything_is_counted(tmp_path: Path) -> None:
    log = tmp_path / "log.csv"
    log.write_text(LOG)
    asked = f"top-k {log} --item page --person visitor -k 2 --epsilon 1 --delta 1e-6".split()
    assert invoke([*asked, "--report", str(tmp_path / "top.txt")]).exit_code == 2
    assert invoke([*asked, "--report", str(log)]).exit_code == 2


@pytest.fixture(scope="module")
def released() -> Any:
    frame = pd.DataFrame({"age": np.arange(600) % 45, "hours": np.arange(600) % 12})
    table = wn.read_table(frame, schema={"age": 45, "hours": 12})
    return wn.tabulate(table, [["age"], ["hours"]], values=["hours"], epsilon=1.0, seed=1)


def test_a_figure_without_a_path_is_a_file_that_opens_where_there_is_a_screen(
    released: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[str] = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    for screen in (False, True):
        monkeypatch.setattr(drawing, "has_screen", lambda screen=screen: screen)
        made = released.value.plot()
        assert made.read_bytes().startswith(b"\x89PNG")
        assert opened == ([made.as_uri()] if screen else [])


def test_a_figure_without_a_path_is_shown_in_a_notebook(
    released: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown: list[Any] = []
    pages = SimpleNamespace(display=shown.append, Image=lambda data: data)
    monkeypatch.setattr(drawing, "in_notebook", lambda: True)
    monkeypatch.setattr(drawing, "import_module", lambda name: pages)
    assert released.value.table("age").plot() is None
    assert shown[0].startswith(b"\x89PNG")


def test_a_histogram_of_many_codes_is_drawn_as_bars(released: Any) -> None:
    drawn = released.value.table("age")._picture(".svg").decode()
    assert released.value.tables[0].part.of_cells and drawn.count("<path") > 45  # one for each bar


def test_the_card_of_several_tables_has_their_notes_and_says_where_means_are(released: Any) -> None:
    markup = released._repr_html_()
    assert "sums and means" in markup and all(note in markup for note in released.value.notes)
    single = released.value.table("hours")._repr_html_()
    assert "mean hours" in single or "mean_hours" in single
