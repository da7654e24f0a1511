"""Reading baskets: three layouts, bounds, the unit, and nothing that shows."""

from __future__ import annotations

import gzip
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

import winnow as wn
from reference.inside import open_sealed
from reference.reading import as_options
from winnow.core.baskets import Baskets, keep_at_most

ROWS = [["bread", "milk"], ["beer", "bread", "eggs"], ["milk"], [], ["beer", "eggs", "milk"]]


def opened(baskets: wn.SealedBaskets) -> list[tuple[str, ...]]:
    data = open_sealed(baskets.data)
    labels = baskets.labels
    names = open_sealed(labels) if isinstance(labels, wn.Sealed) else labels
    codes, starts = data.items.tolist(), data.starts.tolist()
    return [tuple(names[c] for c in codes[a:b]) for a, b in pairwise(starts)]


def in_order(rows: list[list[str]]) -> list[tuple[str, ...]]:
    return sorted(tuple(sorted(set(row))) for row in rows if row)


@pytest.mark.parametrize(
    ("name", "separator", "declared"),
    [("b.csv", ",", None), ("b.dat", " ", None), ("b.txt", "  ", None), ("b.tsv", "\t", None),
     ("b.log", ";", ";"), ("b.csv.gz", ", ", None)],
)  # fmt: skip
def test_lines_are_read_with_the_separator_of_the_ending(tmp_path, name, separator, declared):
    text = "".join(separator.join([*row, *row[:1]]) + "\n" for row in ROWS).encode()
    path = tmp_path / name
    path.write_bytes(gzip.compress(text) if name.endswith(".gz") else text)
    baskets = wn.read_baskets(path, unit="basket", layout=wn.Lines(declared))
    assert sorted(row for row in opened(baskets) if row) == in_order(ROWS)
    assert not baskets.items_known


def pairs_file(path: Path, users: bool = False) -> Path:
    lines = ["customer,basket,item" if users else "basket,item"]
    for b, row in enumerate(ROWS):
        for item in row:
            lines.append(f"{'ann' if b < 3 else 'bob'},{b},{item}" if users else f"{b},{item}")
    path.write_text("\n".join(lines) + "\n")
    return path


def test_pairs_come_from_files_and_frames(tmp_path):
    import pandas as pd
    import polars as pl

    path = pairs_file(tmp_path / "p.csv")
    how = {"unit": "basket", "basket": "basket", "item": "item"}
    for source in (path, pd.read_csv(path), pl.read_csv(path), pl.read_csv(path).to_arrow()):
        assert sorted(opened(wn.read_baskets(source, **as_options(how)))) == in_order(ROWS)
    pl.read_csv(path).write_parquet(tmp_path / "p.parquet")
    found = wn.read_baskets(
        tmp_path / "p.parquet", items=["milk", "beer", "soap"], **as_options(how)
    )
    assert sorted(opened(found)) == [("beer",), ("milk",), ("milk",), ("milk", "beer")]
    assert found.items_known and found.labels == ["milk", "beer", "soap"]


def test_a_person_has_at_most_so_many_baskets(tmp_path):
    path = pairs_file(tmp_path / "p.csv", users=True)
    baskets = wn.read_baskets(
        path,
        person="customer",
        max_baskets=1,
        layout=wn.Pairs(basket="basket", item="item"),
        reading=wn.Reading(salt="s"),
    )
    assert len(opened(baskets)) == 2 and str(baskets.unit) == "customer with at most 1 basket"
    assert baskets.utility.width == 1
    more = wn.read_baskets(
        path,
        person="customer",
        max_baskets=2,
        layout=wn.Pairs(basket="basket", item="item"),
        reading=wn.Reading(salt="s"),
    )
    assert set(opened(baskets)) <= set(opened(more)) and more.utility.width == 2


def test_indicator_tables_have_public_columns(tmp_path):
    import pandas as pd

    frame = pd.DataFrame({"milk": [1, 0, 1], "eggs": [True, False, True], "tea": [0, 0, 1]})
    baskets = wn.read_baskets(frame, unit="basket")
    assert opened(baskets) == [("milk", "eggs"), (), ("milk", "eggs", "tea")]
    assert baskets.items_known
    frame.to_csv(tmp_path / "i.csv", index=False)
    again = wn.read_baskets(tmp_path / "i.csv", unit="basket", layout="indicators")
    assert opened(again) == opened(baskets)


