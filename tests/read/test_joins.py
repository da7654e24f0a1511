"""Joins: what is counted, whose rows move, and which joins are refused."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import pytest
from msgspec.structs import replace

import winnow as wn
from reference.commands import invoke
from reference.inside import open_sealed
from winnow.audit.replay.compare import ReplayRun
from winnow.audit.replay.readers import reader_replays
from winnow.read.groups import pair_of
from winnow.serve.datasets import read_data
from winnow.serve.declarations import Declaration, check_declaration

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


@pytest.mark.parametrize("place", PLACES)
def test_joined_counts_that_stay_give_the_same_lists(
    places: dict[str, dict[str, Any]], place: str
) -> None:
    said: dict[str, Any] = {"item": "topic", "person": "visitor", "max_items": 2}
    found = [
        wn.top_k(
            wn.counts(joined(places[place]), **said, reading=wn.Reading(keep=keep, salt="s")),
            k=2, epsilon=30.0, delta=1e-6, method="stability", with_counts=True, seed=3,
        ).value
        for keep in ("memory", "engine")
    ]  # fmt: skip
    assert [each for each, _ in found[0]] == [each for each, _ in found[1]]


def test_labels_of_a_join_are_found_by_weights_that_people_spread() -> None:
    counts = wn.counts(joined(TABLES), item="topic", person="visitor")
    for keep in ("memory", "engine"):
        counts = wn.counts(
            joined(TABLES), item="topic", person="visitor", reading=wn.Reading(keep=keep)
        )
        released = wn.labels(counts, epsilon=30.0, delta=1e-6, seed=1)
        assert set(released.value) <= {"news", "help", "shop"} and "news" in released.value


def test_commands_join_files_and_tables_of_one_database(
    places: dict[str, dict[str, Any]], tmp_path: Path
) -> None:
    path = tmp_path / "shop.db"
    with duckdb.connect(str(path)) as connection:
        for name in TABLES:
            connection.execute(f"CREATE TABLE {name} AS FROM '{places['parquet'][name]}'")
    named = {name: f"duckdb:{path}#{name}" for name in TABLES}
    shown = []
    for tables in (places["csv"], places["parquet"], named):
        line = [
            "top-k", tables["visits"], "--join", tables["people"], "--join-public",
            f"page={tables['pages']}", "--item", "topic", "--person", "visitor", "--by", "country",
            "--max-items", 2, "-k", 1, "--epsilon", 20, "--delta", 1e-6, "--seed", 4, "--json",
        ]  # fmt: skip
        done = invoke(line)
        assert done.exit_code == 0, done.output
        shown.append(json.loads(done.stdout)["value"])
    assert shown[0] == shown[1] == shown[2]
    for tail, said in (
        (["--person", "visitor", "--join-public", "pages.csv"], "COLUMN=FILE"),
        (["--one-row-per-person", "--join", "people.csv"], "name their column with --person"),
    ):
        line = ["labels", "log.csv", "--item", "page", *tail,
                "--epsilon", 1, "--delta", 1e-6]  # fmt: skip
        done = invoke(line)
        assert done.exit_code == 2 and said in " ".join(done.stderr.split())


def test_a_table_that_is_a_join_is_tabulated_on_the_command_line(
    places: dict[str, dict[str, Any]], tmp_path: Path
) -> None:
    schema = tmp_path / "schema.json"
    schema.write_text(json.dumps(SCHEMA))
    tables = places["csv"]
    line = [
        "tabulate", tables["visits"], "--join", tables["people"], "--join-public",
        f"page={tables['pages']}", "--schema", schema, "--person", "visitor", "--max-rows", 3,
        "--relation", "add-remove", "--by", "topic,country", "--epsilon", 1, "--seed", 2, "--json",
    ]  # fmt: skip
    done = invoke(line)
    assert done.exit_code == 0, done.output
    assert "at most 3 rows" in done.stdout


@pytest.mark.parametrize("kind", ["events", "table"])
def test_a_server_reads_joined_files(tmp_path: Path, kind: str) -> None:
    for name, frame in TABLES.items():
        frame.to_csv(tmp_path / f"{name}.csv", index=False)
    said: dict[str, Any] = {
        "path": "vis*.csv", "join": ["people.csv"], "join_public": {"page": "pages.csv"},
        "person": "visitor", "max_per_person": 3, "epsilon": 50.0, "delta": 1e-4, "kind": kind,
        "relation": "add-remove",
        **({"item": "topic"} if kind == "events" else {"schema": SCHEMA}),
    }  # fmt: skip
    declared = Declaration(**said)
    check_declaration("visits", declared)
    assert [file.name for file in declared.files(tmp_path)] == [
        "visits.csv", "people.csv", "pages.csv",
    ]  # fmt: skip
    data = read_data(declared, tmp_path, "salt")
    if isinstance(data, wn.SealedCounts):
        expected = wn.counts(
            joined(TABLES), item="topic", person="visitor", max_items=3,
            reading=wn.Reading(salt="salt"),
        )  # fmt: skip
        assert opened(data) == opened(expected)
    else:
        assert open_sealed(data.rows).weights.sum() == 3 * 25
    assert replace(declared, join=["p*.csv", "gone*.csv"]).missing(tmp_path) == "gone*.csv"
    for change, match in (({"person": None, "max_per_person": 1}, "say person"),
                          ({"kind": "baskets"}, "are for kind")):  # fmt: skip
        kept = {name: held for name, held in said.items() if name not in ("item", "schema")}
        fixed = Declaration(**{**(kept if "kind" in change else said), **change})
        with pytest.raises(wn.ParameterError, match=match):
            check_declaration("visits", fixed)


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
        (lambda: wn.read_table(joined(TABLES), schema=SCHEMA, person="visitor",
                               relation="add-remove").restrict(["topic"]).under("substitution"),
         "depends on who has a row in every table"),
        (lambda: wn.scores(joined(TABLES), id="page", score="topic"), "wn.read_table"),
        (lambda: wn.counts(joined(TABLES), item="page", person="visitor",
                           text=wn.TextFormat(delimiter=";")), "are not"),
    ],
)  # fmt: skip
def test_joins_that_cannot_be_bounded_or_read_are_refused(made: Any, match: str) -> None:
    with pytest.raises(wn.WinnowError, match=match):
        made()
