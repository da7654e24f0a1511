"""Killed tasks of Spark, and what Spark writes down: the list of one machine, and no secret."""

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

from reference.spark_runs import SEEN, TOUCHED

pytestmark = pytest.mark.extras

Run = tuple[dict[str, Any], list[dict[str, Any]]]


@pytest.fixture(scope="module")
def run(java: None, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """What an application in a process of its own said, and the events that Spark wrote down."""
    pytest.importorskip("pyspark.sql")
    folder = tmp_path_factory.mktemp("spark")
    place = str(Path(__file__).parent.parent)
    command = [sys.executable, "-m", "reference.spark_runs", str(folder)]
    environment = {**os.environ, "PYTHONPATH": place}
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    files = sorted(path for path in (folder / "events").rglob("events*") if path.is_file())
    events = [json.loads(line) for path in files for line in path.read_text().splitlines()]
    return json.loads((folder / "said.json").read_text()), events


def test_lists_are_those_of_one_machine(run: Run) -> None:
    said, _ = run
    assert [name for name, *_ in said["answers"]] == ["joint", "scores"]
    for name, there, here in said["answers"]:
        assert there == here, name


def test_tasks_were_killed_and_run_again_meanwhile(run: Run) -> None:
    said, events = run
    assert not said["left"]
    ends = [event for event in events if event["Event"] == "SparkListenerTaskEnd"]
    failed = [end for end in ends if end["Task End Reason"]["Reason"] != "Success"]
    again = [end for end in ends if end["Task Info"]["Attempt"] and end not in failed]
    assert len(failed) >= len(said["answers"]) and len(again) >= len(said["answers"])


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


def test_the_event_log_holds_no_item_no_count_no_score_and_no_key(run: Run) -> None:
    """A number counts as found where it is no number of a column or of a step of a plan."""
    said, events = run
    written = "\n".join(text for event in events for text in texts(event))
    key = bytes.fromhex(said["key"])
    forms = [key.hex(), base64.b64encode(key).decode()[:20], repr(key)[2:-1]]

    def found(secret: str) -> bool:
        return bool(re.search(rf"(?<![\w#])(?<!plan_id=){re.escape(secret)}(?!\w)", written))

    assert all(found(seen) for seen in SEEN) and "mapinarrow" in written.lower()
    assert "canary" not in written and "8731.25" not in written
    assert not found(str(TOUCHED))
    assert not [form for form in forms if form in written]
