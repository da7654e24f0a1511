"""One line of a ledger, and the chain that ties every line to all lines before it.

The tag of an entry is HMAC-SHA256, under the ledger's key, of its content and of the tag
before it. Whoever lacks the key can neither change, reorder, insert nor drop a line in the
middle without breaking a tag. The end of the chain is tied to a sealed *end mark* beside the
entries, so that a line cannot be dropped from the end alone. An old copy of everything, put
back in place, is a valid, shorter ledger. That is what heads are for: every receipt carries the
head (sequence and tag) that its charge made, and a ledger that does not contain it was cut or
rolled back.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from winnow.errors import DataError, LedgerError, ParameterError

START = "0" * 64
"""The tag before the first entry."""

COLUMNS = "sequence, time, kind, dataset, body, previous, tag"
"""As every store names them."""

_HEAD = re.compile(r"(?:.*#)?([0-9]{1,18}):([0-9a-f]{64})")


@dataclass(frozen=True)
class Entry:
    """What was written, when, about which dataset; ``tag`` is empty until it is sealed."""

    sequence: int
    time: str
    kind: str
    dataset: str
    body: Mapping[str, Any]
    previous: str
    tag: str = ""

    def content(self) -> str:
        """The canonical text that the tag covers."""
        fields = [self.sequence, self.time, self.kind, self.dataset, self.body, self.previous]
        return json.dumps(fields, sort_keys=True, separators=(",", ":"), ensure_ascii=True)

    def sealed(self, key: bytes) -> Entry:
        """This entry with its tag."""
        tag = hmac.new(key, self.content().encode(), hashlib.sha256).hexdigest()
        return replace(self, tag=tag)

    def genuine(self, key: bytes) -> bool:
        """Whether the tag is that of the content."""
        return same_text(self.sealed(key).tag, self.tag)

    @property
    def head(self) -> str:
        """The state of the ledger right after this entry, for receipts."""
        return f"{self.sequence}:{self.tag}"

    def to_dict(self) -> dict[str, Any]:
        """The entry as plain data."""
        return {**vars(self), "body": dict(self.body)}

    def to_row(self) -> tuple[int, str, str, str, str, str, str]:
        """The entry as a store keeps it, in the order of ``COLUMNS``."""
        body = json.dumps(dict(self.body), sort_keys=True)
        return self.sequence, self.time, self.kind, self.dataset, body, self.previous, self.tag

    @classmethod
    def from_row(cls, row: Sequence[Any]) -> Entry:
        """The entry in a row; whatever a damaged file makes of it is the ledger's own error."""
        sequence, *texts = row
        if isinstance(sequence, int) and all(isinstance(text, str) for text in texts):
            time, kind, dataset, text, previous, tag = texts
            try:
                body = json.loads(text)
            except (ValueError, RecursionError):
                body = None
            if isinstance(body, dict):
                return cls(sequence, time, kind, dataset, body, previous, tag)
        which = str(sequence) if isinstance(sequence, int) else "with a damaged number"
        raise LedgerError(
            f"entry {which} of the ledger is not readable: it was edited or damaged; restore the "
            "ledger from a copy that verifies"
        )


def same_text(one: str, other: str) -> bool:
    """Whether two texts are equal, in a time that does not tell where they differ."""
    return hmac.compare_digest(
        one.encode("utf-8", "surrogatepass"), other.encode("utf-8", "surrogatepass")
    )


def parse_head(text: str) -> tuple[int, str]:
    """Sequence and tag of a head as a receipt shows it ('12:ab...', or 'name#12:ab...')."""
    match = _HEAD.fullmatch(text.strip())
    if match is None:
        raise ParameterError(
            "the head (the mark of the last entry) is not of the form 12:<64 hexadecimal "
            "digits>; copy it from the line 'ledger' of a receipt"
        )
    return int(match[1]), match[2]


def check_same(before: Entry, label: str, content: Mapping[str, Any]) -> None:
    """Refuse a request whose key was charged for something else."""
    asked = (label, content["plan"], content.get("session"))
    if (before.dataset, before.body["plan"], before.body.get("session")) != asked:
        raise DataError(
            f"the request {content['request']!r} was charged for something else before; choose "
            "another key for another request"
        )
