"""What a bound left out: people are counted alike in every engine, charged, and told in words."""

from __future__ import annotations

import json
from collections import Counter
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pytest

import winnow as wn
from contracts.test_engines import TEXTS, WHOLE, Put, put  # noqa: F401  # a fixture
from reference.inside import open_sealed
from winnow.core.cut import CutAway, laplace_margin
from winnow.privacy import pure_cost
from winnow.select.crossing.private_labels import people_now

COLUMNS = {"who": "text", "what it": "text"}


def numbers(bounded: Any) -> dict[int, int]:
    return dict(open_sealed(people_now(bounded.people)))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("bound", [1, 2])
def test_people_with_so_many_rows_are_those_of_plain_python(
    put: Put, bound: int  # noqa: F811
) -> None:  # fmt: skip
    table = wn.read_table(
        put(TEXTS, COLUMNS),
        schema={"what it": {"values": ["item 1"], "other": True}},
        person="who",
        max_rows=bound,
    )
    rows = Counter(who for who, _ in TEXTS if who is not None)
    assert numbers(table.people) == Counter(min(n, 10 * bound) for n in rows.values())


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("listed", [None, [f"item {i}" for i in range(9)]])
def test_people_with_so_many_items_are_those_of_plain_python(
    put: Put, listed: list[str] | None  # noqa: F811
) -> None:  # fmt: skip
    source = put(TEXTS, COLUMNS)
    counts = wn.counts(source, item="what it", person="who", max_items=1, items=listed)
    pairs = {(who, item) for who, item in TEXTS if None not in (who, item)}
    owned = Counter(who for who, item in pairs if listed is None or item in listed)
    assert numbers(counts.people) == Counter(min(n, 10) for n in owned.values())


@pytest.mark.filterwarnings("ignore")
def test_people_that_are_whole_numbers_are_told_apart(put: Put) -> None:  # noqa: F811
    source = put(WHOLE, {"who": "whole", "what it": "whole"})
    counts = wn.counts(
        source, item="what it", person="who", max_items=3, reading=wn.Reading(keep="engine")
    )
    owned = Counter(who for who, _ in {each for each in WHOLE if None not in each})
    assert numbers(counts.people) == Counter(min(n, 30) for n in owned.values())


def visits() -> pd.DataFrame:
    """400 people with 5 visits each and 100 with 40, of which 10 are counted."""
    each = [5] * 400 + [40] * 100
    who = np.repeat(np.arange(500), each)
    return pd.DataFrame({"who": who, "ward": np.arange(len(who)) % 4})


def read(source: Any = None, **options: Any) -> wn.SealedTable:
    given = visits() if source is None else source
    how = {"person": "who", "max_rows": 10, "relation": "add-remove"} | options
    return wn.read_table(given, schema={"ward": 4}, **how)


def test_the_estimate_is_that_of_the_people_who_were_cut() -> None:
    """With probability 1 - 1e-9 noise of these scales stays within 21 scales."""
    found = wn.tabulate(read(), ["ward"], epsilon=400, with_cut=0.5, seed=1)
    assert found.cut is not None
    assert abs(found.cut.whole - 400) <= 1 and abs(found.cut.cut - 100) <= 1
    assert abs(found.cut.left_out - 3000) <= 21 * 0.9
    assert found.cut.looked_at == 100 and found.cut.bound == 10
    counts = wn.counts(visits(), item="ward", person="who", max_items=2)
    for run in (
        lambda **to: wn.top_k(counts, k=2, delta=1e-6, **to),
        lambda **to: wn.tabulate(counts, delta=1e-6, **to),
        lambda **to: wn.Session(epsilon=400, delta=1e-6).top_k(counts, k=2, delta=1e-6, **to),
    ):
        found = run(epsilon=400, with_cut=0.5)
        assert found.cut is not None and abs(found.cut.cut - 500) <= 1
        assert abs(found.cut.left_out - 1000) <= 21 * 0.18
    session = wn.Session(read(max_rows=1), epsilon=400)
    assert session.top_k("ward", k=1, epsilon=400, with_cut=0.5).cut.cut >= 499


