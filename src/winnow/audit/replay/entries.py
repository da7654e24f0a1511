"""The table of replays: every verb with every option that it takes, and every command."""

from __future__ import annotations

from functools import lru_cache

from winnow.audit.replay.commands import command_replays
from winnow.audit.replay.compare import Replay
from winnow.audit.replay.programs import program_replays
from winnow.audit.replay.readers import reader_replays
from winnow.audit.replay.selections import selection_replays
from winnow.audit.replay.tables import table_replays


@lru_cache(maxsize=1)
def replays() -> tuple[Replay, ...]:
    """All entries, those of commands last."""
    of_tables = (*table_replays(), *program_replays(), *reader_replays())
    return (*selection_replays(), *of_tables, *command_replays())
