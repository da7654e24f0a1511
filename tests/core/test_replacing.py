"""What a guarantee rests on is never replaced by a result, and no file is left half written."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

import winnow as wn
from reference.commands import invoke
from winnow.core.replacing import SESSION
from winnow.core.saving import check_target, write_whole
from winnow.errors import DataError, SavingError
from winnow.privacy.ledger import Ledger
from winnow.privacy.ledger.keys import make_key

SCHEMA = wn.Schema.parse({"a": 3})


def ledger(path: Path) -> None:
    Ledger.open(path, create=True)


def session(path: Path) -> None:
    path.write_bytes(SESSION + b"2}\n")


@pytest.mark.parametrize("make", [ledger, session, make_key])
def test_a_ledger_a_state_and_a_key_are_never_replaced(tmp_path: Path, make: Any) -> None:
    path, linked = tmp_path / "kept.json", tmp_path / "linked.json"
    make(path)
    before = path.read_bytes()
    linked.symlink_to(path)
    for target in (path, linked):
        with pytest.raises(DataError, match=r"cannot save to .*name another file"):
            check_target(target)
        with pytest.raises(SavingError, match="is not overwritten; choose another"):
            write_whole(target, b"{}")
        with pytest.raises(DataError, match="the schema cannot be written"):
            SCHEMA.save(target)
    assert path.read_bytes() == before


@pytest.mark.parametrize("content", [b"", b"{}\n", b"a,b\n", b"0" * 63, b"ab" * 65, b"SQLite\n"])
def test_any_other_file_is_replaced_as_asked(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "old.json"
    path.write_bytes(content)
    check_target(path)
    write_whole(path, b"{}")
    assert path.read_bytes() == b"{}" and os.listdir(tmp_path) == ["old.json"]


def test_a_schema_that_cannot_be_written_leaves_the_old_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "schema.json"
    SCHEMA.save(path)
    before = path.read_bytes()

    def full(handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(DataError, match="No space"):
        wn.Schema.parse({"b": 2}).save(path)
    assert path.read_bytes() == before and os.listdir(tmp_path) == ["schema.json"]


def test_a_command_charges_nothing_for_what_would_replace_its_ledger(tmp_path: Path) -> None:
    place = tmp_path / "ledger.json"
    kept = Ledger.open(place, create=True)
    kept.open_dataset("d", epsilon=1.0, delta=0.0, relation="add-remove")
    before = place.read_bytes()
    (tmp_path / "scores.csv").write_text("a,3\nb,1\n")
    asked = ["select", tmp_path / "scores.csv", "--epsilon", 1, "--relation", "add-remove"]
    asked += ["--ledger", place, "--dataset", "d", "--out", place]
    result = invoke(asked)
    assert result.exit_code == 2 and "such as a ledger" in result.stderr
    assert place.read_bytes() == before


@pytest.mark.parametrize("name", ["people.csv", "schema.json", "sightings.csv", "counts.csv"])
def test_made_up_data_replace_nobodys_own(tmp_path: Path, name: str) -> None:
    own = tmp_path / name
    own.write_text("my own\n")
    refused = invoke(["demo", "--write", tmp_path])
    assert refused.exit_code == 2 and "it was left as it is" in refused.stderr
    assert own.read_text() == "my own\n"
    own.unlink()
    for _ in range(2):  # what it wrote itself may be written again
        assert invoke(["demo", "--write", tmp_path]).exit_code == 0


@pytest.mark.parametrize("name", ["people.csv", "schema.json", "sightings.csv"])
def test_the_demo_of_a_server_replaces_nobodys_own(tmp_path: Path, name: str) -> None:
    pytest.importorskip("starlette")
    from winnow.serve.demo import prepare

    (tmp_path / name).write_text("my own\n")
    with pytest.raises(DataError, match="it was left as it is"):
        prepare(tmp_path)
    assert (tmp_path / name).read_text() == "my own\n"
