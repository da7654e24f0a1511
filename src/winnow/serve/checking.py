"""What ``winnow serve check`` finds wrong with a configuration; nothing is served or spent."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec
import numpy as np

from winnow.core.relation import Relation
from winnow.core.schema import Schema
from winnow.core.sealed import Sealed
from winnow.core.unit import PERSON, Unit
from winnow.errors import WinnowError
from winnow.privacy import Budget, Event, Grant
from winnow.privacy.ledger.keys import check_private
from winnow.read.crossing import Rows, SealedTable
from winnow.read.kept import KeptRows
from winnow.serve.config import Config
from winnow.serve.datasets import read_data, stand_in
from winnow.serve.declarations import Declaration, Questions
from winnow.serve.questions import new_session, state_file


def problems(config: Config) -> list[str]:
    """Every problem in a sentence that says how to mend it."""
    found = []
    for name, declared in config.datasets.items():
        files = declared.files(config.home)
        missing = not files or not all(file.is_file() for file in files)
        if missing:
            found.append(f"dataset {name!r}: there is no file {declared.path!r}")
        try:
            schema = _schema(declared, config.home)
            opened = state_file(config.home, name).exists()  # then it was sized and charged before
            if schema is not None and declared.questions is not None and not opened:
                found += _of_questions(name, declared, schema, None if missing else config.home)
        except WinnowError as error:
            found.append(f"dataset {name!r}: {error}")
    for key in (config.key, config.ledger_key):
        if key and config.path(key).exists():
            try:
                check_private(config.path(key), "the key")
            except WinnowError as error:
                found.append(str(error))
    return found


def _schema(declared: Declaration, home: Path) -> Schema | None:
    given = declared.schema
    if given is None:
        return None
    return Schema.parse(home / given if isinstance(given, str) else given)


def _of_questions(
    name: str, declared: Declaration, schema: Schema, home: Path | None
) -> Iterator[str]:
    """Whether the session could be opened: by its own verb, up to the charge, on made-up rows."""
    asked = declared.questions
    assert asked is not None
    table = _made_up(declared, schema)
    if table.n is not None:
        if home is None:
            return  # there are no data whose number of rows could be told
        found = stand_in(read_data(declared, home, name))
        assert isinstance(found, SealedTable)  # questions are asked of a table, by its declaration
        table = found
    refused = _refused(declared, asked, table)
    if refused:
        mended = [each for each in _mends(declared, asked, table) if each]
        would = f" ({' or '.join(mended)} would do)" if mended else ""
        yield f"dataset {name!r}: its session of questions can never open: {refused}{would}"


def _made_up(declared: Declaration, schema: Schema) -> SealedTable:
    """A table of one row, with what is public of the declared one."""
    codes = tuple(np.zeros(1, np.int32) for _ in schema.columns)
    rows: Sealed[Rows | KeptRows] = Sealed(Rows(codes, np.ones(1, np.int64)), "rows")
    drops = any(column.drop for column in schema.columns)
    relation = Relation.parse(declared.neighbours)
    return SealedTable(schema, rows, declared.max_per_person, relation, drops=drops)


class _Opens(WinnowError):
    """Ends the opening of a session at its charge: it fits."""


class _Whole(Budget):
    """The whole cap, of which nothing was used: what does not fit it, never fits."""

    def charge(self, event: Event, *, unit: Unit = PERSON) -> Grant:
        """Refuse what does not fit; else end the call before anything is drawn."""
        super().charge(event, unit=unit)
        raise _Opens("the session could be opened")


def _refused(declared: Declaration, asked: Questions, table: SealedTable) -> str:
    """Why a session cannot be opened; empty: it can."""
    try:
        new_session(table, asked, _Whole(declared.epsilon, declared.delta, declared.neighbours))
    except _Opens:
        return ""
    except WinnowError as error:
        return str(error)
    raise AssertionError("a session was opened without its charge")


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
