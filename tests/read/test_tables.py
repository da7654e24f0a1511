"""Private tables over a public schema: engines agree, people are bounded, nothing shows."""

import copy
import gzip
import hashlib
import pickle
import traceback
from collections import Counter
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import winnow as wn
from reference.inside import group, open_sealed, true_counts
from reference.reading import as_options
from winnow import SealedTable

SCHEMA = {
    "age": {"edges": [0, 20, 40, 60.5], "other": True},
    "sex": {"values": ["Female", "Male", None], "other": "anything else"},
    "rank": 6,
    "ok": {"values": [False, True]},
    "size": {"values": [1, 2.5, None]},
}
FRAME = pd.DataFrame(
    {
        "unused": range(8),
        "age": [0, 19.9, 20, 60.5, 61, np.nan, -1, 40],
        "sex": ["Female", "Male", None, "male", "Female", "Male", "Male", "Female"],
        "rank": [0, 5, 1, 1, 2, 3, 3, 0],
        "ok": [True, False, True, True, False, False, True, True],
        "size": [1, 2.5, np.nan, 1, 1, 2.5, 2.5, 1],
    }
)
FRAME = pd.concat([FRAME, FRAME[:3]])  # three rows twice
CODES = Counter(
    {
        (0, 0, 0, 1, 0): 2,
        (0, 1, 5, 0, 1): 2,
        (1, 2, 1, 1, 2): 2,
        (2, 3, 1, 1, 0): 1,
        (3, 0, 2, 0, 0): 1,
        (3, 1, 3, 0, 1): 1,
        (3, 1, 3, 1, 1): 1,
        (2, 0, 0, 1, 0): 1,
    }
)


def opened(table: SealedTable) -> Counter:
    codes, weights = open_sealed(table.rows)
    rows = zip(*(column.tolist() for column in codes), strict=True)
    return Counter(dict(zip(rows, weights.tolist(), strict=True)))


def sources(folder):
    FRAME.to_csv(folder / "table.csv", index=False)
    FRAME.to_csv(folder / "table.tsv", index=False, sep="\t")
    FRAME.to_parquet(folder / "table.parquet")
    with gzip.open(folder / "table.csv.gz", "wt") as file:
        file.write((folder / "table.csv").read_text())
    FRAME[:4].to_csv(folder / "part1.csv", index=False)
    FRAME[4:].to_csv(folder / "part2.csv", index=False)
    connection = duckdb.connect()
    connection.register("frame", FRAME)
    yield from (str(folder / f"table.{end}") for end in ("csv", "tsv", "parquet", "csv.gz"))
    yield folder / "table.csv"
    yield str(folder / "part*.csv")
    yield [folder / "part1.csv", folder / "part2.csv"]
    yield FRAME
    yield FRAME.assign(sex=FRAME.sex.astype("category"))
    yield pl.from_pandas(FRAME)
    yield pl.from_pandas(FRAME).lazy()
    yield pa.Table.from_pandas(FRAME)
    yield duckdb.from_df(FRAME)
    yield (connection, "frame")
    yield (connection, "SELECT * FROM frame WHERE rank >= 0")


def test_every_engine_gives_the_same_rows(tmp_path) -> None:
    for source in sources(tmp_path):
        table = wn.read_table(source, schema=SCHEMA)
        assert opened(table) == CODES
        assert table.n == 11 and table.rows_per_person == 1


def test_columns_and_restrict_choose_an_attribute_group() -> None:
    whole = wn.read_table(FRAME, schema=SCHEMA)
    for chosen in (["rank", "sex"], ["ok"]):
        read = wn.read_table(FRAME, schema=SCHEMA, columns=chosen)
        cut = whole.restrict(chosen)
        assert opened(read) == opened(cut) and read.schema == cut.schema
        assert cut.schema.names == tuple(chosen) and cut.n == 11
    with pytest.raises(wn.InputError, match="no column 'no'"):
        whole.restrict(["no"])


