"""Charges that survive: an append-only, chained record of every release."""

from winnow.privacy.ledger.entry import Entry
from winnow.privacy.ledger.ledger import Dataset, Ledger, Verification
from winnow.privacy.ledger.recorded import RecordedBudget

__all__ = ["Dataset", "Entry", "Ledger", "RecordedBudget", "Verification"]
