"""Two servers on neighbours: whatever is no release is the same, byte by byte."""

import re
from pathlib import Path

import pytest

from reference.inside import WrittenKey
from serve.served import Served, config_of, serving, write_data

PLANS = [
    {"kind": "select", "column": "colour", "epsilon": 0.5},
    {"kind": "select", "column": "nobody", "epsilon": 0.5},
    {"kind": "top-k", "column": "age", "k": 3, "epsilon": 0.5, "with_counts": True},
    {"kind": "tables", "by": [{"marginals": 2}], "epsilon": 0.5, "delta": 1e-7},
    {"kind": "queries", "workload": [{"ranges": "age"}], "epsilon": 0.5, "method": "tables"},
    {"kind": "itemsets", "size": 2, "epsilon": 0.5, "delta": 1e-7},
    {"kind": "top-k", "k": 3, "epsilon": 0.5, "delta": 1e-7},
    {"kind": "tables", "by": [{"table": ["colour"]}], "epsilon": 500.0},
]


def told(served: Served) -> list[str]:
    """Everything that a server says but for releases, without times and random names."""
    said = []
    for name in ("people", "log", "baskets"):
        at = f"/v1/datasets/{name}"
        said += [served.call("ann", "GET", f"{at}/{what}").text for what in ("schema", "budget")]
        for order in PLANS:
            said.append(served.call("ann", "POST", f"{at}/plans", json={"order": order}).text)
    said.append(served.call("ann", "GET", "/v1/datasets").text)
    said.append(served.call("olga", "GET", "/v1/datasets/people/spending").text)
    job = served.released("ann", "people", "one", kind="select", column="colour", epsilon=0.5)
    said += [job["state"], job.get("problem", ""), str(round(job["due"] - job["accepted"], 3))]
    said.append(served.call("ann", "GET", "/v1/datasets/people/budget").text)
    return [re.sub(r"20\d\d-[^\"]+|#?\d+:[0-9a-f]{64}", "", each) for each in said]


def test_neighbours_differ_in_releases_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(WrittenKey, "fresh", classmethod(lambda cls: cls(b"k" * 64)))
    heard = []
    for number, (row, event, basket) in enumerate(
        [("red,3,x", "p3,item1", "b0,b1"), ("blue,9,y", "p3,rare", "b4,unheard")]
    ):
        folder = tmp_path / str(number)
        write_data(folder)
        for file, line in (("people.csv", row), ("log.csv", event), ("baskets.csv", basket)):
            with (folder / file).open("a") as content:
                content.write(line + "\n")
        with serving(config_of(folder)) as served:
            heard.append(told(served))
    assert heard[0] == heard[1]