def test_a_long_basket_is_cut_by_what_it_holds_itself():
    rng = np.random.default_rng(0)
    rows = [sorted(rng.choice(40, size=k, replace=False).tolist()) for k in (3, 9, 20, 9)]
    labels = [f"i{c}" for c in range(40)]

    def cut(rows: list[list[int]], key: bytes = b"k" * 16) -> list[list[int]]:
        starts = np.concatenate([[0], np.cumsum([len(r) for r in rows])]).astype(np.int64)
        data = Baskets(starts, np.array([c for row in rows for c in row], np.int32), 40)
        kept = keep_at_most(data, labels, 5, key)
        ends = kept.starts.tolist()
        flat = kept.items.tolist()
        return [flat[a:b] for a, b in pairwise(ends)]

    found = cut(rows)
    assert [len(row) for row in found] == [3, 5, 5, 5] and found[0] == rows[0]
    assert all(
        set(new) <= set(old) and new == sorted(new) for new, old in zip(found, rows, strict=True)
    )
    assert cut(rows[::-1]) == found[::-1]  # other baskets do not matter
    assert cut(rows, b"other" * 4) != found


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({}, "whose presence"),
        ({"unit": "person"}, "whose presence"),
        ({"person": "u"}, "max_baskets"),
        ({"unit": "basket", "max_baskets": 3}, "needs person="),
        ({"unit": "basket", "max_items": 0}, "below 1"),
        ({"unit": "basket", "layout": "rows"}, "unknown"),
        ({"unit": "basket", "items": []}, "empty"),
        ({"unit": "basket", "items": ["a", "a"]}, "appears again"),
        ({"unit": "basket", "layout": "pairs"}, "basket is missing"),
        ({"unit": "basket", "separator": ","}, "are for files"),
    ],
)
def test_bad_requests_are_refused(how, message):
    with pytest.raises(wn.InputError, match=message):
        wn.read_baskets([["a"]], **as_options(how))


def test_bad_files_are_refused_without_quoting_them(tmp_path):
    bad = tmp_path / "bad.csv"
    bad.write_bytes(b"secret\xff\xfe\n")
    with pytest.raises(wn.InputError, match="UTF-8") as caught:
        wn.read_baskets(bad, unit="basket")
    assert "secret" not in str(caught.value)
    with pytest.raises(wn.InputError, match="no file"):
        wn.read_baskets(tmp_path / "none.csv", unit="basket")
    (tmp_path / "x.bin").write_text("a b")
    (tmp_path / "t.csv").write_text("basket,thing\n1,secret\n")
    with pytest.raises(wn.InputError, match="separator="):
        wn.read_baskets(tmp_path / "x.bin", unit="basket")
    with pytest.raises(wn.InputError, match="no column 'item'"):
        wn.read_baskets(
            tmp_path / "t.csv", unit="basket", layout=wn.Pairs(basket="basket", item="item")
        )
    with pytest.raises(wn.InputError, match="holds lists"):
        wn.read_baskets(["abc"], unit="basket")


def test_sealed_baskets_show_nothing():
    baskets = wn.read_baskets([["secret", "b"]], unit="basket")
    assert (
        repr(baskets)
        == "<sealed baskets of items that are private too, unit: basket, neighbours: add-remove>"
    )
    assert "secret" not in str(vars(baskets))


def test_indicator_rows_of_one_user_are_bounded():
    import pandas as pd

    frame = pd.DataFrame({"who": list("aabb"), "milk": [1, 1, 0, 1], "tea": [0, 1, 1, None]})
    one = wn.read_baskets(frame, person="who", max_baskets=1, reading=wn.Reading(salt="s"))
    assert len(opened(one)) == 2 and one.labels == ["milk", "tea"]
    again = wn.read_baskets(frame[::-1], person="who", max_baskets=1, reading=wn.Reading(salt="s"))
    assert sorted(opened(again)) == sorted(opened(one))


def test_equal_indicator_rows_of_a_user_are_kept_each_by_itself():
    """400 users with nine rows of milk and one of tea, five kept: 1,800 of 2,000 are milk.

    A user keeps the row of tea with chance 1/2: a fair choice has 200 of them with a standard
    deviation of 10, and leaves it by more than 55 with chance 4e-8.
    """
    import pandas as pd

    milk = [1] * 9 + [0]
    frame = pd.DataFrame({"who": np.repeat(np.arange(400), 10), "milk": milk * 400})
    frame["tea"] = 1 - frame.milk
    read = wn.read_baskets(frame, person="who", max_baskets=5, reading=wn.Reading(salt="s"))
    baskets = opened(read)
    assert len(baskets) == 2_000
    assert abs(baskets.count(("tea",)) - 200) <= 55
    again = wn.read_baskets(frame[::-1], person="who", max_baskets=5, reading=wn.Reading(salt="s"))
    assert sorted(opened(again)) == sorted(baskets)


def test_equal_baskets_are_cut_each_by_itself_and_one_more_leaves_the_others_as_they_are():
    """600 baskets of three items, one kept: 200 of each, with a standard deviation of 11.5.

    A fair choice leaves 200 by more than 65 in one of three counts with chance 5e-8.
    """
    rows = [["beer", "eggs", "milk"]] * 600
    kept = opened(wn.read_baskets(rows, unit="basket", max_items=1, reading=wn.Reading(salt="s")))
    for item in ("beer", "eggs", "milk"):
        assert abs(kept.count((item,)) - 200) <= 65
    other = [["beer", "tea"]]
    more = opened(
        wn.read_baskets(
            [*rows, *other, rows[0]], unit="basket", max_items=1, reading=wn.Reading(salt="s")
        )
    )
    for item in kept:
        more.remove(item)
    assert len(more) == 2


