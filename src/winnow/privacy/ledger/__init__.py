"""Charges that survive: an append-only, chained record of every release."""

from winnow.privacy.ledger.datasets import Dataset
from winnow.privacy.ledger.entry import Entry
from winnow.privacy.ledger.ledger import Ledger
from winnow.privacy.ledger.recorded import RecordedBudget
from winnow.privacy.ledger.sessions import RecordedSession, SessionMark
from winnow.privacy.ledger.verification import Verification

__all__ = [
    "Dataset",
    "Entry",
    "Ledger",
    "RecordedBudget",
    "RecordedSession",
    "SessionMark",
    "Verification",
]
