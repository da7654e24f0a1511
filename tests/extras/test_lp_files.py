"""MPS files through highspy, and the command ``winnow lp``."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import winnow as wn
from reference.commands import invoke
from winnow.lp.files import read_model

pytestmark = pytest.mark.extras
pytest.importorskip("highspy")

SHIFTS = """\
NAME shifts
ROWS
 N cost
 G mon
 G tue
 L cap
COLUMNS
 early cost 1 mon 1
 early cap 1
 late cost 2 tue 1
 late cap 1
RHS
 rhs mon 300 tue 420
 rhs cap 900
BOUNDS
 LO bnd early 10
 UP bnd late 700
ENDATA
"""


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "shifts.mps"
    path.write_text(SHIFTS)
    return path


def _run(*arguments: object):
    return invoke(["lp", *map(str, arguments)])


def test_a_model_is_read_with_bounds_moved_into_rows(model: Path) -> None:
    read = read_model(model)
    assert read.variables is not None and read.variables.names == ["early", "late"]
    assert not read.maximise
    assert read.variables.shift.tolist() == [10, 0]
    assert sorted(read.senses) == ["<=", "<=", ">=", ">="]
    optimum = wn.plan.lp_optimum(read.A, read.b, read.c, senses=read.senses, maximise=False)
    assert optimum + read.variables.constant == pytest.approx(300 + 840)
    assert read.variables.original(np.zeros(2)).tolist() == [10, 0]
    assert "300" not in repr(read)
    sealed = wn.read_lp(model, opt=1140)
    assert "300" not in repr(sealed)
    method = wn.ScalarSides(sensitivity=0.1, rounds=50)
    found = wn.lp(sealed, method=method, epsilon=50, delta=1e-6, seed=1).value
    assert [name for name, _ in found.variables()] == ["early", "late"]
    assert found.opt == 1140 and found.objective == pytest.approx(1140)


EVERYTHING = """\
NAME everything
ROWS
 N cost
 L low
 G high
 E same
 L range
COLUMNS
 free cost 1 low 1
 free high 1
 below cost -2 low 1
 below same 1
 fixed cost 3 same 1
 fixed range 1
 box cost 1 high 1
 box range 1
RHS
 rhs cost -5 low 4
 rhs high -6 same 1
 rhs range 9
RANGES
 rng range 7
BOUNDS
 FR bnd free
 MI bnd below
 UP bnd below 3
 FX bnd fixed 2
 LO bnd box -1
 UP bnd box 8
ENDATA
"""


def test_which_rows_there_are_does_not_depend_on_private_sides(tmp_path: Path) -> None:
    """A range that shrinks to one number stays two rows: sides may be private."""
    shapes = []
    for width in (7, 0):
        path = tmp_path / f"range{width}.mps"
        path.write_text(EVERYTHING.replace(" rng range 7", f" rng range {width}"))
        read = read_model(path)
        shapes.append((read.senses, read.A.toarray().tolist()))
    assert shapes[0] == shapes[1]


@pytest.mark.parametrize("sense", ["MIN", "MAX"])
def test_every_kind_of_bound_and_row_keeps_its_meaning(tmp_path: Path, sense: str) -> None:
    """The optimum of the program as it was read is that of the file, by another solver call."""
    import highspy

    path = tmp_path / "everything.mps"
    path.write_text(EVERYTHING.replace("ROWS", f"OBJSENSE\n    {sense}\nROWS", 1))
    solver = highspy.Highs()
    solver.setOptionValue("output_flag", False)
    solver.readModel(str(path))
    solver.run()
    read = read_model(path)
    assert read.maximise is (sense == "MAX")
    made = read.variables
    assert made is not None
    assert [made.names[j] for j in made.source] == ["free", "below", "box", "free"]
    assert made.signs.tolist() == [1, -1, 1, -1]
    assert sorted(read.senses) == ["<=", "<=", "<=", "<=", ">=", ">=", ">="]
    best = wn.plan.lp_optimum(
        read.A, read.b, read.c, senses=read.senses, maximise=read.maximise
    )  # fmt: skip
    assert best + made.constant == pytest.approx(solver.getInfo().objective_function_value)
    x = made.original(np.array([1.0, 2.0, 3.0, 5.0]))
    assert x.tolist() == [-4.0, 1.0, 2.0, 2.0]


def test_the_command_solves_saves_and_draws(model: Path, tmp_path: Path) -> None:
    out, plot = tmp_path / "solution.json", tmp_path / "solution.png"
    done = _run(
        model, "--method", "scalar-sides", "--sensitivity", 0.1, "--opt", 1140, "--epsilon", 50,
        "--delta", 1e-6, "--seed", 1, "--out", out, "--plot", plot, "--json", "--measure",
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    value = json.loads(out.read_text())["value"]
    assert set(value["x"]) == {"early", "late"}
    assert value["objective"] == pytest.approx(1140)
    assert value["x"]["early"] >= 10
    assert plot.read_bytes().startswith(b"\x89PNG")


def test_the_command_plans_without_spending(model: Path) -> None:
    done = invoke(
        ["plan", "lp", str(model), "--method", "scalar-sides", "--sensitivity", "1", "--opt",
         "900,1500", "--epsilon", "1", "--delta", "1e-6", "--json"]
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    assert json.loads(done.output)["searches"] == 8


@pytest.mark.parametrize(
    "options",
    [
        ["--method", "scalar-sides", "--sensitivity", 1, "--epsilon", 1],
        ["--method", "scalar-sides", "--opt", 1140, "--epsilon", 1],
        ["--method", "scalar-sides", "--sensitivity", 1, "--opt", "1,2,3", "--epsilon", 1],
        ["--method", "person-rows", "--opt", 1140, "--epsilon", 1],
        ["--method", "both", "--opt", 1140, "--epsilon", 1],
    ],
)  # fmt: skip
def test_bad_requests_end_with_code_two(model: Path, options: list) -> None:
    assert _run(model, *options).exit_code == 2


def test_files_that_are_no_models_are_refused(tmp_path: Path) -> None:
    broken = tmp_path / "broken.mps"
    broken.write_text("this is no model\n")
    for path in (broken, tmp_path / "missing.mps"):
        with pytest.raises(wn.InputError):
            wn.read_lp(path, opt=1)
    crossed = tmp_path / "crossed.mps"
    crossed.write_text(SHIFTS.replace(" UP bnd late 700", " UP bnd late 700\n LO bnd late 800"))
    with pytest.raises(wn.InputError, match="infeasible: variable 2 has a lower bound above"):
        wn.read_lp(crossed, opt=1)


def test_people_as_rows_go_through_the_command(tmp_path: Path) -> None:
    lines = ["NAME cover", "ROWS", " N cost", *(f" G p{i}" for i in range(40)), "COLUMNS"]
    for j in range(4):
        lines += [f" x{j} cost 1", *(f" x{j} p{i} 1" for i in range(40) if i % 4 == j)]
    lines += ["RHS", *(f" rhs p{i} 1" for i in range(40)), "ENDATA"]
    path = tmp_path / "cover.mps"
    path.write_text("\n".join(lines) + "\n")
    done = _run(
        path, "--method", "person-rows", "--entries", "0,1", "--sides", "1,1", "--rows", 40,
        "--exceptions", 10, "--opt", 4, "--epsilon", 5, "--delta", 1e-6, "--seed", 1, "--json",
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    assert np.sum(list(json.loads(done.output)["value"]["x"].values())) == pytest.approx(4)