@pytest.mark.parametrize("delta", [0.0, 1e-6])
@pytest.mark.parametrize("relation", ["add-remove", "substitution"])
def test_the_estimate_is_a_part_of_what_was_asked_for_and_is_charged(
    delta: float, relation: str
) -> None:
    table = read().under(relation)
    budget = wn.Budget(epsilon=2, delta=1e-5, relation=relation)
    found = wn.tabulate(
        table, ["ward"], epsilon=1, delta=delta, with_cut=0.25, budget=budget, seed=1
    )
    assert found.guarantee.epsilon <= 1 and found.guarantee.delta <= delta
    assert pure_cost(found.receipt.event.events[1]).epsilon == Fraction(1, 4)
    assert "cut-away" in found.receipt.mechanism
    assert found.guarantee.unit.name == "who"
    assert budget.spent.amount > 0
    other = wn.Budget(epsilon=2, delta=1e-5, relation=relation)
    rest = Fraction(3, 4)
    alone = wn.tabulate(table, ["ward"], epsilon=rest, delta=delta, budget=other, seed=1)
    assert 0 < other.spent.amount < budget.spent.amount
    assert found.receipt.event.events[0] == alone.receipt.event


def test_a_source_that_is_gone_costs_nothing() -> None:
    connection = duckdb.connect()
    connection.register("frame", visits())
    connection.execute("CREATE TABLE visits AS SELECT * FROM frame")
    table = read((connection, "visits"))
    connection.execute("DROP TABLE visits")
    budget = wn.Budget(epsilon=1, relation="add-remove")
    with pytest.raises(wn.WinnowError, match="the source cannot be counted"):
        wn.tabulate(table, ["ward"], epsilon=1, with_cut=0.1, budget=budget)
    assert budget.spent.amount == 0
    assert wn.tabulate(table, ["ward"], epsilon=1, budget=budget).cut is None


def test_an_estimate_of_no_bound_is_refused_in_words_that_say_what_to_do() -> None:
    table = wn.read_table(visits(), schema={"ward": 4})
    with pytest.raises(wn.ParameterError, match="max_rows="):
        wn.tabulate(table, ["ward"], epsilon=1, with_cut=0.1)
    counts = wn.counts(visits(), item="ward", person="who", items=[0, 1, 2, 3])
    with pytest.raises(wn.ParameterError, match="max_items="):
        wn.top_k(counts, k=1, epsilon=1, with_cut=0.1)
    for wrong in (1, -0.1, 1.5):
        with pytest.raises(wn.ParameterError, match="give a number at least 0 and below 1"):
            wn.tabulate(read(), ["ward"], epsilon=1, with_cut=wrong)
    with pytest.raises(wn.ParameterError, match="64 bits"):
        wn.tabulate(read(), ["ward"], epsilon=1, with_cut=1e-15)


def test_words_give_an_error_where_a_number_is_above_the_noise_and_a_limit_elsewhere() -> None:
    told = CutAway("who", "row", 10, 100, 390, 100, 3000, 20, 900)
    assert str(told) == (
        "about 100 (± 20) of about 490 people (who) had more than 10 rows; of their rows, about "
        "3,000 (± 900) were left out (at most 100 of each person were looked at)"
    )
    near = CutAway("who", "row", 1, 10, -3, 2, -40, 20, 900)
    assert str(near) == (
        "at most about 22 people (who) had more than 1 row; of their rows, at most "
        "about 900 were left out (at most 10 of each person were looked at)"
    )
    all_cut = CutAway("who", "row", 1, 10, -1, 997, 5000, 20, 900)
    assert "about 997 (± 20) of about 997 people" in str(all_cut)
    document = json.loads(json.dumps(told.to_dict()))
    assert document["says"] == str(told) and CutAway.from_dict(document) == told


@pytest.mark.parametrize("scale", [Fraction(1, 3), Fraction(7), Fraction(400)])
def test_a_margin_is_the_least_that_holds(scale: Fraction) -> None:
    margin = laplace_margin(scale)
    z = np.arange(-40_000, 40_001)
    mass = np.exp(-np.abs(z) / float(scale))
    inside = [mass[np.abs(z) <= m].sum() / mass.sum() for m in (margin, margin - 1)]
    assert inside[0] >= 0.95 > inside[1] or margin == 0


COUNTED = "at most 10 rows of each who"
ABOUT = f"{COUNTED}; errors and intervals are about what was counted"


def command(path: Path, *words: object) -> Any:
    from typer.testing import CliRunner

    from winnow.cli.app import app

    frame, schema = path / "visits.csv", path / "schema.json"
    visits().to_csv(frame, index=False)
    schema.write_text(json.dumps({"ward": 4}))
    asked = ["tabulate", frame, "--schema", schema, "--by", "ward", "--epsilon", 1,
             "--person", "who", "--max-rows", 10, *words]  # fmt: skip
    return CliRunner().invoke(app, [str(word) for word in asked])


