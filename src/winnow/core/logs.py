"""What Python's logging is told, under the logger ``winnow``: what was charged and released.

A record holds public facts alone, those of a receipt: never a released value, a private one, a
number of rows or a time of its own. The facts of a record are in its attribute ``facts``.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Any

LOG = logging.getLogger("winnow")
LOG.addHandler(logging.NullHandler())  # silent unless somebody listens


def tell(event: str, facts: Callable[[], Mapping[str, Any]], level: int = logging.INFO) -> None:
    """Log that something happened, with public facts; they are put together if anybody listens."""
    if LOG.isEnabledFor(level):
        told = dict(facts())
        said = ", ".join(f"{name} {value}" for name, value in told.items())
        LOG.log(level, "%s: %s", event, said, extra={"event": event, "facts": told})
