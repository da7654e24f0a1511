"""Parameters that protect nobody are said so, on stderr, before anything is released."""

from __future__ import annotations

from pathlib import Path

import pytest

from winnow.audit.replay.commands import shown
from winnow.cli.reporting import as_typed, options_of_command, weak_promises


@pytest.mark.parametrize(
    ("epsilon", "delta", "people", "said"),
    [
        (1e9, 0.0, None, ["--epsilon 1e+09 promises next to nothing"]),
        (1.0, 0.1, None, ["one person in 10"]),
        (1.0, 1e-4, 5000, []),
        (1.0, 3e-4, 5000, ["more than 1 divided by --rows 5000"]),
        (50.0, 0.5, 3, ["--epsilon 50", "one person in 2"]),
        (1.0, 1e-6, None, []),
        (20.0, 0.0, 10, []),
        (None, None, None, []),
        (float("nan"), -1.0, 0, []),
    ],
)
def test_what_protects_nobody_is_said(
    epsilon: float, delta: float, people: int, said: list[str]
) -> None:
    warnings = list(weak_promises(epsilon, delta, people))
    assert len(warnings) == len(said)
    assert all(words in warning for words, warning in zip(said, warnings, strict=True))


def test_a_command_warns_and_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("votes.csv").write_text("label,score\noak,40\nelm,3\n")
    done = shown("select", "votes.csv", "--epsilon", "1e9", "--seed", 1, "--json")
    assert done.exit == 0 and done.stderr.startswith("warning: --epsilon 1e+09")
    assert shown("select", "votes.csv", "--epsilon", "1", "--seed", 1, "--json").stderr == ""


def test_options_of_text_files_are_those_of_every_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("t.csv").write_bytes("1;f\xf6\n0;m\n".encode("latin-1") * 40)
    Path("s.json").write_text('{"x": 2, "sex": {"values": ["f\u00f6", "m"]}}', encoding="utf-8")
    written = ("--delimiter", ";", "--encoding", "latin-1", "--names", "x,sex")
    table = ("t.csv", "--schema", "s.json", *written)
    noise = ("--one-row-per-person", "--epsilon", 1, "--seed", 1)
    for words in (
        ("schema", "check", *table),
        ("tabulate", *table, "--by", "sex", *noise),
        ("learn", *table, "--target", "x", "--method", "stumps", *noise),
        ("top-k", "t.csv", *written, "--item", "sex", "-k", 1, "--delta", 1e-6, *noise),
    ):
        done = shown(*words)
        assert done.exit == 0, (words, done)
    drafted = shown("schema", "draft", "t.csv", *written)
    assert drafted.exit == 0 and '"sex"' in drafted.stdout and "m" not in drafted.stdout.split()
    Path("t.csv").write_bytes("f\xf6;5\nm;90\n".encode("latin-1"))
    named = (*written[:-1], "sex,n")
    Path("b.csv").write_bytes("1;f\xf6\n".encode("latin-1"))
    for words in (
        ("top-k", "t.csv", "--item", "sex", "--count", "n", "--labels", "public", "-k", 1, *named),
        ("select", "t.csv", "--label", "sex", "--score", "n", *named),
        ("itemsets", "b.csv", "--size", 1, "--basket", "x", "--item", "sex", "--delta", 1e-6,
         "--one-basket-per-person", *written),
    ):  # fmt: skip
        done = shown(*words, "--epsilon", 1, "--seed", 1)
        assert done.exit == 0, (words, done)


def test_messages_speak_of_options_as_they_are_typed() -> None:
    options = {"item": "--item", "epsilon": "--epsilon", "one_row": "--one-row-per-person",
               "delimiter": "--delimiter", "monotone": "--monotone", "k": "-k"}  # fmt: skip
    options_of_command.set(options)
    for said, typed in (
        ("epsilon=-1.5 is not positive", "--epsilon -1.5 is not positive"),
        ("give item=, epsilon=1e-06.", "give --item, --epsilon 1e-06."),
        ("Pure(epsilon=1) (epsilon=2)", "Pure(epsilon=1) (--epsilon 2)"),
        ("say delimiter=';' (--delimiter ';') or unit='row'",
         "say --delimiter ';' or --one-row-per-person"),
        ("monotone=True and k=3; not monotone=False", "--monotone and -k 3; not monotone=False"),
        ("item='a b' and 'item=3', x.item=4", "--item 'a b' and 'item=3', x.item=4"),
    ):  # fmt: skip
        assert as_typed(said) == typed


def test_a_default_ledger_serves_commands_on_tables_and_on_logs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("t.csv").write_text("sex\n" + "f\nm\n" * 60)
    Path("s.json").write_text('{"sex": {"values": ["f", "m"]}}')
    record = ("--ledger", "l.db", "--dataset", "d", "--epsilon", 0.4, "--one-row-per-person")
    for neighbours in ("add-remove", "substitution"):
        Path("l.db").unlink(missing_ok=True)
        Path("l.db.key").unlink(missing_ok=True)
        cap = ("--epsilon", 1, "--delta", 1e-5, "--relation", neighbours)
        assert shown("ledger", "init", "l.db", "--dataset", "d", *cap).exit == 0
        for words in (
            ("tabulate", "t.csv", "--schema", "s.json", "--by", "sex"),
            ("top-k", "t.csv", "--item", "sex", "-k", 1, "--delta", 1e-6),
        ):
            done = shown(*words, *record)
            assert done.exit == 0 and neighbours in done.stdout, (words, done)
    refused = shown("tabulate", "t.csv", "--schema", "s.json", "--by", "sex", *record,
                    "--relation", "add-remove")  # fmt: skip
    assert refused.exit == 2 and "give --relation substitution" in refused.stderr
