"""What stands for one charge belongs to the process that made it.

A fork copies budgets, grants, tapes and open runs with their noise. Parent and child would both
use what was paid once, and two answers with one noise value give their difference away.
"""

from __future__ import annotations

import os

from winnow.errors import GrantError

_forks = 0


def _count() -> None:
    global _forks
    _forks += 1


if hasattr(os, "register_at_fork"):  # numbers of processes come again, the count does not
    os.register_at_fork(after_in_child=_count)


class Owner:
    """The process in which something was made."""

    __slots__ = ("_forks", "_process")

    def __init__(self) -> None:
        self._process, self._forks = os.getpid(), _forks

    @property
    def here(self) -> bool:
        """Whether this is that process."""
        return self._forks == _forks and self._process == os.getpid()

    def check(self, what: str, remedy: str) -> None:
        """Refuse in a copy of that process."""
        if not self.here:
            raise GrantError(
                f"{what} was made by another process, of which this one is a copy (fork); {remedy}"
            )
