"""``winnow serve`` on the command line: a configuration, tokens, datasets, shares, a server."""

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx
import pytest

from reference.commands import invoke as invoked
from serve.loading import free_port, process_of, write_config


def invoke(*words: str) -> Any:
    """One command."""
    return invoked(list(words))


@pytest.fixture
def config(tmp_path: Path) -> str:
    write_config(tmp_path)
    return str(tmp_path / "winnow.toml")


def test_a_configuration_is_checked_before_anything_is_served(config: str, tmp_path: Path) -> None:
    fine = invoke("serve", "check", "--config", config)
    assert fine.exit_code == 0 and "1 dataset," in fine.stdout
    (tmp_path / "people.csv").unlink()
    (tmp_path / "schema.json").write_text("{}")
    wrong = invoke("serve", "check", "--config", config, "--json")
    assert wrong.exit_code == 1 and len(json.loads(wrong.stdout)["problems"]) == 2
    Path(config).write_text("listen = 7")
    assert invoke("serve", "check", "--config", config).exit_code == 2
    missing = invoke("serve", "check", "--config", "nowhere.toml")
    assert missing.exit_code == 2 and "winnow serve demo" in missing.stderr


@pytest.mark.extras
def test_a_session_that_can_never_open_is_a_problem_that_says_what_would_do(tmp_path: Path) -> None:
    """By the verb that would open it, up to its charge: the mends that are named do mend it."""
    write_config(tmp_path, max_queries=1000)
    config = str(tmp_path / "winnow.toml")
    written = Path(config).read_text()

    def problems(**changed: tuple[str, str]) -> list[str]:
        text = written
        for old, new in changed.values():
            assert old in text
            text = text.replace(old, new)
        Path(config).write_text(text)
        return list(
            json.loads(invoke("serve", "check", "--config", config, "--json").stdout)["problems"]
        )

    small = ("epsilon = 10.0", "epsilon = 0.004")
    [problem] = problems(small=small)
    assert "'people': its session of questions can never open" in problem
    assert "ask for a larger epsilon, fewer questions, or more rows" in problem
    would = re.search(r"\(max_queries = (\d+) or epsilon = ([\d.]+) would do\)", problem)
    assert would is not None
    fewer = ("max_queries = 1000", f"max_queries = {would[1]}")
    assert not problems(small=small, fewer=fewer)
    assert not problems(larger=("epsilon = 10.0", f"epsilon = {would[2]}"))

    private = ("epsilon = 100\n", "epsilon = 100\nrelation = 'add-remove'\n")
    [problem] = problems(private=private)
    assert "give a public number with rows=" in problem
    method = 'method = "auto"'
    assert not problems(private=private, rows=(method, f"{method}\nrows = 20000"))
    [problem] = problems(private=private, few=(method, f"{method}\nrows = 2"))
    assert "can never open" in problem
    assert not (tmp_path / "winnow.ledger").exists() and not (tmp_path / "sessions").exists()


def test_tokens_datasets_and_shares_are_looked_after(config: str, tmp_path: Path) -> None:
    made = invoke("serve", "token", "new", "ann", "--dataset", "people", "--config", config)
    assert made.exit_code == 0 and re.fullmatch(r"wnw_[\w-]{43}\n", made.stdout)
    listed = invoke("serve", "token", "list", "--json", "--config", config)
    (token,) = json.loads(listed.stdout)
    assert token["principal"] == "ann" and made.stdout.strip() not in listed.stdout
    assert invoke("serve", "token", "revoke", token["id"], "--config", config).exit_code == 0
    assert "ended" in invoke("serve", "token", "list", "--config", config).stdout
    assert invoke("serve", "token", "revoke", "nobody", "--config", config).exit_code == 2
    for wrong in (["house"], ["a/b"], [" a"], ["ann", "--role", "owner"], ["b", "--scopes", "all"]):
        refused = invoke("serve", "token", "new", *wrong, "--config", config)
        assert refused.exit_code == 2 and "Traceback" not in refused.stderr
    added = ["serve", "dataset", "add", "again", "--path", "people.csv", "--epsilon", "1"]
    assert invoke(*added, "--config", config).exit_code == 2  # a table needs its schema
    with_schema = [*added, "--schema", "schema.json", "--config", config]
    assert "added" in invoke(*with_schema).stdout
    assert "is there already" in invoke(*with_schema).stdout
    assert invoke(*with_schema, "--delta", "1e-6").exit_code == 2  # a declaration stays
    assert "again" in invoke("serve", "dataset", "list", "--config", config).stdout
    share = ["serve", "share", "set", "again", "ann", "0.25", "--config", config]
    assert invoke(*share).exit_code == 0
    share[3] = "nobody"
    assert invoke(*share).exit_code == 2


@pytest.mark.extras
def test_the_demo_serves_until_it_is_told_to_stop(tmp_path: Path) -> None:
    port = free_port()
    words = ["serve", "demo", "--folder", str(tmp_path / "demo"), "--port", str(port)]
    process = subprocess.Popen(
        [sys.executable, "-m", "winnow", *words], stdout=subprocess.PIPE, text=True,
        env=os.environ | {"PYTHONUNBUFFERED": "1"},
    )  # fmt: skip
    try:
        assert process.stdout is not None
        lines = ""
        while "curl" not in lines:
            line = process.stdout.readline()
            assert line, lines
            lines += line
        tokens = dict(re.findall(r"(olga|ann|bob)\s+(wnw_\S+)", lines))
        assert set(tokens) == {"olga", "ann", "bob"}
        transport = httpx.HTTPTransport(retries=8)
        with httpx.Client(transport=transport, base_url=f"http://127.0.0.1:{port}") as client:
            headers = {"authorization": f"Bearer {tokens['bob']}"}
            found = client.get("/v1/datasets", headers=headers).json()
        assert [each["name"] for each in found["datasets"]] == ["people"]
        second = invoke(*words)
        assert second.exit_code == 2 and "another server" in second.stderr
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) in (0, -signal.SIGTERM)
    finally:
        process.kill()
        process.communicate()


@pytest.mark.extras
def test_what_goes_wrong_while_a_server_starts_is_in_its_log(tmp_path: Path) -> None:
    """Before, the log was opened after the datasets: why one is missing was told nowhere."""
    port, _ = write_config(tmp_path)
    (tmp_path / "people.csv").write_text("age,town\n1,2\n")
    with process_of(tmp_path, port):
        pass
    assert "the dataset 'people' could not be opened [" in (tmp_path / "log.txt").read_text()
