"""Joins: what is counted, whose rows move, and which joins are refused."""

from collections import Counter
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import pytest

import winnow as wn
from reference.inside import open_sealed
from winnow.audit.replay.compare import ReplayRun
from winnow.audit.replay.readers import reader_replays
from winnow.read.groups import pair_of

VISITS = pd.DataFrame(
    [(f"u{u % 30}", f"p{u % 7}") for u in range(200)] + [("x", "p1"), ("U1", "p2")],
    columns=["visitor", "page"],
)
PEOPLE = pd.DataFrame(
    [(f"u{u}", "FR" if u % 3 else "DE") for u in range(25)], columns=["visitor", "country"]
)
PAGES = pd.DataFrame(
    [(f"p{i}", topic) for i in range(7) for topic in (["news"] if i % 2 else ["help", "shop"])],
    columns=["page", "topic"],
)
TABLES = {"visits": VISITS, "people": PEOPLE, "pages": PAGES}
SALT = wn.Reading(salt="s")
SCHEMA = {"topic": {"values": ["news", "help", "shop"]}, "country": {"values": ["FR", "DE"]}}


def opened(counts: wn.SealedCounts) -> dict[str, int]:
    labels: Any = open_sealed(counts.labels)
    return dict(zip(labels, open_sealed(counts.values).tolist(), strict=True))


def joined(tables: dict[str, Any], how: Any = "inner") -> wn.Join:
    public = {"page": tables["pages"]}
    return wn.Join(tables["visits"], tables["people"], on="visitor", public=public, how=how)


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """The same tables in every place that a join can read."""
    folder: Path = tmp_path_factory.mktemp("joins")
    connection = duckdb.connect()
    for name, frame in TABLES.items():
        frame.to_csv(folder / f"{name}.csv", index=False)
        frame.to_parquet(folder / f"{name}.parquet")
        connection.execute(f"CREATE TABLE {name} AS FROM '{folder}/{name}.parquet'")
    return {
        "frames": TABLES,
        "csv": {name: folder / f"{name}.csv" for name in TABLES},
        "parquet": {name: folder / f"{name}.parquet" for name in TABLES},
        "duckdb": {name: (connection, name) for name in TABLES},
        "mixed": {**TABLES, "visits": folder / "visits.csv"},
    }


PLACES = ["frames", "csv", "parquet", "duckdb", "mixed"]


@pytest.mark.parametrize("place", PLACES)
def test_a_join_is_counted_as_the_joined_rows_are(
    places: dict[str, dict[str, Any]], place: str
) -> None:
    rows = VISITS.merge(PEOPLE, on="visitor").merge(PAGES, on="page")
    expected = Counter(rows.drop_duplicates(["visitor", "country", "topic"])["topic"])
    found = wn.counts(joined(places[place]), item="topic", person="visitor", by="country")
    assert sum(opened(found).values()) == sum(expected.values())
    assert {pair_of(text)[0] for text in opened(found)} == {"FR", "DE"}
    table = wn.read_table(
        joined(places[place]), schema=SCHEMA, person="visitor", max_rows=10_000,
        relation="add-remove",
    )  # fmt: skip
    assert open_sealed(table.rows).weights.sum() == len(rows)


@pytest.mark.parametrize("how", ["inner", "left"])
def test_every_place_keeps_the_same_rows_of_a_person(
    places: dict[str, dict[str, Any]], how: str
) -> None:
    said: dict[str, Any] = {"item": "topic", "person": "visitor", "max_items": 1, "reading": SALT}
    first, *others = [opened(wn.counts(joined(places[each], how), **said)) for each in PLACES]
    assert all(other == first for other in others)
    people = 25 if how == "inner" else VISITS["visitor"].nunique()
    assert sum(first.values()) == people  # the bound holds after the join


def test_a_person_moves_their_own_rows_alone() -> None:
    said: dict[str, Any] = {"item": "topic", "person": "visitor", "max_items": 2, "reading": SALT}
    whole = opened(wn.counts(joined(TABLES), **said))
    for who in ("u1", "u24"):
        rest = {name: frame[frame["visitor"] != who] if "visitor" in frame else frame
                for name, frame in TABLES.items()}  # fmt: skip
        without = opened(wn.counts(joined(rest), **said))
        moved = [whole[topic] - without.get(topic, 0) for topic in whole]
        assert all(each in (0, 1) for each in moved) and 1 <= sum(moved) <= 2


