"""What ``--universe`` of a method names: a number of cells, or a file with a public list."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from winnow.ask.methods import MultiplicativeWeights
from winnow.cli.universe import universe_file, universe_from

if TYPE_CHECKING:
    from winnow.core.options import Method
    from winnow.core.schema import Schema


def cells_file(method: Method | str) -> Path | None:
    """The file that a method names, if it names one."""
    return universe_file(method.universe) if isinstance(method, MultiplicativeWeights) else None


def with_cells(method: Method | str, schema: Schema | None) -> Method | str:
    """The method with the cells that were typed; those of a file are read."""
    if not isinstance(method, MultiplicativeWeights):
        return method
    return replace(method, universe=universe_from(method.universe, schema))