def test_two_people_are_never_taken_for_one():
    import pandas as pd

    mixed = pd.Series([1, "1"], dtype=object)
    plain = {"u": ["a", "b"], "b": ["p", "q"], "i": ["x", "y"]}
    for column in plain:
        frame = pd.DataFrame(plain | {column: mixed})
        with pytest.raises(wn.InputError, match="mixes several types"):
            wn.read_baskets(frame, layout=wn.Pairs(basket="b", item="i"), person="u", max_baskets=1)
    with pytest.raises(wn.InputError, match="a Series is not a table"):
        wn.read_baskets(mixed, unit="basket")
    indicators = pd.DataFrame({"u": mixed, "x": [1, 0], "y": [0, 1]})
    with pytest.raises(wn.InputError, match="mixes several types"):
        wn.read_baskets(indicators, person="u", max_baskets=1)


@pytest.mark.parametrize("column", ["u", "b", "i"])
@pytest.mark.parametrize("kind", ["float64", "datetime64[ns]", "timedelta64[ns]"])
def test_columns_without_one_text_name_nothing(column, kind):
    import pandas as pd

    plain = {"u": ["a", "b"], "b": ["p", "q"], "i": ["x", "y"]}
    frame = pd.DataFrame(plain | {column: pd.Series([1, 2]).astype(kind)})
    with pytest.raises(wn.InputError, match=f"the column '{column}' has the type"):
        wn.read_baskets(frame, layout=wn.Pairs(basket="b", item="i"), person="u", max_baskets=1)
    indicators = pd.DataFrame({"u": pd.Series([1, 2]).astype(kind), "x": [1.0, 0.0]})
    with pytest.raises(wn.InputError, match="the column 'u' has the type"):
        wn.read_baskets(indicators, person="u", max_baskets=1)


def test_errors_of_the_engine_and_values_of_types_stay_inside(tmp_path):
    import pandas as pd
    import pyarrow as pa

    secret = "417-secret"
    (tmp_path / "t.csv").write_text(f'b,i\n1,a\n2,"{secret}\n3,b,c,d\n')
    (tmp_path / "t.parquet").write_bytes(b"PAR1" + secret.encode())
    offsets = pa.py_buffer(np.array([0, 1, 12], np.int32).tobytes())
    texts = pa.py_buffer(b"a\xff" + secret.encode())
    broken = pa.Array.from_buffers(pa.string(), 2, [None, offsets, texts])
    surrogate = pd.DataFrame({"b": ["a", secret + "\ud800"], "i": ["x", "y"]}, dtype=object)
    listed = pd.DataFrame({"b": [1], "i": [[{secret: 1}]]})
    nested = pa.table({"x": pa.array([[secret]], pa.list_(pa.dictionary(pa.int8(), pa.string())))})
    pairs = {"basket": "b", "item": "i"}
    for source, how in (
        (tmp_path / "t.csv", pairs),
        (tmp_path / "t.parquet", pairs),
        (pa.table({"b": broken, "i": ["x", "y"]}), pairs),
        (surrogate, pairs),
        (listed, pairs),
        (nested, {}),
    ):
        with pytest.raises(wn.InputError) as caught:
            wn.read_baskets(source, unit="basket", **as_options(how))
        assert secret not in str(caught.value)
        assert caught.value.__context__ is None and caught.value.__cause__ is None
    category = pd.DataFrame({"x": pd.Categorical(["yes", "MAP", secret])})
    assert opened(wn.read_baskets(category, unit="basket")) == [("x",), (), ()]
    with pytest.raises(wn.InputError, match="not a size") as caught:
        wn.read_baskets(surrogate, unit="basket", **as_options(pairs, memory="much"))
    assert caught.value.__context__ is None


def test_what_is_missing_in_a_list_is_no_item():
    import pandas as pd

    rows = [["a", None, "b"], [float("nan"), "a"], [np.float32("nan"), pd.NA, 1]]
    assert opened(wn.read_baskets(rows, unit="basket")) == [("a", "b"), ("a",), ("1",)]


def test_quotes_that_do_not_match_are_an_error_and_no_long_item(tmp_path):
    (tmp_path / "b.csv").write_text('milk,"417-secret\nbread,milk\n')
    with pytest.raises(wn.InputError, match="double quotes do not match") as caught:
        wn.read_baskets(tmp_path / "b.csv", unit="basket")
    assert "secret" not in str(caught.value) and caught.value.__context__ is None
    with pytest.raises(wn.InputError, match="is a folder"):
        wn.read_baskets(tmp_path, unit="basket")
    with pytest.raises(wn.InputError, match="cannot be both basket and item"):
        wn.read_baskets(
            tmp_path / "b.csv", unit="basket", layout=wn.Pairs(basket="milk", item="milk")
        )
