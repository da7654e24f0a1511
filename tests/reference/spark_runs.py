"""A Spark application on a cluster of its own, whose tasks, workers and executors come to harm.

Run: python -m reference.spark_runs FOLDER. A master and two workers are started on addresses of
this machine, and a server of Spark Connect in the driver. The folder gets the event log, the
pages of Spark's UI (`pages`), and `said.json`: each answer from Spark and the same from memory.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.request import urlopen

from reference.reading import as_options

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
HARM = ("killed", "lost", "slow")
"""A Python worker killed, an executor killed, a task that waits for a speculative copy."""
PAGES = (
    "jobs/", "stages/", "storage/", "environment/", "executors/", "SQL/", "connect/",
    "api/v1/applications/{id}/jobs", "api/v1/applications/{id}/stages?details=true",
    "api/v1/applications/{id}/sql?details=true&planDescription=true&length=500",
    "api/v1/applications/{id}/environment", "api/v1/applications/{id}/allexecutors",
    "api/v1/applications/{id}/storage/rdd",
)  # fmt: skip
_ONE_TIER = "-XX:TieredStopAtLevel=1"  # it runs too short for more


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


@contextmanager
def cluster(folder: Path) -> Iterator[str]:
    """The address of a master with two workers on different addresses, as speculation needs."""
    import pyspark

    home = Path(pyspark.__file__).parent
    kind, port, started = "org.apache.spark.deploy", str(free_port()), []
    environment = os.environ | {"SPARK_HOME": str(home), "SPARK_DAEMON_JAVA_OPTS": _ONE_TIER}
    address = f"spark://127.0.0.1:{port}"
    own = [("master.Master", "--host", "127.0.0.1", "--port", port)]
    for n in (1, 2):
        place = ("--work-dir", str(folder / f"worker{n}"), "--cores", "1", "--memory", "1g")
        own.append(("worker.Worker", "--host", f"127.0.0.{n}", *place, address))
    try:
        for name, *options in own:
            command = [str(home / "bin" / "spark-class"), f"{kind}.{name}", "--webui-port", "0"]
            with (folder / "daemons").open("ab") as said:
                started.append(
                    subprocess.Popen(
                        [*command, *options], env=environment, stdout=said, stderr=said
                    )
                )
        yield address
    finally:
        for process in reversed(started):
            process.terminate()
            process.wait()


def harming(folder: str) -> Callable[[Any], Iterator[Any]]:
    """Tasks that answer, and of which one then comes to harm if a file says so."""

    def spoiled(batches: Any) -> Iterator[Any]:
        import os
        import signal
        import time
        from pathlib import Path

        yield from batches
        for how in ("killed", "lost", "slow"):
            try:
                Path(folder, how).unlink()
            except FileNotFoundError:
                continue  # another was
            if how == "slow":
                time.sleep(120)
            pid = os.getpid()
            while how == "lost" and b"Executor" not in Path(f"/proc/{pid}/cmdline").read_bytes():
                pid = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
            os.kill(pid, signal.SIGKILL)

    return spoiled


def harmed(session: Any, folder: Path, how: str, rows: list[Any], schema: str) -> Any:
    """A frame of which one task comes to harm when it is read."""
    (folder / how).touch()
    frame = session.createDataFrame(rows, schema).repartition(4)
    return frame.mapInArrow(harming(str(folder)), schema)


def top(source: Any, keep: str) -> Any:
    """The list of a mechanism that gives the same from memory, bit for bit."""
    import winnow as wn

    bound = {"max_items": 2, "items": ITEMS, "salt": "s"}
    counts = wn.counts(source, item="i", person="u", **as_options(bound, keep=keep))
    return wn.top_k(counts, k=4, epsilon=0.3, method="joint", seed=3).value


def chosen(source: Any) -> Any:
    """Candidates by real scores."""
    import winnow as wn

    scores = wn.scores(source, id="i", score="s")
    return wn.select(scores, epsilon=1.0, k=3, method="exponential", seed=5).value


def frames() -> tuple[Any, Any]:
    """The log and the scores in memory."""
    import pandas as pd

    return pd.DataFrame(LOG, columns=["u", "i"]), pd.DataFrame(SCORES, columns=["i", "s"])


def answers(session: Any, folder: Path) -> Iterator[tuple[str, Any, Any]]:
    """A name, what Spark's frame gives and what a frame in memory gives."""
    log, scores = frames()
    for how in HARM:
        there = harmed(session, folder, how, LOG, "u string, i string")
        yield f"joint {how}", top(there, "engine"), top(log, "memory")
        there = harmed(session, folder, how, SCORES, "i string, s double")
        yield f"scores {how}", chosen(there), chosen(scores)


