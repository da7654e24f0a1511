"""Plans in state files: what is written is read back, and files of version 2 are gone on with."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import winnow as wn
from reference.asking import opened
from winnow.ask.written import read_plan, written

OLD = json.loads((Path(__file__).parent / "version_2.json").read_text())
"""Sessions as version 2 wrote them, seeded, and what it went on to answer."""

FRAME = pd.DataFrame([(i % 4, i % 3, (i * i) % 5) for i in range(2000)], columns=["a", "b", "c"])
ASKED = [wn.where(a=i % 4, c=i % 5) for i in range(8)] + [wn.where(a=i, b=i) for i in range(3)]
CELLS = [[i % 4, i % 3, i % 5] for i in range(30)]


def table() -> wn.SealedTable:
    return wn.read_table(FRAME, schema={"a": 4, "b": 3, "c": 5})


@pytest.mark.parametrize("name", OLD)
def test_a_session_of_version_2_is_gone_on_with_as_it_was(name: str, tmp_path: Path) -> None:
    old, path = OLD[name], tmp_path / "state"
    path.write_text("\n".join(old["state"]) + "\n")
    (tmp_path / "state.key").write_text(old["key"])
    with wn.resume(table(), path) as session:
        found = [session.ask(question) for question in ASKED]
        assert [[a.value, a.kind, a.error, a.number] for a in found] == old["answers"]
        assert session.guarantee.to_dict() == old["guarantee"]
        receipt = session.receipt
        assert (receipt.mechanism, receipt.reason) == (old["mechanism"], old["reason"])
        assert str(receipt.event) == old["event"] and receipt.event == session.plan.event
        assert session.sizes.told(session.guarantee).splitlines() == old["plan"]
    wn.resume(table(), path).close()  # what was added to it is of one kind with the rest


CASES: dict[str, dict[str, Any]] = {
    "independent": {"method": "independent"},
    "auto": {},
    "plain": {"warm_start": 0, "updates": 10},
    "lowered": {"epsilon": 8, "max_queries": 3000, "updates": 40},
    "warm, and independent at the end": {"warm_start": 0.2, "fallback": 0.25, "updates": 4},
    "printed": {"calibration": "paper"},
    "listed": {"universe": CELLS, "phi": 0.4, "threshold": 0.3},
    "sampled": {"universe": 50, "smoothness": 0.02, "threshold": 0.3, "universe_seed": 3},
    "implicit": {"memory": 8, "warm_start": 0.1},
}


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_what_is_written_of_a_plan_is_read_back(case: str, tmp_path: Path) -> None:
    options = {"epsilon": 4, "delta": 1e-6, "max_queries": 60, "seed": 3} | CASES[case]
    with opened(table(), state=tmp_path / "s", **options) as session:
        plan = session.plan
    read = read_plan(json.loads(json.dumps(written(plan))), table())
    assert read.expected == plan.expected and read.event == plan.event
    assert (read.guarantee, read.reason, read.name) == (plan.guarantee, plan.reason, plan.name)
    assert (read.explicit, read.relation) == (plan.explicit, plan.relation)
    with wn.resume(table(), tmp_path / "s") as again:
        assert again.sizes == session.sizes and again.plan.compared
