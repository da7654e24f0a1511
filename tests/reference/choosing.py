"""The option of a request that chooses its method."""

from __future__ import annotations

from typing import Any

from winnow.core.options import Field, Methods, options


def chooser(record: type[Any]) -> Field | None:
    """The option that chooses the method, where there is one."""
    return next((each for each in options(record) if isinstance(each.option, Methods)), None)
