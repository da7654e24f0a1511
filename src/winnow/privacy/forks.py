"""What stands for one charge belongs to the process that made it.

A fork copies budgets, grants and open runs with their noise. Parent and child would both use
what was paid once, and two answers with one noise value give their difference away.
"""

from __future__ import annotations

import os

from winnow.errors import GrantError


class Owner:
    """The process in which something was made."""

    __slots__ = ("_process",)

    def __init__(self) -> None:
        self._process = os.getpid()

    @property
    def here(self) -> bool:
        """Whether this is that process."""
        return os.getpid() == self._process

    def check(self, what: str, remedy: str) -> None:
        """Refuse in a copy of that process."""
        if not self.here:
            raise GrantError(
                f"{what} was made by another process, of which this one is a copy (fork); {remedy}"
            )
