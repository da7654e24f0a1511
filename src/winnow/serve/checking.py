"""What ``winnow serve check`` finds wrong with a configuration; nothing is served or spent."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import msgspec
import numpy as np

from winnow.ask.plan import AskPlan
from winnow.core.relation import Relation
from winnow.core.schema import Schema
from winnow.core.sealed import Sealed
from winnow.errors import DataError, WinnowError
from winnow.privacy import Budget
from winnow.privacy.cap import Amount, Cap
from winnow.privacy.ledger import Ledger
from winnow.privacy.ledger.addresses import store_at
from winnow.privacy.ledger.keys import read_key
from winnow.read.crossing import Rows, SealedTable
from winnow.read.kept import KeptRows
from winnow.serve.config import Config
from winnow.serve.database import database_at
from winnow.serve.datasets import read_data
from winnow.serve.declarations import Declaration, Questions
from winnow.serve.questions import session_plan, state_file
from winnow.serve.stand_in import stand_in
from winnow.serve.store import ServerStore
from winnow.serve.vault import Vault


@dataclass(frozen=True)
class ConfigFindings:
    """What is wrong, each in a sentence that says how to mend it."""

    problems: list[str]
    """With these the server does not start, or a dataset is not served as declared."""
    warnings: list[str]
    """With these it is served, and of no use."""
    notes: list[str]
    """What analysts may expect, from public numbers."""


def check(config: Config) -> ConfigFindings:
    """All that is wrong with a configuration."""
    problems: list[str] = []
    warnings: list[str] = []
    notes: list[str] = []
    for name, declared in config.datasets.items():
        missing = declared.missing(config.home)
        if missing is not None:
            problems.append(f"dataset {name!r}: there is no file {missing!r}")
        try:
            schema = _schema(declared, config.home)
            opened = state_file(config.home, name).exists()  # then it was sized and charged before
            if schema is not None and declared.questions is not None and not opened:
                home = None if missing is not None else config.home
                for kind, text in _of_questions(name, declared, schema, home):
                    {"problem": problems, "warning": warnings, "note": notes}[kind].append(text)
        except WinnowError as error:
            problems.append(f"dataset {name!r}: {error}")
    problems += _missing_folders(config)
    for each in (_check_store, _check_ledger):
        try:
            each(config)
        except WinnowError as error:
            problems.append(str(error))
    return ConfigFindings(problems, warnings, notes)


def _check_store(config: Config) -> None:
    """Refuse what is no key, and a store that cannot be used or has another key; none is made."""
    place, key = config.place(config.store), config.path(config.key)
    vault = Vault.open(key) if key.exists() else None
    if _is_file(place) and not Path(place).exists():
        return
    store = ServerStore(database_at(place), vault or Vault(b""))
    if vault is not None:
        store.check()
    elif store.there:
        raise DataError(
            f"the store of the server is there and its key {key} is not; restore both together"
        )


def _missing_folders(config: Config) -> Iterator[str]:
    """What names a file that cannot be made: the folder it would lie in is not there, or closed."""
    for setting in ("store", "ledger", "key", "ledger_key"):
        given = getattr(config, setting)
        if not given or not _is_file(given) or config.path(given).exists():
            continue
        folder = config.path(given).parent
        if not folder.is_dir():
            yield f"{setting} = {given!r}: there is no folder {str(folder)!r}; make it first"
        elif not os.access(folder, os.W_OK | os.X_OK):
            yield (
                f"{setting} = {given!r}: nothing can be written to the folder {str(folder)!r}; "
                "change its permissions"
            )


def _check_ledger(config: Config) -> None:
    """Refuse a ledger that cannot be used, what is no key, and a key whose ledger is gone."""
    place = config.place(config.ledger)
    named = config.path(config.ledger_key) if config.ledger_key else None
    store = store_at(place)
    if store.exists():
        Ledger.open(place, key_file=named)
    elif named is not None:
        if named.exists():
            read_key(named)
    elif store.default_key_file().exists():
        raise DataError(
            f"the ledger is gone and its key {store.default_key_file()} is still there; restore "
            "the ledger from a copy, or name another one"
        )


def _is_file(place: str) -> bool:
    return "://" not in place and not place.startswith("file:")


def _schema(declared: Declaration, home: Path) -> Schema | None:
    given = declared.schema
    if given is None:
        return None
    return Schema.parse(home / given if isinstance(given, str) else given)


def _of_questions(
    name: str, declared: Declaration, schema: Schema, home: Path | None
) -> Iterator[tuple[str, str]]:
    """Whether the session could be opened, by its plan for made-up rows, and is of any use.

    Each with its kind: a problem, a warning or a note.
    """
    asked = declared.questions
    assert asked is not None
    table = _made_up(declared, schema)
    if table.n is not None:
        if home is None:
            return  # there are no data whose number of rows could be told
        made_up = stand_in(read_data(declared, home, name))
        assert isinstance(made_up, SealedTable)  # as its declaration says
        table = made_up
    refused = _refused(declared, asked, table)
    if refused:
        mended = [each for each in _mends(declared, asked, table) if each]
        would = f" ({' or '.join(mended)} would do)" if mended else ""
        never = f"dataset {name!r}: its session of questions can never open: {refused}{would}"
        yield "problem", never
        return
    error, rows = _planned(declared, asked, table).expected.within, table.n or asked.rows or 0
    whose = "" if table.n is not None else ", if they are as many as declared"
    yield (
        "note",
        (
            f"dataset {name!r}: answers of its session are within {error * rows:,.0f} of {rows:,} "
            f"rows{whose}"
        ),
    )
    if error >= _NO_DATA:
        useless = (
            f"answers of its session may be off by {error:.3g} of the rows, where 'half of them', "
            f"said without looking, is off by {_NO_DATA} at most; give it a larger epsilon, fewer "
            "questions, or more rows"
        )
        yield "warning", f"dataset {name!r}: {useless}"


_NO_DATA = 0.5
"""As a part of the rows: the largest error of an answer that needs no data."""


def _made_up(declared: Declaration, schema: Schema) -> SealedTable:
    """A table of one row, with what is public of the declared one."""
    codes = tuple(np.zeros(1, np.int32) for _ in schema.columns)
    rows: Sealed[Rows | KeptRows] = Sealed(Rows(codes, np.ones(1, np.int64)), "rows")
    drops = any(column.drop for column in schema.columns)
    relation = Relation.parse(declared.neighbours)
    return SealedTable(schema, rows, declared.max_per_person, relation, drops=drops)


def _planned(declared: Declaration, asked: Questions, table: SealedTable) -> AskPlan:
    """The plan of a session that fits the whole cap: what does not, never fits."""
    budget = Budget(declared.epsilon, declared.delta, declared.neighbours)
    plan = session_plan(table, asked, budget)
    cap = Cap.declare(declared.epsilon, declared.delta, declared.neighbours)
    cost = cap.cost(plan.event, Amount(), plan.guarantee)
    cap.after(Amount(), plan.event, cost, plan.guarantee)
    return plan


def _refused(declared: Declaration, asked: Questions, table: SealedTable) -> str:
    """Why a session cannot be opened; empty: it can."""
    try:
        _planned(declared, asked, table)
    except WinnowError as error:
        return str(error)
    return ""


def _mends(declared: Declaration, asked: Questions, table: SealedTable) -> Iterator[str]:
    """The first of fewer questions, and of larger epsilons within the cap, that would do."""
    fewer = [asked.max_queries // 10**i for i in range(1, 10) if asked.max_queries >= 10**i]
    larger = [asked.epsilon * 2**i for i in range(1, 20)]
    larger = [each for each in larger if each < declared.epsilon] + [declared.epsilon]
    for setting, values in (("max_queries", fewer), ("epsilon", larger)):
        for value in values:
            if not _refused(declared, msgspec.structs.replace(asked, **{setting: value}), table):
                yield f"{setting} = {value:g}" if setting == "epsilon" else f"{setting} = {value}"
                break
