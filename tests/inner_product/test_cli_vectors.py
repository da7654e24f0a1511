"""``winnow mips``, ``winnow boost`` and ``winnow lp`` on plain matrices: results and refusals."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import Result

import winnow as wn
from reference.commands import invoke
from winnow.read.matrix import read_matrix, read_vector

SECRET = "73519"
VECTORS = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
SAID = np.array([[1, 1, -1, -1, 1, 1], [1, -1, 1, 1, -1, 1], [-1, -1, 1, 1, -1, -1]])
TRUTH = np.array([1, 1, -1, -1, 1, 1])


def run(*words: object) -> Result:
    return invoke(words)


def saved(folder: Path, name: str, numbers: object, header: str = "") -> Path:
    """A file of numbers, as its ending says."""
    path, array = folder / name, np.asarray(numbers)
    match path.suffix:
        case ".npy":
            np.save(path, array)
        case ".parquet":
            table = np.atleast_2d(array.T).T
            pq.write_table(pa.table({f"c{j}": table[:, j] for j in range(table.shape[1])}), path)
        case _:
            between = "\t" if path.suffix == ".tsv" else ","
            lines = [between.join(map(str, row)) for row in np.atleast_2d(array.T).T.tolist()]
            path.write_text("\n".join([*([header] if header else []), *lines]) + "\n")
    return path


@pytest.mark.parametrize("ending", ["csv", "tsv", "npy", "parquet"])
def test_a_matrix_is_read_from_every_kind_of_file(tmp_path: Path, ending: str) -> None:
    found, names = read_matrix(saved(tmp_path, f"a.{ending}", VECTORS))
    np.testing.assert_array_equal(found, VECTORS)
    assert names == (["c0", "c1"] if ending == "parquet" else None)
    column = read_vector(saved(tmp_path, f"b.{ending}", VECTORS[:, 0]))
    np.testing.assert_array_equal(column, VECTORS[:, 0])


def test_a_first_line_of_words_names_the_columns_and_nobody_is_no_column(tmp_path: Path) -> None:
    assert read_matrix(saved(tmp_path, "a.csv", VECTORS, "x, y"))[1] == ["x", "y"]
    empty = tmp_path / "nobody.csv"
    empty.write_text("\n\n")
    assert read_matrix(empty)[0].shape == (2, 0)
    empty.write_text("")
    assert read_vector(empty).shape == (0,)


@pytest.mark.parametrize(
    ("text", "named"),
    [
        (f"1,2\n3,x{SECRET}\n", "line 2: a field is not a number"),
        (f"1,2\n{SECRET}\n", "line 2 does not have as many fields"),
        (f"1,2\n{SECRET},\n", "line 2: a field is not a number"),
        (f"1,2\n\n3,{SECRET}\n", "blank"),
        (f"1,2\n3,{SECRET}e999\n", "not finite"),
        (f"1,2\n3,nan{SECRET}\n", "not a number"),
        (f'1,"2\n3,{SECRET}\n', "quot"),
    ],
)
def test_what_is_no_matrix_is_refused_without_a_value(
    tmp_path: Path, text: str, named: str
) -> None:
    path = tmp_path / "a.csv"
    path.write_text(text)
    with pytest.raises(wn.InputError, match=named) as found:
        read_matrix(path)
    assert SECRET not in str(found.value) and str(path) in str(found.value)


def test_other_files_are_refused_plainly(tmp_path: Path) -> None:
    words = tmp_path / "a.npy"
    np.save(words, np.array([{"a": 1}], object), allow_pickle=True)
    with pytest.raises(wn.InputError, match="not an array of numbers"):
        read_matrix(words)
    np.save(words, np.zeros((2, 2, 2)))
    with pytest.raises(wn.InputError, match="dimensions"):
        read_matrix(words)
    with pytest.raises(wn.InputError, match="no such file"):
        read_matrix(tmp_path / "none.csv")
    with pytest.raises(wn.InputError, match="is read from"):
        read_matrix(tmp_path / "a.xlsx")
    with pytest.raises(wn.InputError, match="several rows and columns"):
        read_vector(saved(tmp_path, "b.csv", VECTORS))
    text = tmp_path / "t.parquet"
    pq.write_table(pa.table({"a": ["x"]}), text)
    with pytest.raises(wn.InputError, match="numbers alone"):
        read_matrix(text)
    text.write_text("PAR")
    with pytest.raises(wn.InputError, match="Parquet"):
        read_matrix(text)


def test_mips_selects_what_the_verb_selects(tmp_path: Path) -> None:
    vectors = saved(tmp_path, "v.npy", VECTORS)
    query = saved(tmp_path, "q.csv", [3.0, 2.0])
    names = tmp_path / "names.txt"
    names.write_text("east\nnorth\nboth\n")
    words = ("mips", vectors, query, "--epsilon", 40, "--sensitivity", "0,1", "--seed", 1)
    found = run(*words, "--names", names, "-k", 2, "--json", "--out", tmp_path / "m.csv")
    assert found.exit_code == 0, found.output
    document = json.loads(found.stdout)
    assert document["value"] == ["both", "east"]
    direct = wn.mips(
        wn.seal_vectors(VECTORS, labels=["east", "north", "both"]),
        wn.seal_query([3.0, 2.0], sensitivity=(0, 1)),
        epsilon=40,
        k=2,
        seed=1,
    )
    assert document["guarantee"] == direct.to_dict()["guarantee"]
    assert "both" in (tmp_path / "m.csv").read_text()
    shown = run(*words, "--signed", "--method", "indexed", "--index", "p-stable", "--slack", 0.1)
    assert shown.exit_code == 0 and "indexed exponential with slack" in shown.output


def test_boost_chooses_the_learner_that_is_right(tmp_path: Path) -> None:
    said = saved(tmp_path, "said.csv", SAID)
    labels = saved(tmp_path, "labels.npy", TRUTH)
    words = ("boost", said, "--labels", labels, "--rounds", 2, "--epsilon", 200, "--seed", 1)
    found = run(*words, "--json", "--out", tmp_path / "vote.json")
    assert found.exit_code == 0, found.output
    assert json.loads(found.stdout)["value"] == [0, 0]
    assert json.loads((tmp_path / "vote.json").read_text())["value"] == [0, 0]
    assert "SmoothBoost" in run(*words).output


def test_lp_takes_a_matrix_and_an_asymmetric_sensitivity(tmp_path: Path) -> None:
    a = saved(tmp_path, "a.csv", [[1, 1], [2, 1]], "bread,cake")
    b, c = saved(tmp_path, "b.npy", [30.0, 40.0]), saved(tmp_path, "c.parquet", [1.0, 1.0])
    words = ("lp", a, "--b", b, "--c", c, "--method", "scalar-sides", "--opt", 30, "--epsilon", 5)
    found = run(*words, "--rounds", 20, "--sensitivity", "0,1", "--seed", 1, "--json")
    assert found.exit_code == 0, found.output
    document = json.loads(found.stdout)
    problem = wn.lp_problem([[1, 1], [2, 1]], [30, 40], [1, 1], opt=30, names=["bread", "cake"])
    method = wn.ScalarSides(sensitivity=(0, 1), rounds=20)
    direct = wn.lp(problem, method=method, epsilon=5, seed=1)
    assert document["value"] == json.loads(direct.to_json())["value"]
    people = ("--method", "person-rows", "--entries", "0,2", "--sides", "0,50", "--rows", 4)
    people = (*people, "--exceptions", 2, "--opt", 30, "--epsilon", 5, "--delta", 0.01)
    found = run("plan", "lp", a, "--b", b, "--c", c, "--sense", ">=", "--minimise", *people)
    assert found.exit_code == 0, found.output


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (("mips", "v.npy", "q.csv", "--sensitivity", "x"), "--sensitivity"),
        (("mips", "v.npy", "long.csv", "--sensitivity", 1), "one length"),
        (("mips", "v.npy", "q.csv", "--sensitivity", 1, "--method", "tree"), "tree"),
        (("mips", "v.npy", "q.csv", "--sensitivity", 1, "--index", "lsh"), "is for indexed"),
        (("mips", "v.npy", "q.csv", "--sensitivity", 1, "--names", "q.csv"), "labels"),
        (("mips", "none.npy", "q.csv", "--sensitivity", 1), "no such file"),
        (("mips", "v.npy", "q.csv", "--sensitivity", 1, "--out", "q.csv"), "is the file"),
        (("boost", "v.npy", "--labels", "long.csv", "--rounds", 1), "labels"),
        (("boost", "v.npy", "--labels", "q.csv", "--rounds", 0), "labels|rounds"),
        (("lp", "v.npy", "--method", "scalar-sides", "--opt", 1, "--sensitivity", 1), "--b FILE"),
        (("lp", "v.npy", "--method", "scalar-sides", "--opt", 1), "sensitivity"),
        (("lp", "v.npy", "--method", "scalar-sides", "--sensitivity", "1,x"), "--sensitivity"),
        (("lp", "v.npy", "--method", "scalar-sides", "--sensitivity", 1, "--rows", 3), "is for"),
        (("lp", "v.npy", "--method", "person-rows", "--entries", 1), "two numbers such as"),
        (("lp", "v.npy", "--method", "scalar-sides", "--sensitivity", 1), "--opt V"),
        (("lp", "v.npy", "--method", "scalar-sides", "--sensitivity", 1, "--opt", "1,x"), "--opt"),
        (
            (
                "lp",
                "v.mps",
                "--method",
                "scalar-sides",
                "--sensitivity",
                1,
                "--opt",
                1,
                "--b",
                "q.csv",
            ),
            "--b is for a matrix",
        ),
        (
            (
                "lp",
                "v.npy",
                "--b",
                "long.csv",
                "--c",
                "long.csv",
                "--method",
                "scalar-sides",
                "--sensitivity",
                1,
                "--opt",
                1,
            ),
            "a cost for each",
        ),
    ],
)
def test_refusals_are_one_line_and_exit_code_two(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[object, ...], named: str
) -> None:
    monkeypatch.chdir(tmp_path)
    saved(tmp_path, "v.npy", VECTORS)
    saved(tmp_path, "q.csv", [1.0, 2.0])
    saved(tmp_path, "long.csv", [1.0, 2.0, 3.0])
    found = run(*words, "--epsilon", 1)
    assert found.exit_code == 2
    assert "Traceback" not in found.output
    with_text = " ".join(found.output.split())
    assert any(each in with_text for each in named.split("|")), found.output
