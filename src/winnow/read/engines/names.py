"""Names for what is made for a moment inside somebody else's engine."""

from __future__ import annotations

import os


def own_name(what: str) -> str:
    """A name that nobody else has: a fixed one would be shared by threads, or be the user's."""
    return f"winnow_{what}_{os.urandom(8).hex()}"
