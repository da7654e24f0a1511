"""A Spark application in a process of its own whose tasks are killed: what is drawn there.

Run: python -m reference.spark_runs FOLDER. The folder gets the event log, and `said.json`: each
answer from Spark and the same from memory.
"""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

TOUCHED = 1237
"""How many people have each of the two most frequent items."""
LOG = [
    *((f"u{i}", f"canary {i % 2}") for i in range(2 * TOUCHED)),
    *((f"v{i % 60}", f"canary {2 + (i * i + i // 60) % 11}") for i in range(300)),
]
ITEMS = [f"canary {i}" for i in range(13)]
SCORES = [(f"canary {i}", 8731.25 - i % 89) for i in range(400)]
SEEN = ("sparrow", "7717")
"""A text and a number that a query of the test itself holds: Spark writes those down."""


def killing(folder: str) -> Callable[[Any], Iterator[Any]]:
    """Tasks that answer, and of which one is then killed if a file says so."""

    def spoiled(batches: Any) -> Iterator[Any]:
        import os
        import signal
        from pathlib import Path

        yield from batches
        try:
            Path(folder, "kill").unlink()
        except FileNotFoundError:
            return  # another was
        os.kill(os.getpid(), signal.SIGKILL)

    return spoiled


def killed(session: Any, folder: Path, rows: list[Any], schema: str) -> Any:
    """A frame of which one task is killed when it is read."""
    (folder / "kill").touch()
    frame = session.createDataFrame(rows, schema).repartition(2)
    return frame.mapInArrow(killing(str(folder)), schema)


def answers(session: Any, folder: Path) -> Iterator[tuple[str, Any, Any]]:
    """A name, what Spark's frame gives and what a frame in memory gives."""
    import pandas as pd

    import winnow as wn

    def top(source: Any, keep: str) -> Any:
        bound = {"max_items_per_user": 2, "items": ITEMS, "salt": "s"}
        counts = wn.counts(source, item="i", user="u", keep=keep, **bound)
        return wn.top_k(counts, k=4, epsilon=0.3, mechanism="joint", seed=3).value

    there = killed(session, folder, LOG, "u string, i string")
    yield "joint", top(there, "engine"), top(pd.DataFrame(LOG, columns=["u", "i"]), "memory")

    def chosen(source: Any) -> Any:
        scores = wn.scores(source, id="i", score="s")
        return wn.select(scores, epsilon=1.0, k=3, mechanism="exponential", seed=5).value

    there = killed(session, folder, SCORES, "i string, s double")
    yield "scores", chosen(there), chosen(pd.DataFrame(SCORES, columns=["i", "s"]))


def main(folder: Path) -> None:
    """Everything, on two cores of this machine; a task may fail seven times."""
    from pyspark.sql import SparkSession

    import winnow as wn

    warnings.simplefilter("ignore")
    (folder / "events").mkdir()
    settings = {
        "spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false",
        "spark.sql.shuffle.partitions": "2", "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1", "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": str(folder / "events"), "spark.eventLog.compress": "false",
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1",  # it runs too short for more
    }  # fmt: skip
    session = SparkSession.builder.master("local[2,8]").config(map=settings).getOrCreate()
    text, number = SEEN
    session.range(9).where(f"id = {number} OR string(id) = '{text}'").collect()
    found = list(answers(session, folder))
    left = (folder / "kill").exists()
    session.stop()
    key = wn.open_selection(epsilon=1.0, k=3, mechanism="exponential", seed=5).worker._key
    said = {"answers": found, "key": key.hex(), "left": left}
    (folder / "said.json").write_text(json.dumps(said))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
