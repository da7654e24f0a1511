"""Spark on a small cluster that comes to harm: the lists of one machine, and no secret written.

Python workers and executors are killed, a task waits until a speculative copy has answered, and a
client of Spark Connect asks, too.
"""

from __future__ import annotations

import base64
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from reference.spark_runs import HARM, PAGES, SEEN, TOUCHED

pytestmark = pytest.mark.extras

Run = tuple[dict[str, Any], list[dict[str, Any]], list[str]]


@pytest.fixture(scope="module")
def run(java: None, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """What an application in a process of its own said; Spark's events, and the pages of its UI."""
    pytest.importorskip("pyspark.sql")
    pytest.importorskip("grpc_status")
    folder = tmp_path_factory.mktemp("spark")
    place = str(Path(__file__).parent.parent)
    command = [sys.executable, "-m", "reference.spark_runs", str(folder)]
    known = os.pathsep.join([place, *filter(None, [os.environ.get("PYTHONPATH")])])
    environment = {**os.environ, "PYTHONPATH": known}
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    files = sorted(path for path in (folder / "events").rglob("events*") if path.is_file())
    events = [json.loads(line) for path in files for line in path.read_text().splitlines()]
    pages = [path.read_text() for path in sorted((folder / "pages").iterdir())]
    return json.loads((folder / "said.json").read_text()), events, pages


def test_lists_are_those_of_one_machine(run: Run) -> None:
    said, _, _ = run
    assert len(said["answers"]) == 2 * len(HARM)
    for name, there, here in said["answers"]:
        assert there == here, name


def test_a_client_of_connect_gets_what_one_machine_gives(run: Run) -> None:
    said, _, _ = run
    assert [name for name, *_ in said["connect"]] == ["joint", "scores", "itemsets", "cells"]
    for name, there, here in said["connect"]:
        assert there == here, name


def test_tasks_and_executors_were_killed_and_copies_were_run_meanwhile(run: Run) -> None:
    said, events, _ = run
    assert not said["left"]
    ends = [event for event in events if event["Event"] == "SparkListenerTaskEnd"]
    failed = [end for end in ends if end["Task End Reason"]["Reason"] != "Success"]
    again = [end for end in ends if end["Task Info"]["Attempt"] and end not in failed]
    assert len(failed) >= len(said["answers"]) and len(again) >= len(said["answers"])
    lost = [event for event in events if event["Event"] == "SparkListenerExecutorRemoved"]
    copies = [end for end in ends if end["Task Info"]["Speculative"] and end not in failed]
    assert len(lost) >= 2 and len(copies) >= 2


def texts(value: Any) -> Iterator[str]:
    """All texts of an event but measures of tasks, which no draw changes, and times."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for each in value:
            yield from texts(each)
    elif isinstance(value, dict):
        for name, each in value.items():
            if name not in ("Accumulables", "Task Metrics", "accumUpdates"):
                yield from texts(each)


def found(secret: str, written: str) -> bool:
    """A number counts where it is no number of a column or of a step of a plan."""
    return bool(re.search(rf"(?<![\w#])(?<!plan_id=){re.escape(secret)}(?!\w)", written))


def secrets_in(written: str, key: bytes) -> list[str]:
    """Labels, a score and the key of a draw, as they may be written."""
    forms = [key.hex(), base64.b64encode(key).decode()[:20], repr(key)[2:-1]]
    return [secret for secret in ("canary", "8731.25", *forms) if secret in written]


def test_the_event_log_holds_no_item_no_count_no_score_and_no_key(run: Run) -> None:
    said, events, _ = run
    written = "\n".join(text for event in events for text in texts(event))
    assert all(found(seen, written) for seen in SEEN) and "mapinarrow" in written.lower()
    assert not secrets_in(written, bytes.fromhex(said["key"]))
    assert not found(str(TOUCHED), written)


def test_the_pages_of_the_ui_hold_no_item_no_count_no_score_and_no_key(run: Run) -> None:
    """Numbers of rows that a step of a plan read or wrote stand there, as in every application."""
    said, _, pages = run
    assert len(pages) == len(PAGES)
    (plans,) = (json.loads(page) for page, path in zip(pages, PAGES, strict=True) if "sql" in path)
    (asked,) = (page for page, path in zip(pages, PAGES, strict=True) if path == "connect/")
    written = asked + "\n".join(plan["planDescription"] + plan["description"] for plan in plans)
    assert "winnow_source" in asked and all(found(seen, written) for seen in SEEN)
    assert not found(str(TOUCHED), written)
    for page in pages:
        assert not secrets_in(page, bytes.fromhex(said["key"]))
