"""A release under a request key is charged once, and a retry is the same release."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from shutil import copytree
from typing import Any

import pytest
from typer.main import get_command

import winnow
from reference.commands import invoke
from winnow.cli import retrying
from winnow.cli.app import COMMANDS as TABLE_OF_COMMANDS
from winnow.cli.app import RELEASE, app
from winnow.cli.retrying import RequestRecord
from winnow.cli.running import OUTPUTS
from winnow.core.tape import WrittenKey
from winnow.errors import GrantError, ParameterError
from winnow.privacy.ledger import Ledger, RecordedBudget

MANY = 2000
"""Candidates of one score: two fresh draws agree once in as many tests."""
KEPT = "before the result is kept"


@pytest.fixture(scope="module")
def laid_down(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("nights")
    visits = [f"p{i},page{j}" for i in range(60) for j in range(i % 40)]
    people = ["f,0" if i % 3 else "m,1" for i in range(400)]
    schema = {"sex": {"values": ["f", "m"]}, "bird": {"values": ["0", "1"]}}
    for name, lines in {
        "scores.csv": ["name,n", *(f"c{i},5" for i in range(MANY))],
        "visits.csv": ["visitor,page", *visits],
        "pages.txt": [f"page{j}" for j in range(40)],
        "people.csv": ["sex,bird", *people],
        "schema.json": [json.dumps(schema)],
        "baskets.csv": ["a,b,c" if i % 2 else "b,d" for i in range(300)],
        "vectors.csv": [f"{i % 7},{i % 5},1" for i in range(500)],
        "query.csv": ["0.1", "0.2", "0.3"],
        "predictions.csv": ["1,-1,1,1", "-1,1,1,-1", "1,1,-1,1"],
        "labels.csv": ["1", "1", "-1", "1"],
        "A.csv": ["1,2", "2,1"],
        "b.csv": ["30", "40"],
        "c.csv": ["1", "1"],
    }.items():
        (home / name).write_text("\n".join(lines) + "\n")
    ledger = Ledger.open(home / "ledger.db", create=True)
    for relation in ("add-remove", "substitution"):
        ledger.open_dataset(relation, epsilon=50, delta=1e-3, relation=relation)
    return home


@pytest.fixture
def folder(laid_down: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    copytree(laid_down, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def under(key: str, dataset: str = "add-remove") -> list[object]:
    return ["--ledger", "ledger.db", "--dataset", dataset, "--request-key", key]


SELECT: list[object] = ["select", "scores.csv", "--epsilon", 0.1, "--json"]
_TABLE: list[object] = ["people.csv", "--schema", "schema.json", "--one-row-per-person"]
COMMANDS: dict[str, tuple[list[object], str]] = {
    "select": (SELECT, "add-remove"),
    "top-k": (
        ["top-k", "visits.csv", "--item", "page", "--person", "visitor", "-k", 5, "--epsilon", 1,
         "--items", "pages.txt", "--max-items", 2, "--with-counts", "--json"],
        "add-remove",
    ),
    "itemsets": (
        ["itemsets", "baskets.csv", "--size", 2, "--epsilon", 1, "--delta", 1e-6,
         "--supports", "winners", "--one-basket-per-person", "--max-items", 2],
        "add-remove",
    ),
    "learn": (["learn", *_TABLE, "--target", "bird", "--epsilon", 0.1, "--json"], "substitution"),
    "tabulate": (["tabulate", *_TABLE, "--by", "sex,bird", "--epsilon", 0.1], "substitution"),
    "release": (
        ["release", *_TABLE, "--workload", "marginals:2", "--epsilon", 0.1, "--delta", 1e-6,
         "--answers", "answers.csv"],
        "substitution",
    ),
    "lp": (
        ["lp", "A.csv", "--b", "b.csv", "--c", "c.csv", "--method", "scalar-sides",
         "--sensitivity", 1, "--opt", 20, "--epsilon", 1, "--delta", 1e-6, "--rounds", 9],
        "add-remove",
    ),
    "mips": (
        ["mips", "vectors.csv", "query.csv", "--epsilon", 0.1, "--sensitivity", 1],
        "add-remove",
    ),
    "boost": (
        ["boost", "predictions.csv", "--labels", "labels.csv", "--rounds", 3, "--epsilon", 0.1],
        "add-remove",
    ),
}  # fmt: skip


def charges(dataset: str = "add-remove") -> int:
    shown = json.loads(invoke(["ledger", "show", "ledger.db", "--json"]).stdout)
    return next(each["charges"] for each in shown["datasets"] if each["label"] == dataset)


def kept(key: str) -> Any:
    return RequestRecord(Ledger.open("ledger.db"), "", key).read()


def broken_at(point: str) -> retrying.Step:
    def step(name: str) -> None:
        if name == point:
            raise RuntimeError

    return step


@pytest.mark.parametrize("name", COMMANDS)
def test_a_retry_of_every_command_pays_once_and_is_the_same_release(
    name: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    line, dataset = COMMANDS[name]
    unseen: list[retrying.KeptRequest] = []
    write = retrying.RequestRecord.write

    def lost(record: retrying.RequestRecord, kept: retrying.KeptRequest) -> None:
        if not kept.done:
            return write(record, kept)
        unseen.append(kept)
        raise RuntimeError("the disk is full")

    monkeypatch.setattr(retrying.RequestRecord, "write", lost)
    files = set(folder.rglob("*"))
    first = invoke([*line, *under("night 1", dataset)])
    monkeypatch.setattr(retrying.RequestRecord, "write", write)
    assert first.exit_code == 1 and first.stdout == ""  # what is not kept is not seen
    assert {file.suffix for file in set(folder.rglob("*")) - files} <= {"", ".requests", ".sealed"}
    assert not kept("night 1").done and kept("night 1").secret
    drawn_again = invoke([*line, *under("night 1", dataset)])
    assert drawn_again.exit_code == 0, drawn_again.stderr
    assert drawn_again.stdout == unseen[0].printed
    assert kept("night 1").done and not kept("night 1").secret
    assert kept("night 1").files == unseen[0].files
    shown_again = invoke([*line, *under("night 1", dataset)])
    assert shown_again.exit_code == 0 and shown_again.stdout == unseen[0].printed
    assert "nothing is charged again" in shown_again.stderr
    assert charges(dataset) == 1


def test_one_process_has_a_request_at_a_time(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retrying, "PATIENCE", 0.05)
    second: list[Any] = []

    def meanwhile(name: str) -> None:
        if name == "before the charge" and not second:
            second.append(None)
            second[0] = invoke([*SELECT, *under("night 1")])

    before = retrying.step.set(meanwhile)
    first = invoke([*SELECT, *under("night 1")])
    retrying.step.reset(before)
    assert first.exit_code == 0 and charges() == 1
    assert second[0].exit_code == 3 and "running this request" in second[0].stderr
    assert second[0].stdout == ""


KILL = """
import os, sys
import winnow.core.run as run
from winnow.cli import main, retrying
point, sys.argv = sys.argv[1], ["winnow", *sys.argv[2:]]
def end(*_, **__): os._exit(9)
retrying.step.set(lambda name: end() if name == point else None)
if point == "after the charge":
    run.spend = end
