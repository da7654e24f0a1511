"""Where a top k comes from: an event log, or a file of ready counts."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import winnow
from winnow.cli.options import PLAIN_TEXT, TextOptions, check_unit_said
from winnow.core.checks import count, delta_range, positive
from winnow.core.relation import Relation
from winnow.core.released import Released
from winnow.core.utility import Utility
from winnow.errors import DataError, InputError, ParameterError
from winnow.foreign import reason
from winnow.privacy import Budget
from winnow.read.counts import SealedCounts, private_counts
from winnow.read.files import STDIN, read_scores
from winnow.read.records import csv_records, lines_of, text_of
from winnow.read.scores import SealedScores, seal_scores
from winnow.topk.beside import cut_beside, rest_of, run_beside
from winnow.topk.crossing import UnknownDomain
from winnow.topk.mechanisms.unknown_domain import LimitedDomain, StabilityThreshold
from winnow.topk.table import (
    AUTO,
    PRIVATE,
    PUBLIC,
    Choice,
    Facts,
    TopKOptions,
    choose,
    counts_margin,
)


@dataclass(frozen=True)
class TopKRequest:
    """The parameters of one release; None: not said."""

    k: int
    epsilon: float
    delta: float = 0.0
    mechanism: str = AUTO
    ordered: bool | None = None
    noise: str | None = None
    gamma: float | None = None
    rounded: bool = False
    reach: int | None = None
    with_counts: bool = False
    max_items: int | None = None
    accountant: str = "best"
    relation: Relation = Relation.ADD_REMOVE
    sensitivity: float | tuple[float, float] = 1
    with_cut: float = 0.0

    @property
    def utility(self) -> Utility:
        """How far one person moves a count; one number: adding a person lowers none."""
        one_way = not isinstance(self.sensitivity, tuple)
        return Utility.declare(self.sensitivity, monotone=one_way, relation=self.relation)

    def choice(self, *, public: bool, items: int | None = None) -> Choice:
        """The mechanism that will run; a request that cannot be met is refused here.

        ``items`` is their number on a public list. Without it an automatic choice is for an
        unknown number, and is made again when the list was read.
        """
        count(k=self.k)
        positive(epsilon=self.epsilon)
        delta_range(delta=self.delta)
        if self.max_items is not None:
            count(max_items=self.max_items)
        self._check_words(public)
        return choose(
            self.mechanism,
            epsilon=rest_of(self.with_cut, self.epsilon) or self.epsilon,
            delta=self.delta,
            k=self.k,
            ordered=self.ordered,
            options=TopKOptions(
                self.noise,
                self.gamma,
                self.rounded,
                self.reach,
                self.max_items,
                self.with_counts,
                self.accountant,
            ),
            public=public,
            facts=Facts(self.utility, items),
        )

    def _check_words(self, public: bool) -> None:
        """Refuse what does not go together, in the words of the command."""
        name = self.mechanism
        if self.ordered is False and (name != AUTO or not public):
            raise ParameterError(
                "--any-order is for the automatic choice among mechanisms for a public list; "
                "leave it out"
            )
        if public and name in PRIVATE:
            raise ParameterError(
                f"{name} is for items that are found in an event log, and this list of items is "
                f"public; choose auto or one of: {', '.join(PUBLIC)}"
            )
        if public:
            return
        if name in PUBLIC:
            raise ParameterError(
                f"{name} needs a public list of items, and these are found in the event log; give "
                f"the list with --items, or choose auto or one of: {', '.join(PRIVATE)}"
            )
        if self.delta == 0:
            raise ParameterError(
                "the items are found in the event log, so they are private too: that an item "
                "occurs can be due to one person; give --delta, for example 1e-6, or a public "
                "list of the items with --items"
            )
        if self.with_counts and self.max_items is None:
            raise ParameterError(
                "--counts of private items need a bound on the items of one person; give "
                "--max-items"
            )

    def margin(self, choice: Choice, confidence: float = 0.95) -> int | None:
        """Within what the noise of a count lies, if counts are released."""
        return (
            counts_margin(choice.mechanism, self.utility, confidence) if self.with_counts else None
        )


def threshold_text(choice: Choice, utility: Utility) -> str | None:
    """What a label found in the data had to pass, where labels are private: public numbers."""
    match choice.mechanism:
        case StabilityThreshold() as chosen:
            passed = chosen.threshold(utility)
            return f"a label found in the data had to reach a noisy count of {passed:,}"
        case LimitedDomain() as chosen:
            lead, rank = chosen.lead(utility), (chosen.reach or 0) + 1
            return (
                f"a label found in the data had to beat, with noise, the count at rank {rank:,} by "
                f"{lead:,}"
            )
        case _:
            return None


def read_items(path: Path, *, line_breaks: bool = False, option: str = "--items") -> list[str]:
    """One item per line; in a .csv or .tsv file one column, its name in the first line.

    ``line_breaks`` says that the fields of such a file may hold line breaks.
    """
    ending = path.suffix.lower()
    try:
        text = text_of(path.read_bytes())
        if ending in (".csv", ".tsv"):
            return _each_once(_column(text, "\t" if ending == ".tsv" else ",", line_breaks))
        return _each_once(enumerate(lines_of(text), start=1))
    except InputError as error:
        problem = str(error)
    except OSError as error:
        problem = f"{reason(error)}; check the path"
    raise DataError(f"{option} {path}: {problem}")


def _each_once(numbered: Iterable[tuple[int, str]]) -> list[str]:
    seen: dict[str, int] = {}
    for line, item in numbered:
        if not item.strip():
            continue
        if item in seen:
            raise DataError(
                f"what stands in line {seen[item]} stands again in line {line}; list every item "
                "once"
            )
        seen[item] = line
    if not seen:
        raise DataError("there are no items; write one on each line")
    return list(seen)


def _column(text: str, delimiter: str, line_breaks: bool) -> list[tuple[int, str]]:
    rows = []
    for line, row in csv_records(text, delimiter, line_breaks=line_breaks):
        if len(row) > 1:
            raise DataError(
                f"line {line} has {len(row)} fields; give a file with one column, its name in "
                "the first line"
            )
        if row:
            rows.append((line, row[0]))
    return rows[1:]


def from_counts(
    file: str,
    item: str,
    count: str,
    request: TopKRequest,
    choice: Choice,
    seed: int | None,
    budget: Budget | None = None,
    *,
    text: TextOptions = PLAIN_TEXT,
    header: bool = False,
) -> tuple[Released[list[Any]], Choice]:
    """A top k of ready counts, whose items are public or were found in the data.

    With it comes the choice, which is made again for as many public items as there are.
    """
    names, counts = read_scores(
        file,
        label_column=item,
        score_column=count,
        header=header,
        options=("--item", "--count"),
        **text.said(),
    )
    if counts.dtype.kind != "i" or (counts < 0).any():
        raise DataError(
            f"{file}: at least one count (column {count!r}) is negative or not a whole number; "
            "give counts of people"
        )
    utility, most = request.utility, request.max_items
    sealed: SealedCounts | SealedScores
    if isinstance(choice.mechanism, UnknownDomain):
        sealed = private_counts(names, counts, utility, most)
    else:
        sealed = seal_scores(counts, utility, labels=names, copy=False)
        choice = request.choice(public=True, items=sealed.size)
    return choice.plan(sealed.relation).run(sealed, budget=budget, seed=seed), choice


def from_log(
    file: str,
    item: str,
    person: str | None,
    how_to_count: dict[str, Any],
    request: TopKRequest,
    choice: Choice,
    seed: int | None,
    budget: Budget | None = None,
) -> Released[list[Any]]:
    """A top k of the people counted in an event log."""
    counts = winnow.counts(
        file,
        item=item,
        person=person,
        max_items=request.max_items,
        relation=request.relation,
        salt=None if seed is None else f"seed {seed}",  # repeatable, too
        **how_to_count,
    )
    sealed = counts.to_scores() if counts.domain_known else counts
    beside = cut_beside(request.with_cut, request.epsilon, counts.people)
    plan = choice.plan(sealed.relation)
    return run_beside(beside, plan, sealed, budget=budget, seed=seed)


def check_source(
    file: str,
    count: str | None,
    max_items: int | None,
    *,
    person: str | None,
    items: Path | None,
    memory: str | None,
    header: bool,
    labels: str | None,
    one_row: bool,
    sensitivity: str,
) -> None:
    """Refuse options that would do nothing for this kind of file, and what is left unsaid."""
    if count is None:
        check_unit_said(person, one_row, "--person")
        if labels is not None:
            raise ParameterError(
                "--labels is for ready counts, with --count; the items of an event log are private "
                "unless --items lists them"
            )
        if sensitivity != "1":
            raise ParameterError(
                "--sensitivity is for ready counts, with --count; in an event log each person "
                "counts once for an item"
            )
        if file == STDIN:
            raise ParameterError("an event log is read from a file; on standard input give --count")
        if header:
            raise ParameterError(
                "--header is for ready counts, with --count; an event log has a first line of "
                "names anyway, and messages show only those that you gave"
            )
        if person is None and max_items is not None:
            raise ParameterError(
                "--max-items needs --person: without it every row is a person of its own, "
                "with one item"
            )
        return
    if labels is None:
        raise ParameterError(
            "say where the items of these counts come from: --labels public if the list was fixed "
            "without looking at the data, and has every item that there could be; --labels private "
            "with --delta if they were found in the data, since one person can be the reason that "
            "an item is there"
        )
    said = {
        "--person": person,
        "--items": items,
        "--memory": memory,
        "--one-row-per-person": one_row,
    }
    for option, given in said.items():
        if given:
            raise ParameterError(
                f"{option} is for event logs, and --count says that the file has ready counts; "
                "leave out one of them"
            )