def test_every_output_of_a_table_says_what_was_counted_and_left_out(tmp_path: Path) -> None:
    files = {ending: tmp_path / f"out.{ending}" for ending in ("csv", "json", "parquet", "html")}
    for ending, path in files.items():
        option = "--report" if ending == "html" else "--out"
        assert command(tmp_path, option, path, "--with-cut", 0.2).exit_code == 0
    shown = " ".join(command(tmp_path, "--with-cut", 0.2).stdout.replace("│", " ").split())
    assert ABOUT in shown and "people (who) had more than 10 rows" in shown
    printed = json.loads(command(tmp_path, "--json", "--with-cut", 0.2).stdout)
    assert printed["receipt"]["counted"] == COUNTED
    assert "had more than 10 rows" in printed["cut"]["says"]
    saved = json.loads(files["json"].read_text())["about"]
    assert saved["receipt"]["counted"] == COUNTED and saved["cut"]["bound"] == 10
    for frame in (pd.read_csv(files["csv"]), pd.read_parquet(files["parquet"])):
        assert set(frame["counted"]) == {COUNTED}
    page = files["html"].read_text()
    assert f"Counted: {ABOUT}." in page and "Left out: " in page
    assert "95 % confidence intervals (noise only)" in page
    assert "true" not in page.split("<body", 1)[1]


def test_notebooks_and_plain_text_say_it_beside_the_numbers() -> None:
    released = wn.tabulate(read(), ["ward"], epsilon=1, with_cut=0.2, seed=1)
    card = released._repr_html_()
    before, receipt = card.split("<details", 1)
    assert ABOUT in before and "had more than 10 rows" in before
    assert ABOUT in receipt and ABOUT in str(released)
    one = wn.tabulate(wn.read_table(visits(), schema={"ward": 4}), ["ward"], epsilon=1, seed=1)
    assert "counted" not in str(one) and "counted" not in one._repr_html_()
    assert "counted" not in one.receipt.to_dict()


def test_a_top_k_says_which_items_were_counted(tmp_path: Path) -> None:
    counts = wn.counts(visits(), item="ward", person="who", max_items=2)
    released = wn.top_k(counts, k=2, epsilon=1, delta=1e-6, with_counts=True)
    assert released.receipt.counted == "at most 2 wards of each who"
    baskets = wn.read_baskets([["a", "b", "c"]] * 50, unit="basket", max_items=2, items=["a", "b"])
    found = wn.itemsets(baskets, size=1, epsilon=1, delta=1e-6)
    assert found.receipt.counted == "at most 2 items of each basket"


def test_an_estimate_without_a_bound_is_refused_by_the_commands(tmp_path: Path) -> None:
    from typer.testing import CliRunner

    from winnow.cli.app import app

    log = tmp_path / "log.csv"
    visits().to_csv(log, index=False)
    asked = ["top-k", str(log), "--item", "ward", "--person", "who", "-k", "1", "--epsilon", "1"]
    refused = CliRunner().invoke(app, [*asked, "--delta", "1e-6", "--with-cut", "0.1"])
    assert refused.exit_code == 2 and "--max-items" in refused.stderr
    shown = CliRunner().invoke(
        app, [*asked, "--delta", "1e-6", "--max-items", "2", "--with-cut", "0.1"]
    )
    assert shown.exit_code == 0 and "left out" in shown.stdout
    wrong = command(tmp_path, "--with-cut", 2)
    assert wrong.exit_code == 2 and "not below 1" in wrong.stderr


def test_a_value_says_what_was_counted_wherever_it_is_shown_without_its_receipt(
    tmp_path: Path,
) -> None:
    told = "at most 2 rows of each who"
    table = read(max_rows=2)
    assert f"counted: {told}" in str(wn.plan.tabulate(table, ["ward"], epsilon=1))
    released = wn.tabulate(table, ["ward"], epsilon=1, seed=1)
    for value in (released.value, released.value.tables[0], released.map(lambda it: it).value):
        assert value.counted == told and told in value._repr_html_()
        assert told in value.plot(tmp_path / "v.svg").read_text().replace("\n", " ")
    assert released._repr_html_().count(told) == 2  # beside the numbers, and in the receipt
    assert "_counted" not in released.to_json()
