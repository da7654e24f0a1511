"""What is said when an engine fails: what was to be done, the type of its error, what to check."""

from __future__ import annotations

from winnow.errors import ForeignError
from winnow.foreign import instead, reason, shown

FILES = "check that the file is whole and that its first line names the columns"
FRAME = "check that its columns hold one type"
TABLE = "check that the table or query exists and runs by itself"
SPARK = "check that it can be read by itself"
ANY = (
    "check that a file is whole and that its first line names the columns, or that a table or "
    "query exists and runs by itself"
)


def engine(what: str, check: str = ANY, memory: str | None = None) -> instead:
    """Around the work of an engine, which may quote rows when it fails.

    ``what`` is the sentence to say, such as 'the source cannot be read'.
    """

    def refusal(error: BaseException) -> ForeignError:
        if type(error).__name__ == "OutOfMemoryException":  # DuckDB's
            given = "the memory" if memory is None else f"memory={shown(memory)}"
            return ForeignError(f"{what}: {given} is not enough; allow more, or name less")
        return ForeignError(f"{what} ({reason(error)}); {check}")

    return instead(refusal)