def test_true_counts_are_those_of_the_rows() -> None:
    table = wn.read_table(FRAME, schema=SCHEMA)
    workload = (wn.marginals([1, 2]) + wn.prefixes("rank")).over(table.schema)
    sealed = true_counts(table, workload)
    assert isinstance(sealed, wn.Sealed) and repr(sealed).startswith("<sealed answers of")
    counts = open_sealed(sealed)
    codes = list(CODES.elements())
    rows = np.stack([workload.row(i) for i in range(workload.size)])
    cells = np.ravel_multi_index(np.array(codes).T, table.schema.shape)
    assert counts.tolist() == rows[:, cells].sum(axis=1).astype(int).tolist()
    part = wn.marginals(1, columns=["sex"]).over(table.schema.subset(["rank", "sex"]))
    assert open_sealed(true_counts(table, part)).tolist() == [4, 4, 2, 1]
    with pytest.raises(wn.InputError, match="declared differently"):
        true_counts(table, wn.marginals(1).over({"rank": 7}))


def test_wide_tables_keep_their_distinct_rows_only() -> None:
    rng = np.random.default_rng(0)
    names = [f"c{i}" for i in range(40)]
    frame = pd.DataFrame(rng.integers(0, 100, (50, 40)), columns=names)
    frame = pd.concat([frame, frame[:10]])
    table = wn.read_table(frame, schema=dict.fromkeys(names, 100))
    assert table.schema.cells == 10**80
    assert opened(table) == Counter(map(tuple, frame.to_numpy().tolist()))
    with pytest.raises(wn.InputError, match="need about"):
        wn.random_queries(5).over(table.schema)


def test_grouping_numbers_keys_anew_where_they_would_overflow() -> None:
    codes = tuple(np.array([2**31 - 1, 5, 2**31 - 1], np.int32) for _ in range(5))
    rows = group(codes, np.array([1, 2, 3], np.int64), (2**31,) * 5)
    assert sorted(rows.weights.tolist()) == [2, 4]


def test_rows_per_person_are_bounded_by_the_persons_own_rows() -> None:
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(
        {"who": [f"p{i % 9}" for i in range(200)], "a": rng.integers(0, 5, 200), "b": "x"}
    )
    frame.loc[:5, "who"] = None
    schema = {"a": 5, "b": {"values": ["x", "y"]}}
    for bound in (1, 3, 50):
        table = wn.read_table(
            frame, schema=schema, person="who", max_rows=bound, reading=wn.Reading(salt="s")
        )
        kept = opened(table)
        sizes = frame.dropna().groupby("who").size()
        assert kept.total() == sizes.clip(upper=bound).sum()
        assert table.rows_per_person == bound and (table.n is None) == (bound > 1)
        shuffled = frame.sample(frac=1, random_state=2)
        again = wn.read_table(
            shuffled, schema=schema, person="who", max_rows=bound, reading=wn.Reading(salt="s")
        )
        assert opened(again) == kept
        for person in ("p0", "p8"):  # without this person only their own rows are gone
            without = wn.read_table(
                frame[frame.who != person],
                schema=schema, person="who", max_rows=bound, reading=wn.Reading(salt="s"),
            )  # fmt: skip
            gone = Counter(kept)
            gone.subtract(opened(without))
            assert min(gone.values()) >= 0 and gone.total() == min(bound, sizes[person])
            own = Counter((a, 0) for a in frame.a[frame.who == person].tolist())
            assert not gone - own


def test_the_rows_kept_are_those_with_the_least_keyed_hash() -> None:
    frame = pd.DataFrame({"who": ["u"] * 6, "a": [0, 1, 2, 3, 4, 4]})
    key = hashlib.blake2b(b"salt").hexdigest()

    def md5(text: str) -> str:
        return hashlib.md5(f"{key}{text}".encode()).hexdigest()

    copies = [(0, 1), (1, 1), (2, 1), (3, 1), (4, 1), (4, 2)]
    ranks = sorted((md5(md5(f"u|={a}") + str(number)), a) for a, number in copies)
    table = wn.read_table(
        frame, schema={"a": 5}, person="who", max_rows=3, reading=wn.Reading(salt="salt")
    )
    assert opened(table) == Counter((a,) for _, a in ranks[:3])
    seen = {tuple(opened(wn.read_table(frame, schema={"a": 5}, person="who"))) for _ in range(12)}
    assert len(seen) > 1  # fresh salts choose differently: all alike with chance 2e-8