if point == "after the draw":
    drawn = run._released
    def released(*given):
        made = drawn(*given)
        open("seen.txt", "w").write(made.value)
        end()
    run._released = released
main()
"""


@pytest.mark.parametrize(
    "point",
    [
        "before the charge",
        "after the charge",
        "after the draw",
        pytest.param(KEPT, marks=pytest.mark.extras),
        pytest.param("after the result is kept", marks=pytest.mark.extras),
    ],
)
def test_a_process_killed_anywhere_pays_once_on_retry(point: str, folder: Path) -> None:
    line = [*SELECT, "--out", "top.json", *under("night 1")]
    environment = {**os.environ, "PYTHONPATH": str(Path(winnow.__file__).parents[1])}
    done = subprocess.run(
        [sys.executable, "-c", KILL, point, *map(str, line)],
        env=environment, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert done.returncode == 9 and done.stdout == "", done.stderr
    seen = Path("top.json").read_text() if Path("top.json").exists() else None
    assert charges() == (0 if point == "before the charge" else 1)
    again = invoke(line)
    assert again.exit_code == 0, again.stderr
    assert charges() == 1
    value = json.loads(again.stdout)["value"]
    assert json.loads(Path("top.json").read_text())["value"] == value
    if seen is not None:
        assert json.loads(seen)["value"] == value
    if Path("seen.txt").exists():
        assert Path("seen.txt").read_text() == value


def test_other_data_are_not_drawn_on_for_the_same_charge(folder: Path) -> None:
    before = retrying.step.set(broken_at(KEPT))
    invoke([*SELECT, *under("night 1")])
    retrying.step.reset(before)
    whole = Path("scores.csv").read_text()
    Path("scores.csv").write_text(whole.replace("c7,5", "c7,6"))
    done = invoke([*SELECT, *under("night 1")])
    assert done.exit_code == 3 and done.stdout == ""
    assert "files that it reads have changed" in json.loads(done.stderr)["error"]["message"]
    assert charges() == 1
    Path("scores.csv").write_text(whole)
    assert invoke([*SELECT, *under("night 1")]).exit_code == 0
    assert charges() == 1


def test_another_version_does_not_draw_again(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = retrying.step.set(broken_at(KEPT))
    invoke([*SELECT, *under("night 1")])
    retrying.step.reset(before)
    monkeypatch.setattr(retrying, "__version__", "0.0.1")
    done = invoke([*SELECT, *under("night 1")])
    assert done.exit_code == 3 and "winnow 0.0.1" in done.stderr


def test_what_was_not_charged_may_be_asked_on_other_data(folder: Path) -> None:
    before = retrying.step.set(broken_at("before the charge"))
    assert invoke([*SELECT, *under("night 1")]).exit_code == 1
    retrying.step.reset(before)
    Path("scores.csv").write_text("name,n\noak,5\nelm,99999\n")
    done = invoke([*SELECT, *under("night 1")])
    assert json.loads(done.stdout)["value"] == "elm" and charges() == 1


def test_what_was_kept_is_shown_whatever_became_of_the_data(folder: Path) -> None:
    first = invoke([*SELECT, *under("night 1")])
    Path("scores.csv").unlink()
    again = invoke([*SELECT, *under("night 1")])
    assert again.exit_code == 0 and again.stdout == first.stdout


def test_another_request_under_the_same_key_is_refused_by_what_differs(folder: Path) -> None:
    invoke([*SELECT, *under("night 1")])
    done = invoke([*SELECT, "--monotone", "-k", 3, *under("night 1")])
    assert done.exit_code == 2 and done.stdout == ""
    message = json.loads(done.stderr)["error"]["message"]
    assert "-k" in message and "--monotone" in message and "--epsilon" not in message
    other = invoke(["select", "visits.csv", *SELECT[2:], *under("night 1")])
    assert "FILE differ" in other.stderr
    assert charges() == 1


def test_another_key_is_another_release(folder: Path) -> None:
    first, second = (invoke([*SELECT, *under(key)]) for key in ("night 1", "night 2"))
    values = {json.loads(done.stdout)["value"] for done in (first, second)}
    assert len(values) == 2 and charges() == 2


def test_files_are_written_again(folder: Path) -> None:
    line = ["select", "scores.csv", "--epsilon", 0.1, "--out", "top.csv", "--quiet"]
    assert invoke([*line, *under("night 1")]).exit_code == 0
    written = Path("top.csv").read_bytes()
    Path("top.csv").unlink()
    again = invoke([*line, *under("night 1")])
    assert (again.exit_code, again.output) == (0, "")
    assert Path("top.csv").read_bytes() == written


def test_a_charge_whose_record_is_gone_is_not_drawn_again(folder: Path) -> None:
    invoke([*SELECT, *under("night 1")])
    for file in Path("ledger.db.requests").iterdir():
        file.unlink()
    done = invoke([*SELECT, *under("night 1")])
    assert done.exit_code == 3 and "was not kept here" in done.stderr and charges() == 1


def test_a_refused_charge_leaves_the_key_free(folder: Path) -> None:
    done = invoke(["select", "scores.csv", "--epsilon", 99, "--json", *under("night 1")])
    assert done.exit_code == 3 and kept("night 1") is None
    assert invoke([*SELECT, *under("night 1")]).exit_code == 0


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ([*SELECT, "--request-key", "a"], "needs a ledger"),
        ([*SELECT, "--seed", 1, *under("a")], "--seed and --request-key contradict"),
        (["select", "-", "--epsilon", 1, *under("a")], "standard input"),
        ([*SELECT, *under(" a")], "key that the caller chooses"),
        (["ask", *_TABLE, "--epsilon", 1, "--delta", 1e-6, *under("a", "substitution")], "--state"),
    ],
)
def test_what_cannot_be_tried_again_is_refused_before_the_charge(
    line: list[object], says: str, folder: Path
) -> None:
    done = invoke(line)
    assert done.exit_code == 2 and says in done.stderr
    assert charges() == charges("substitution") == 0


def test_the_record_shows_neither_the_noise_nor_the_data(folder: Path) -> None:
    before = retrying.step.set(broken_at(KEPT))
    invoke([*SELECT, *under("night 1")])
    retrying.step.reset(before)
    secret = kept("night 1").secret
    (file,) = Path("ledger.db.requests").iterdir()
    content = file.read_bytes()
    for text in (secret.encode(), bytes.fromhex(secret), b"scores", b"night 1", b"options"):
        assert text not in content
    assert "night" not in file.name
    assert (file.parent.stat().st_mode & 0o777) == 0o700


def test_a_record_that_was_changed_is_refused(folder: Path) -> None:
    invoke([*SELECT, *under("night 1")])
    (file,) = Path("ledger.db.requests").iterdir()
    content = file.read_bytes()
    file.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    done = invoke([*SELECT, *under("night 1")])
    assert done.exit_code == 2 and "was sealed was changed" in done.stderr


def test_the_salt_of_a_person_s_rows_comes_from_the_key() -> None:
    from winnow.read.salts import salt_of_run, salted_by

    key = WrittenKey.fresh()
    with salted_by(key):
        first = salt_of_run(None)
        assert salt_of_run("mine") == "mine"
    with salted_by(key):
        assert salt_of_run(None) == first
    with salted_by(WrittenKey.fresh()):
        assert salt_of_run(None) != first
    assert salt_of_run(None) is None and first is not None and key.secret.hex() not in first


def requested(folder: Path, key: WrittenKey) -> RecordedBudget:
    ledger = Ledger.open(folder / "ledger.db")
    return RecordedBudget(ledger, "add-remove", request="r", written=key)


def test_a_budget_with_a_written_key_draws_from_it_once(folder: Path) -> None:
    scores = {f"c{i}": 5 for i in range(MANY)}
    key = WrittenKey.fresh()
    budget = requested(folder, key)
    first = winnow.select(scores, epsilon=0.1, budget=budget)
    with pytest.raises(GrantError, match="is for one release"):
        winnow.select(scores, epsilon=0.1, budget=budget)
    again = winnow.select(scores, epsilon=0.1, budget=requested(folder, key))
    assert again.value == first.value and charges() == 1
    with pytest.raises(GrantError, match="one charge stands for one draw"):
        winnow.select(scores, epsilon=0.1, budget=requested(folder, WrittenKey.fresh()))


def test_a_seed_and_a_written_key_are_refused_before_the_charge(folder: Path) -> None:
    with pytest.raises(ParameterError, match="contradict"):
        winnow.select(
            {"a": 1, "b": 2}, epsilon=1, seed=1, budget=requested(folder, WrittenKey.fresh())
        )
    with pytest.raises(GrantError, match="goes on after its charge"):
        winnow.open_selection(epsilon=1, budget=requested(folder, WrittenKey.fresh()))
    assert charges() == 0


READ = {"file", "items", "schema", "test", "batch", "table", "b", "c", "candidates", "query",
        "names", "predictions", "labels", "state", "ledger_key", "settings", "groups",
        "join"}  # fmt: skip


def test_every_file_that_a_command_names_is_known_to_be_read_or_written() -> None:
    made: Any = get_command(app)
    for row in TABLE_OF_COMMANDS:
        if row.panel == RELEASE:
            for param in made.commands[row.name].params:
                if "Path" in str(param.type_descriptor):
                    assert (param.name in READ) != (param.name in OUTPUTS), (row.name, param.name)


@pytest.mark.parametrize(
    ("name", "file"),
    [("boost", "labels.csv"), ("lp", "b.csv"), ("mips", "query.csv"), ("top-k", "pages.txt"),
     ("tabulate", "schema.json")],
)  # fmt: skip
def test_no_file_may_change_between_a_charge_and_a_second_draw(
    name: str, file: str, folder: Path
) -> None:
    line, dataset = COMMANDS[name]
    before = retrying.step.set(broken_at(KEPT))
    assert invoke([*line, *under("night 1", dataset)]).exit_code == 1
    retrying.step.reset(before)
    Path(file).write_text(Path(file).read_text() + "\n")
    refused = invoke([*line, *under("night 1", dataset)])
    assert refused.exit_code == 3 and "have changed since" in refused.stderr


def test_a_request_that_was_begun_and_not_charged_keeps_its_key(folder: Path) -> None:
    def killed(name: str) -> None:
        if name == "before the charge":
            raise RuntimeError

    before = retrying.step.set(killed)
    invoke([*SELECT, *under("night 1")])
    first = kept("night 1").secret
    invoke([*SELECT, *under("night 1")])
    assert kept("night 1").secret == first and first not in repr(kept("night 1"))
    Path("scores.csv").write_text("name,n\noak,5\nelm,99999\n")
    invoke([*SELECT, *under("night 1")])
    assert kept("night 1").secret != first
    retrying.step.reset(before)
    assert charges() == 0