def through_connect(address: str) -> None:
    """What a client of Spark Connect gets, and the same from memory, on the standard output."""
    from pyspark.sql import SparkSession

    import winnow as wn

    warnings.simplefilter("ignore")
    session = SparkSession.builder.remote(address).getOrCreate()
    log, scores = frames()
    there = session.createDataFrame(LOG, "u string, i string").repartition(3)
    ranked = session.createDataFrame(SCORES, "i string, s double").repartition(3)
    found = [("joint", top(there, "engine"), top(log, "memory"))]
    found.append(("scores", chosen(ranked), chosen(scores)))

    def supports(source: Any, keep: str) -> Any:
        baskets = wn.read_baskets(
            source,
            layout=wn.Pairs(basket="u", item="i"),
            unit="basket",
            reading=wn.Reading(keep=keep),
        )
        sets = wn.itemsets(
            baskets, size=1, k=13, epsilon=1e6, delta=0.1, supports="subsets", seed=1
        ).value
        return sorted([list(items), count] for items, count in sets.supports.items())

    def cells(source: Any, keep: str) -> Any:
        table = wn.read_table(source, schema={"i": {"buckets": 8}}, reading=wn.Reading(keep=keep))
        released = wn.tabulate(table, wn.marginals(1), epsilon=1e6, seed=1).value
        return released.tables[0].to_pandas()["estimate"].round().tolist()

    for name, question in (("itemsets", supports), ("cells", cells)):
        found.append((name, question(there, "engine"), question(log, "memory")))
    sys.stdout.write(json.dumps(found) + "\n")
    session.stop()


def main(folder: Path) -> None:
    """Everything; a task may fail seven times."""
    from pyspark.sql import SparkSession

    import winnow as wn

    warnings.simplefilter("ignore")
    for name in ("events", "pages"):
        (folder / name).mkdir()
    port = free_port()
    settings = {
        "spark.ui.showConsoleProgress": "false", "spark.ui.port": "0",
        "spark.sql.shuffle.partitions": "2", "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1", "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": str(folder / "events"), "spark.eventLog.compress": "false",
        "spark.driver.extraJavaOptions": _ONE_TIER, "spark.executor.extraJavaOptions": _ONE_TIER,
        "spark.executor.memory": "512m", "spark.task.maxFailures": "8",
        "spark.speculation": "true", "spark.speculation.interval": "100ms",
        "spark.speculation.quantile": "0.5", "spark.speculation.multiplier": "1.1",
        "spark.plugins": "org.apache.spark.sql.connect.SparkConnectPlugin",
        "spark.connect.grpc.binding.port": str(port),
        "spark.connect.grpc.binding.address": "127.0.0.1",
    }  # fmt: skip
    with cluster(folder) as master:
        session = SparkSession.builder.master(master).config(map=settings).getOrCreate()
        text, number = SEEN
        session.range(9).where(f"id = {number} OR string(id) = '{text}'").collect()
        found = list(answers(session, folder))
        left = [how for how in HARM if (folder / how).exists()]
        command = [sys.executable, "-m", "reference.spark_runs", f"sc://127.0.0.1:{port}"]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(done.stderr[-3000:])
        connected = json.loads(done.stdout.splitlines()[-1])
        for place, page in enumerate(PAGES):
            asked = page.format(id=session.sparkContext.applicationId)
            with urlopen(f"{session.sparkContext.uiWebUrl}/{asked}") as answer:
                (folder / "pages" / f"{place:02}").write_bytes(answer.read())
        session.stop()
    key = wn.open_selection(epsilon=1.0, k=3, method="exponential", seed=5).worker._key
    said = {"answers": found, "connect": connected, "key": key.hex(), "left": left}
    (folder / "said.json").write_text(json.dumps(said))


if __name__ == "__main__":
    given = sys.argv[1]
    if given.startswith("sc://"):
        through_connect(given)
    else:
        main(Path(given))