def test_a_bound_keeps_nine_in_ten_of_what_is_nine_in_ten_of_a_persons_rows() -> None:
    """1,000 people with 90 rows A and 10 rows B, ten kept of each: 9,000 are A but for noise.

    The number of A has a standard deviation of 28.6: a fair choice leaves 9,000 by more than 150
    with chance 2e-7. A choice of all A or all B of a person at once leaves it by thousands.
    """
    frame = pd.DataFrame(
        {"who": np.repeat(np.arange(1000), 100), "x": (["A"] * 90 + ["B"] * 10) * 1000}
    )
    options = {"schema": {"x": {"values": ["A", "B"]}}, "person": "who", "max_rows": 10}
    kept = opened(wn.read_table(frame, **as_options(options, salt="s")))
    assert kept.total() == 10_000
    assert abs(kept[(0,)] - 9_000) <= 150
    assert (
        opened(
            wn.read_table(
                frame.sample(frac=1, random_state=1),
                **as_options(options, salt="s"),
            )
        )
        == kept
    )


def test_people_who_differ_in_letter_case_or_zeros_stay_different(tmp_path) -> None:
    frame = pd.DataFrame({"who": ["7", "007", "a", "A"], "a": [0, 0, 0, 0]})
    frame.to_csv(tmp_path / "t.csv", index=False)
    connection = duckdb.connect()
    connection.execute("CREATE TABLE t (who VARCHAR COLLATE NOCASE, a INT)")
    connection.execute("INSERT INTO t VALUES ('7', 0), ('007', 0), ('a', 0), ('A', 0)")
    for source in (frame, tmp_path / "t.csv", (connection, "t")):
        assert opened(wn.read_table(source, schema={"a": 1}, person="who")) == {(0,): 4}
    connection.execute("SET default_collation = NOCASE")
    with pytest.raises(wn.InputError, match="collation"):
        wn.read_table((connection, "t"), schema={"a": 1}, person="who")


def test_the_number_of_rows_is_public_under_substitution_alone() -> None:
    table = wn.read_table(FRAME, schema={"rank": 6})
    assert table.n == 11 and table.relation is wn.Relation.SUBSTITUTION
    hidden = table.under("add-remove")
    assert hidden.n is None and hidden.under("substitution").n == 11
    assert wn.read_table(FRAME, schema={"rank": 6}, relation="add-remove").n is None


@pytest.mark.parametrize("attempt", [len, list, pickle.dumps, copy.deepcopy, lambda t: t[0]])
def test_a_sealed_table_refuses_every_way_in(attempt) -> None:
    table = wn.read_table(FRAME, schema=SCHEMA)
    with pytest.raises(TypeError):
        attempt(table)
    assert repr(table) == str(table)
    assert (
        repr(table)
        == "<sealed table of 5 columns, 576 cells, one row per person, neighbours: substitution>"
    )
    assert "11" not in repr(table.under("add-remove"))


CANARY = "canary417"


def everything_said(error: BaseException | None) -> str:
    said = ""
    while error is not None:
        said += "".join(traceback.format_exception_only(error)) + repr(error.args)
        assert not getattr(error, "__notes__", None)
        error = error.__cause__ or error.__context__
    return said


def canary_frames():
    """Tables with a value that must not show, and what is wrong with each."""
    good = {"a": [0, 1], "b": ["x", "y"], "c": [1.0, 2.0]}
    schema = {"a": 2, "b": {"values": ["x", "y"]}, "c": {"edges": [0, 5]}}
    yield pd.DataFrame(good | {"b": ["x", CANARY]}), schema, "outside the schema"
    yield pd.DataFrame(good | {"a": [0, 41700]}), schema, "outside the schema"
    yield pd.DataFrame(good | {"a": [0, 0.41700]}), schema, "outside the schema"
    yield pd.DataFrame(good | {"c": [0, 41700.5]}), schema, "outside the schema"
    yield pd.DataFrame(good | {"b": ["x", None]}), schema, "outside the schema"
    yield pd.DataFrame(good | {"a": [0, np.nan]}), schema, "outside the schema"
    yield pd.DataFrame(good | {"a": [CANARY, "0"]}), schema, "declares it as numbers"
    yield pd.DataFrame(good | {"a": ["1", "0"]}), schema, "declares it as numbers"
    yield pd.DataFrame(good | {"a": [True, False]}), schema, "declares it as numbers"
    yield pd.DataFrame(good | {"b": [41700, 1]}), schema, "declares it as texts"
    yield pd.DataFrame(good | {"a": [CANARY, 1]}), schema, "mixes several types"
    category = pd.Series([CANARY, "x"], dtype="category")
    yield pd.DataFrame(good | {"a": category}), schema, "type ENUM"
    yield pd.DataFrame(good | {"a": pd.Timestamp("2041-07-00"[:8] + "04")}), schema, "declares"
    yield pd.DataFrame({"b": [CANARY], "c": [1.0]}), schema, "no column 'a'"


