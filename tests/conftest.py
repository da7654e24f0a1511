"""Shared by all tests: where the twins are found, which files come first, which take longest."""

import gc
import os
import signal
import sys
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import settings

sys.path.insert(0, str(Path(__file__).parent))  # so that tests can import `reference`

# Fixed examples: a test run is the same on every machine.
settings.register_profile(
    "winnow", max_examples=50, derandomize=True, deadline=None, print_blob=False
)
settings.load_profile("winnow")

FIRST = (
    "release/test_methods.py",
    "itemsets/test_itemset_miner.py",
    "lp/test_lp.py",
    "plots/test_release_page.py",
)
"""Files that compile most of the kernels, no two of them the same: two processes that start with
them on a cold machine compile everything once, and at the same time."""

LINUX = (
    "ask/test_interactive_journal.py",
    "ask/test_interactive_kills.py",
    "ask/test_interactive_rollback.py",
    "cli/test_databases.py",
    "cli/test_request_key.py",
    "core/test_noisy_top.py",
    "privacy/test_ledger.py",
    "privacy/test_ledger_opening.py",
    "privacy/test_ledger_proofs.py",
    "release/test_at_once.py",
    "select/test_mechanisms.py",
    "serve/test_authorization.py",
    "serve/test_crashes.py",
    "serve/test_disks.py",
    "serve/test_killed_under_load.py",
    "serve/test_plan_workers.py",
)
"""Files that use what Linux has: signals, forks, /proc, modes of files. They carry the marker
``linux`` and are skipped elsewhere; `tests/docs/test_linux.py` finds one that is missing here."""


def pytest_configure() -> None:
    """A process in the background of a script ignores SIGINT; tests of Ctrl-C would never end."""
    gc.disable()  # what is imported and collected stays, see below
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(tryfirst=True)  # before pytest leaves out what carries the marker `extras`
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    cases: Counter[object] = Counter()
    left, out = [], []
    of_linux = {Path(__file__).parent / name for name in LINUX}
    for item in items:
        if item.path in of_linux:
            item.add_marker("linux")
            if sys.platform != "linux":
                item.add_marker(pytest.mark.skip(reason="needs Linux"))
        if item.get_closest_marker("slow"):
            claim = (item.path, getattr(item, "originalname", item.name))
            case, cases[claim] = cases[claim], cases[claim] + 1
            if case and case % 8 != 1 and "WINNOW_WHOLE_SWEEPS" not in os.environ:
                out.append(item)  # of a sweep the first two cases, and then every eighth one
                continue
            if case or not hasattr(item, "callspec"):
                item.add_marker("extras")
        left.append(item)
    items[:] = left
    config.hook.pytest_deselected(items=out)
    place = {Path(__file__).parent / name: number for number, name in enumerate(FIRST)}
    items.sort(key=lambda item: place.get(item.path, len(FIRST)))


def pytest_collection_finish() -> None:
    """To look for garbage among some 600,000 objects that stay would take a fifth of collecting."""
    gc.freeze()
    gc.enable()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """The files that take longest: a slow test is to be noticed when it is written."""
    seconds: Counter[str] = Counter()
    for report in (each for held in terminalreporter.stats.values() for each in held):
        if isinstance(report, pytest.TestReport):
            seconds[report.nodeid.split("::")[0]] += report.duration
    if seconds.total() > 60:
        slowest = ", ".join(f"{name} {took:.0f} s" for name, took in seconds.most_common(8))
        terminalreporter.write_line(f"{seconds.total():.0f} s in all; longest: {slowest}")
