"""The options with which a release is recorded in a ledger, shared by all that release."""

from __future__ import annotations

from collections.abc import Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from winnow.cli.options import option
from winnow.core.relation import Relation
from winnow.errors import ParameterError

if TYPE_CHECKING:
    from winnow.core.tape import WrittenKey
    from winnow.privacy import Budget
    from winnow.read.crossing import SealedTable


_RECORD = "Record"

key_of_request: ContextVar[WrittenKey | None] = ContextVar("key_of_request", default=None)
"""The written key of the request that runs; see ``winnow.cli.retrying``."""

LedgerOption = Annotated[
    str | None,
    option(
        "--ledger",
        "FILE",
        "Charge to this ledger: a file, postgresql://... or file:PATH of a file that holds "
        "the address; see winnow ledger init.",
        _RECORD,
    ),
]
DatasetOption = Annotated[
    str | None,
    option("--dataset", "LABEL", "The label of the data in the ledger.", _RECORD),
]
LedgerKeyOption = Annotated[
    Path | None,
    option("--ledger-key", "FILE", "The key of the ledger, if it is not next to it.", _RECORD),
]
AnalystOption = Annotated[
    str,
    option("--analyst", "NAME", "The name of the analyst, for the record and for shares.", _RECORD),
]
RequestKeyOption = Annotated[
    str | None,
    option(
        "--request-key",
        "KEY",
        "A name for this release, such as its date: a second run under the same key gives the "
        "same release and is not charged again.",
        _RECORD,
    ),
]


@dataclass(frozen=True)
class Record:
    """Where a release is recorded: the options of every command that releases something."""

    ledger: LedgerOption = None
    dataset: DatasetOption = None
    ledger_key: LedgerKeyOption = None
    analyst: AnalystOption = ""
    request_key: RequestKeyOption = None

    def account(self, asked: Relation | None, usual: Relation) -> tuple[Relation, Budget | None]:
        """The neighbours of a release, and its budget.

        Where nothing is asked for, they are those that the dataset is recorded under, if it is.
        """
        if asked is None and self.ledger is not None and self.dataset is not None:
            from winnow.cli.ledger import opened

            asked = opened(self.ledger, self.ledger_key).cap(self.dataset).relation
        relation = usual if asked is None else asked
        return relation, self.budget(relation)

    def budget(self, relation: Relation) -> Budget | None:
        """The recorded budget that the options name; None: the receipt says 'unrecorded'."""
        if self.ledger is None:
            if self != UNRECORDED:
                raise ParameterError(
                    "--dataset, --ledger-key, --analyst and --request-key belong to a ledger; name "
                    "it with --ledger"
                )
            return None
        if self.dataset is None:
            raise ParameterError(
                "a ledger keeps one account for each dataset; give its --dataset label"
            )
        from winnow.cli.ledger import opened as ledger_at
        from winnow.privacy.ledger import RecordedBudget

        opened = ledger_at(self.ledger, self.ledger_key)
        cap = opened.cap(self.dataset)
        if cap.relation is not relation:
            raise ParameterError(
                f"the dataset {self.dataset!r} is recorded under {cap.relation}, and this release "
                f"is under {relation}; give --relation {cap.relation}"
            )
        return RecordedBudget(
            opened,
            self.dataset,
            analyst=self.analyst,
            request=self.request_key or "",
            written=None if self.request_key is None else key_of_request.get(),
        )


UNRECORDED = Record()


def warn_of_other_labels(budget: Budget | None, data: SealedTable | Sequence[Path]) -> None:
    """Remember which data came under a label, and say so when they came under others before.

    The data are a table, or the files that hold them.
    """
    from winnow.cli.reporting import report
    from winnow.privacy.ledger import RecordedBudget
    from winnow.read.crossing import fingerprint, fingerprint_of_files

    if not isinstance(budget, RecordedBudget):
        return
    if isinstance(data, Sequence):
        files = [file for file in data if file.is_file()]
        if not files:  # standard input, or nothing that can be read: said by whoever reads it
            return
        try:
            digest = fingerprint_of_files(files)
        except OSError:
            return
    else:
        digest = fingerprint(data)
    others = budget.ledger.note_data(budget.dataset, digest)
    if others:
        report(
            f"warning: the same data came under other labels before ({', '.join(map(repr, others))}"
            "): what is spent under several labels adds up for the people in the data"
        )