@pytest.mark.parametrize(("frame", "schema", "message"), list(canary_frames()))
def test_refusals_of_frames_show_no_value(frame, schema, message: str) -> None:
    with pytest.raises(wn.InputError, match=message) as caught:
        wn.read_table(frame, schema=schema)
    said = everything_said(caught.value)
    assert CANARY not in said and "417" not in said


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (f"a,b\n0,x\n1,{CANARY}\n", "column 'b' holds a value outside"),
        (f"a,b\n0,x\n{CANARY},y\n", "column 'a' holds a value outside"),
        ("a,b\n0,x\n01,y\n", "leading zeros"),
        ("a,b\n0,x\n 1,y\n", "spaces"),
        ("a,b\n0,x\n,y\n", "or an empty one"),
        ("a,b\n0,x\n1.5,y\n", "column 'a'"),
        ("a,b\n0,x\n-1,y\n", "column 'a'"),
        ("a,b\n0,x\n99999999999999999999,y\n", "column 'a'"),
        (f"{CANARY},x\n0,y\n", "no column 'a' among the 2"),
        (f'a,b\n0,x\n1,"{CANARY}\n', "quotes do not match"),
        (f"a,b\n0,x\n1,y,{CANARY}\n", "line 3 has 3 fields"),
        ("", "is empty"),
    ],
)
def test_refusals_of_files_show_no_value(tmp_path, text: str, message: str) -> None:
    (tmp_path / "t.csv").write_text(text)
    with pytest.raises(wn.InputError, match=message) as caught:
        wn.read_table(tmp_path / "t.csv", schema={"a": 2, "b": {"values": ["x", "y"]}})
    assert CANARY not in everything_said(caught.value)


def test_errors_of_an_engine_leave_without_their_message(tmp_path) -> None:
    connection = duckdb.connect()
    connection.execute(f"CREATE TABLE t AS SELECT '{CANARY}' AS b")
    asked = [
        (connection, "SELECT CAST(b AS INT) AS a FROM t"),
        (connection, "nothing"),
        (connection, "DROP TABLE t"),
    ]
    (tmp_path / "t.parquet").write_bytes(b"PAR1" + CANARY.encode())
    for source in (*asked, tmp_path / "t.parquet"):
        with pytest.raises(wn.InputError) as caught:
            wn.read_table(source, schema={"a": 2})
        assert CANARY not in everything_said(caught.value)
        assert caught.value.__context__ is None and caught.value.__cause__ is None
    assert connection.execute("SELECT COUNT(*) FROM t").fetchall() == [(1,)]


def test_clip_and_other_take_what_is_outside() -> None:
    frame = pd.DataFrame({"x": [-5.0, 0, 3, 10, 99, np.nan, np.inf]})
    edges = [0, 5, 10]
    both = wn.read_table(frame, schema={"x": {"edges": edges, "clip": True, "other": True}})
    assert opened(both) == {(0,): 3, (1,): 3, (2,): 1}
    other = wn.read_table(frame, schema={"x": {"edges": edges, "other": True}})
    assert opened(other) == {(0,): 2, (1,): 1, (2,): 4}
    clipped = wn.read_table(frame.dropna(), schema={"x": {"edges": edges, "clip": True}})
    assert opened(clipped) == {(0,): 3, (1,): 3}
    with pytest.raises(wn.InputError, match="clip"):
        wn.read_table(frame, schema={"x": {"edges": edges}})


def test_bins_are_those_of_the_edges_for_many_edges() -> None:
    rng = np.random.default_rng(3)
    edges = np.sort(rng.normal(size=38)).tolist()
    values = np.concatenate([rng.uniform(edges[0], edges[-1], 500), edges])
    table = wn.read_table(pd.DataFrame({"x": values}), schema={"x": {"edges": edges}})
    wanted = np.minimum(np.searchsorted(edges, values, side="right") - 1, 36)
    assert opened(table) == Counter((code,) for code in wanted.tolist())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_rows": 2}, "needs person="),
        ({"person": "rank", "max_rows": 0}, "below 1"),
        ({"person": 3}, "name of a column"),
        ({"person": "nobody"}, "no column 'nobody' .the person."),
        ({"person": "age"}, "not the same in every engine"),
        ({"columns": ["nothing"]}, "no column 'nothing'"),
        ({"relation": "friends"}, "unknown"),
        ({"memory": "lots"}, "not a size"),
        ({"schema": "nowhere.json"}, "no schema file"),
    ],
)
def test_wrong_options_are_refused_with_the_reason(options, message: str) -> None:
    with pytest.raises(wn.InputError, match=message):
        wn.read_table(FRAME, **as_options({"schema": {"rank": 6}, **options}))