def test_people_whose_names_a_collation_would_merge_are_two(tmp_path: Path) -> None:
    connection = duckdb.connect()
    connection.execute("CREATE TABLE v (who VARCHAR COLLATE NOCASE, page VARCHAR)")
    connection.execute("CREATE TABLE p (who VARCHAR COLLATE NOCASE, country VARCHAR)")
    connection.execute("INSERT INTO v VALUES ('a', 'x'), ('A', 'y')")
    connection.execute("INSERT INTO p VALUES ('a', 'FR')")
    join = wn.Join((connection, "v"), (connection, "p"), on="who")
    assert opened(wn.counts(join, item="page", person="who")) == {"x": 1}


def test_numbers_of_a_file_meet_numbers_of_a_frame() -> None:
    one = pd.DataFrame({"who": [7, 8, 9], "page": ["x", "y", "y"]})
    two = pd.DataFrame({"who": ["7", "9", "09"], "country": ["FR", "DE", "DE"]})
    found = wn.counts(wn.Join(one, two, on="who"), item="page", person="who")
    assert opened(found) == {"x": 1, "y": 1}


def test_a_join_is_released_under_a_guarantee_about_its_people() -> None:
    counts = wn.counts(joined(TABLES), item="topic", person="visitor", max_items=2)
    released = wn.top_k(counts, k=2, epsilon=20.0, delta=1e-6, seed=1, with_cut=0.1)
    assert set(released.value) <= {"news", "help", "shop"} and released.cut is not None
    assert "each visitor" in str(released.guarantee)


def test_two_neighbouring_joins_differ_in_nothing_but_the_release(tmp_path: Path) -> None:
    entry = next(each for each in reader_replays() if "joined" in each.variant)
    run = ReplayRun(entry)
    run.group(entry.family.odd[0], 1, tmp_path)
    assert run.pairs and not run.found and not run.error


@pytest.mark.parametrize(
    ("made", "match"),
    [
        (lambda: wn.Join(VISITS, on="visitor"), "two tables or more"),
        (lambda: wn.Join(VISITS, PEOPLE, on=3), "not the name"),  # type: ignore[arg-type]
        (lambda: wn.Join(VISITS, PEOPLE, on="visitor", how="outer"), "how="),  # type: ignore[arg-type]
        (lambda: wn.Join(VISITS, on="visitor", public=[PAGES]), "not a mapping"),  # type: ignore[arg-type]
        (lambda: wn.counts(joined(TABLES), item="page"), "protect people"),
        (lambda: wn.counts(wn.Join(VISITS, VISITS, on="page"), item="page", person="visitor"),
         "put together with rows of others"),
        (lambda: wn.counts(wn.Join(VISITS, PAGES, on="visitor"), item="topic", person="visitor"),
         "no column 'visitor'"),
        (lambda: wn.counts(wn.Join(VISITS, VISITS, on="visitor"), item="page", person="visitor"),
         "in several of the joined tables"),
        (lambda: wn.counts(wn.Join(VISITS, on="visitor", public={"topic": PAGES}), item="page",
                           person="visitor"), "in several"),
        (lambda: wn.counts(wn.Join(VISITS, on="visitor", public={"country": PEOPLE}), item="page",
                           person="visitor"), "in none of the tables before it"),
        (lambda: wn.counts(wn.Join(VISITS, (duckdb.connect(), "x"), on="visitor"), item="page",
                           person="visitor"), "lie in one place"),
        (lambda: wn.read_table(joined(TABLES), schema=SCHEMA, person="visitor"),
         "relation='add-remove'"),
        (lambda: wn.scores(joined(TABLES), id="page", score="topic"), "wn.read_table"),
        (lambda: wn.counts(joined(TABLES), item="page", person="visitor",
                           text=wn.TextFormat(delimiter=";")), "are not"),
    ],
)  # fmt: skip
def test_joins_that_cannot_be_bounded_or_read_are_refused(made: Any, match: str) -> None:
    with pytest.raises(wn.WinnowError, match=match):
        made()
