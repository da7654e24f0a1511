"""The privacy unit: asked for by commands, named by guarantees, and never a person by mistake."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pytest

import winnow as wn
from reference.commands import invoke
from winnow import Relation
from winnow.core.unit import PERSON, ROW, Unit, at_most
from winnow.errors import ParameterError

LOG = pd.DataFrame({"visitor": list("aabbcd"), "page": list("xyxyxx")})


def test_the_sentences_name_the_unit() -> None:
    add, replace = Relation.ADD_REMOVE, Relation.SUBSTITUTION
    assert PERSON.sentence(add) == "protects each person (add or remove one)"
    assert PERSON.sentence(replace) == "protects each person (replace one record)"
    assert ROW.sentence(add) == "protects each row (add or remove one)"
    assert ROW.sentence(replace) == "protects each row (replace one)"
    visitor = at_most("visitor", (8, "page"))
    assert (
        visitor.sentence(add)
        == "protects each visitor (add or remove one); at most 8 pages of each are counted"
    )
    assert (
        visitor.sentence(replace)
        == "protects each visitor (replace all data of one); at most 8 pages of each are counted"
    )
    assert at_most("visitor", (1, "page")) == Unit("visitor", "with at most 1 page")
    assert at_most("visitor", (None, "page")) == Unit("visitor")


def test_a_row_is_a_person_only_where_that_was_said() -> None:
    counted = wn.counts(LOG, item="page", items=["x", "y"])
    released = wn.top_k(counted, k=1, epsilon=1.0, seed=1)
    assert str(released.guarantee) == "1-DP, protects each row (add or remove one)"
    counted = wn.counts(LOG, item="page", person="visitor", max_items=2, items=["x", "y"])
    released = wn.top_k(counted, k=1, epsilon=1.0, seed=1)
    assert (
        str(released.guarantee)
        == "1-DP, protects each visitor (add or remove one); at most 2 pages of each are counted"
    )
    assert released.to_dict()["guarantee"]["unit"] == "visitor with at most 2 pages"


def test_tables_and_baskets_name_their_unit() -> None:
    schema = {"page": {"values": ["x", "y"]}}
    rows = wn.read_table(LOG, schema=schema, unit="row")
    assert "protects each row (replace one)" in str(
        wn.tabulate(rows, ["page"], epsilon=1.0).guarantee
    )
    people = wn.read_table(LOG, schema=schema, person="visitor", max_rows=2)
    said = str(wn.tabulate(people, ["page"], epsilon=1.0).guarantee)
    assert said.endswith(
        "protects each visitor (replace all data of one); at most 2 rows of each are counted"
    )
    baskets = wn.read_baskets([["x", "y"], ["x"]], unit="basket", items=["x", "y"])
    found = wn.itemsets(baskets, size=1, epsilon=1.0)
    assert str(found.guarantee).endswith("protects each basket (add or remove one)")
    pages = wn.read_baskets(
        LOG,
        layout=wn.Pairs(basket="visitor", item="page"),
        person="visitor",
        max_baskets=1,
        items=["x", "y"],
    )
    found = wn.itemsets(pages, size=1, epsilon=1.0)
    assert str(found.guarantee).endswith("; at most 1 basket of each is counted")


@pytest.mark.parametrize("name", ["row", "basket"])
def test_a_column_of_people_is_not_taken_for_another_unit(name: str) -> None:
    """By its name alone a budget about rows would pay for people with many of them."""
    log = LOG.rename(columns={"visitor": name})
    schema = {"page": {"values": ["x", "y"]}}
    for read in (
        lambda: wn.counts(log, item="page", person=name, max_items=2),
        lambda: wn.counts(log, item="page", person=name),
        lambda: wn.read_table(log, schema=schema, person=name, max_rows=2),
        lambda: wn.read_baskets(
            log, layout=wn.Pairs(basket=name, item="page"), person=name, max_baskets=1
        ),
    ):
        with pytest.raises(ParameterError, match="rename it"):
            read()


@pytest.mark.parametrize("reader", [wn.counts, wn.read_table])
def test_two_units_or_an_unknown_one_are_refused(reader: Any) -> None:
    how: dict[str, Any] = (
        {"item": "page"} if reader is wn.counts else {"schema": {"page": {"values": ["x", "y"]}}}
    )
    with pytest.raises(ParameterError, match="contradict"):
        reader(LOG, **how, person="visitor", unit="row")
    with pytest.raises(ParameterError, match="unit='visit' is unknown"):
        reader(LOG, **how, unit="visit")


@pytest.mark.parametrize(
    "words",
    [
        ["top-k", "log.csv", "--item", "page", "-k", "1", "--epsilon", "1", "--delta", "1e-6"],
        ["release", "log.csv", "--schema", "s.json", "--workload", "marginals:1", "--epsilon", "1"],
        ["tabulate", "log.csv", "--schema", "s.json", "--by", "page", "--epsilon", "1"],
        ["ask", "log.csv", "--schema", "s.json", "--epsilon", "1", "--delta", "1e-6"],
        ["learn", "log.csv", "--schema", "s.json", "--target", "page", "--method", "stumps",
         "--epsilon", "1"],
        ["itemsets", "log.csv", "--size", "1", "--epsilon", "1", "--delta", "1e-6"],
    ],
    ids=lambda words: words[0],
)  # fmt: skip
def test_a_command_stops_until_the_unit_is_said(
    words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    LOG.to_csv("log.csv", index=False)
    Path("s.json").write_text('{"page": {"values": ["x", "y"]}}')
    result = invoke(words)
    assert result.exit_code == 2 and "whose privacy is protected" in result.output
    what = "basket" if words[0] == "itemsets" else "row"
    assert f"--one-{what}-per-person" in " ".join(result.output.split())
    both = invoke([*words, "--person", "visitor", f"--one-{what}-per-person"])
    assert both.exit_code == 2 and "contradict" in both.output


# Labels of ready counts.

STATES = pd.Series(["NY"] * 50 + ["CA"] * 30 + ["WY"])


@pytest.mark.parametrize(
    "found",
    [
        STATES.value_counts(),
        STATES.value_counts().reset_index(),
        Counter(STATES),
        pl.Series("state", list(STATES)).value_counts(),
    ],
    ids=["pandas", "pandas table", "Counter", "polars"],
)
def test_labels_found_in_the_data_are_refused_until_a_word_says_what_they_are(found: Any) -> None:
    """That 'WY' is there is due to one person: no pure guarantee covers it."""
    for verb in (lambda: wn.top_k(found, k=1, epsilon=1.0), lambda: wn.select(found, epsilon=1.0)):
        with pytest.raises(ParameterError, match=r"labels='private'.*labels='public'"):
            verb()
    assert wn.top_k(wn.seal_counts(found, labels="public"), k=1, epsilon=50.0).value == ["NY"]
    assert wn.select(wn.seal_scores(found, labels="public"), epsilon=50.0).value == "NY"
    private = wn.top_k(wn.seal_counts(found, labels="private"), k=2, epsilon=5.0, delta=1e-3)
    assert set(private.value) <= {"NY", "CA"} and private.guarantee.delta > 0
    with pytest.raises(ParameterError, match="delta"):
        wn.top_k(wn.seal_counts(found, labels="private"), k=1, epsilon=1.0)
    with pytest.raises(ParameterError, match="labels='unknown'"):
        wn.top_k(wn.seal_counts(found, labels="unknown"), k=1, epsilon=1.0)


def test_lists_that_the_caller_wrote_need_no_word() -> None:
    for given in ({"a": 9, "b": 1}, [9, 1], pd.Series([9, 1]), pl.Series([9, 1])):
        wn.top_k(given, k=1, epsilon=1.0)
    scores = pd.DataFrame({"model": ["a", "b"], "accuracy": [0.5, 0.75]})
    wn.select(scores, epsilon=1.0)


def test_private_labels_are_the_same_in_any_order_and_without_zeros() -> None:
    counts = {"b": 40, "a": 60, "c": 0, "d": 20}
    for order in (list(counts), sorted(counts)):
        given = {label: counts[label] for label in order}
        found = wn.top_k(
            wn.seal_counts(given, labels="private"), k=3, epsilon=1.0, delta=1e-3, seed=7
        )
        held = wn.seal_counts({k: v for k, v in sorted(counts.items()) if v}, labels="private")
        assert found.value == wn.top_k(held, k=3, epsilon=1.0, delta=1e-3, seed=7).value
    for bad, why in (({"a": -1}, "negative"), ({"a": 1.5}, "whole"), ([3, 1], "labels")):
        with pytest.raises(wn.InputError, match=why):
            wn.top_k(wn.seal_counts(bad, labels="private"), k=1, epsilon=1.0, delta=1e-3)
    with pytest.raises(ParameterError, match="sensitivity"):
        wn.top_k(
            wn.seal_counts({"a": 1}, labels="private", sensitivity=2), k=1, epsilon=1.0, delta=1e-3
        )


def test_a_file_of_counts_says_where_its_items_come_from(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    STATES.value_counts().rename("n").to_csv("s.csv", index_label="state")
    asked = ["top-k", "s.csv", "--item", "state", "--count", "n", "-k", "1", "--epsilon", "1"]
    refused = invoke(asked)
    assert refused.exit_code == 2 and "--labels public" in " ".join(refused.output.split())
    assert invoke([*asked, "--labels", "public"]).exit_code == 0
    without = invoke([*asked, "--labels", "private"])
    assert without.exit_code == 2 and "--delta" in without.output
    private = invoke([*asked, "--labels", "private", "--delta", "1e-6"])
    assert private.exit_code == 0 and "limited-domain" in private.output