@pytest.mark.parametrize("source", ["no.csv", 7, ["a.csv", 3], (1, 2), ("x", "t"), None])
def test_sources_that_are_no_tables_are_refused(source) -> None:
    with pytest.raises(wn.InputError):
        wn.read_table(source, schema={"rank": 6})


def test_an_empty_table_has_no_rows() -> None:
    table = wn.read_table(FRAME[:0], schema={"rank": 6, "ok": {"values": [True, False]}})
    assert table.n == 0
    counts = true_counts(table, wn.marginals(1).over(table.schema))
    assert open_sealed(counts).tolist() == [0] * 8


@pytest.mark.parametrize("form", [{"edges": ["2026-01-01", "2027-01-01"]}, {"calendar": "month"}])
@pytest.mark.parametrize("zone", ["Z", "+01:00", "+0100", " UTC"])
def test_times_with_a_zone_are_refused_with_a_word_about_zones(
    tmp_path: Path, form: dict[str, object], zone: str
) -> None:
    plain, zoned = tmp_path / "plain.csv", tmp_path / "zoned.csv"
    plain.write_text("when\n2026-03-05T10:00:00\n")
    zoned.write_text(f"when\n2026-03-05T10:00:00{zone}\n")
    wn.read_table(plain, schema={"when": form})
    with pytest.raises(wn.InputError, match=r"without a time zone; convert .* to one zone") as text:
        wn.read_table(zoned, schema={"when": form})
    assert "letter case" not in str(text.value) and "2026-03-05" not in str(text.value)
    frame = pd.DataFrame({"when": pd.to_datetime(["2026-03-05T10:00:00Z"])})
    with pytest.raises(wn.InputError, match=r"AT TIME ZONE 'UTC' in SQL, .*tz_localize"):
        wn.read_table(frame, schema={"when": form})
    converted = frame["when"].dt.tz_convert("UTC").dt.tz_localize(None).to_frame()
    wn.read_table(converted, schema={"when": form})  # what the message says to do


@pytest.mark.parametrize(
    ("form", "value", "said"),
    [
        ({"values": ["a"]}, "A", "letter case"),
        ({"values": [1, 2]}, "01", "without leading zeros"),
        ({"edges": [0, 10]}, "5 kg", "units"),
        ({"values": [True, False]}, "yes", "true or false"),
    ],
)
def test_a_value_outside_gets_advice_for_what_its_column_holds(
    tmp_path: Path, form: dict[str, object], value: str, said: str
) -> None:
    (tmp_path / "t.csv").write_text(f"x\n{value}\n")
    with pytest.raises(wn.InputError) as caught:
        wn.read_table(tmp_path / "t.csv", schema={"x": form})
    assert said in str(caught.value) and "takes spaces away" in str(caught.value)


def test_what_is_public_of_a_table_takes_another_relation_like_the_table() -> None:
    said = wn.plan.table({"age": 90}, rows=1000)
    added = said.under("add-remove")
    assert added == wn.plan.table({"age": 90}, rows=1000, relation="add-remove")
    assert added.under("substitution") == said
    with pytest.raises(wn.ParameterError, match="relation"):
        said.under("bounded")


def test_a_plan_that_takes_a_number_of_rows_for_public_is_not_for_a_table_that_hides_it() -> None:
    """It would divide by a number that nobody stated of the table."""
    ages = pd.DataFrame({"age": np.arange(1000) % 90})
    said = wn.plan.table({"age": 90}, rows=1500, relation="add-remove")
    plan = wn.plan.moments(said, ["age"], epsilon=1)
    private = wn.read_table(ages, schema={"age": 90}, relation="add-remove")
    budget = wn.Budget(epsilon=1)
    with pytest.raises(wn.ParameterError, match="1,500 rows, and their number is private here"):
        plan.run(private, budget=budget)
    assert budget.left.amount == 1
    with pytest.raises(wn.ParameterError, match="other rows"):
        plan.run(private.stating(1200))
    assert plan.run(private.stating(1500), seed=1).value.of("age", "mean").standard_error > 0
