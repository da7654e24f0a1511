"""Where a top k comes from: an event log, or a file of ready counts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import winnow
from winnow.cli.options import check_unit_said
from winnow.core.options import AUTO
from winnow.core.relation import Relation
from winnow.core.utility import declared
from winnow.errors import DataError, InputError, ParameterError
from winnow.foreign import reason
from winnow.read.bound_choice import AUTO_BOUND, AboutChoice
from winnow.read.counts import SealedCounts, private_counts
from winnow.read.files import STDIN, read_scores
from winnow.read.groups import Groups
from winnow.read.options import Reading, TextFormat
from winnow.read.people import PersonBound
from winnow.read.records import csv_records, lines_of, text_of
from winnow.read.scores import seal_scores
from winnow.select.about import AboutScores
from winnow.select.crossing.groups import EachGroup, OverPairs
from winnow.select.label_methods import OF_PRIVATE_LABELS
from winnow.select.mechanisms.truncated_laplace import TruncatedLaplace
from winnow.select.mechanisms.unknown_domain import LimitedDomain, StabilityThreshold
from winnow.select.mechanisms.weighted_gaussian import WeightedGaussian
from winnow.select.methods import PickMethod
from winnow.select.plan.top_k.verb import TopKPlan
from winnow.select.request import TopK
from winnow.select.top_k_methods import OF_LISTS

Progress = Callable[[int, int], None] | None


def about_log(
    item: str,
    person: str | None,
    most: int | str | None,
    relation: Relation,
    public: Sequence[str] | None,
    groups: Groups | None = None,
) -> AboutScores:
    """What is public of the counts of a log before it is counted."""
    if groups is not None and public is not None and groups.names is None:
        raise ParameterError(
            "--items is a public list, and the groups would be found in the data; list them, too, "
            "with --groups"
        )
    bound, many = None, 1 if groups is None else len(groups.names or (1,))
    candidates = None if public is None else len(public) * many
    choice = None
    if person is not None and most == AUTO_BOUND:
        choice = AboutChoice.of_items(person, item, candidates)
    elif person is not None and isinstance(most, int):
        bound = PersonBound(person, item, most)
    return AboutScores(
        utility=declared(1, True, relation),
        candidates=candidates,
        groups=groups,
        max_items=1 if person is None else most if isinstance(most, int) else None,
        choice=choice,
        private=public is None,
        weighed=public is None and person is not None,
        bound=bound,
    )


def about_file(
    sensitivity: float | tuple[float, float], most: int | None, relation: Relation, *, public: bool
) -> AboutScores:
    """What is public of ready counts before their file is read."""
    utility = declared(sensitivity, not isinstance(sensitivity, tuple), relation)
    return AboutScores(utility=utility, max_items=most, private=not public)


def check_words(asked: TopK, about: AboutScores) -> None:
    """Refuse what does not go together, in the words of the command."""
    method, public = asked.method, not about.private
    word = AUTO if isinstance(method, str) else method.word()
    if asked.ordered is False and (word != AUTO or not public):
        raise ParameterError(
            "--any-order is for the automatic choice among methods for a public list; leave it out"
        )
    if public and word in words_of(OF_PRIVATE_LABELS):
        raise ParameterError(
            f"{word} is for items that are found in an event log, and this list of items is "
            f"public; choose auto or one of: {', '.join(words_of(OF_LISTS))}"
        )
    if public:
        return
    if word in words_of(OF_LISTS):
        raise ParameterError(
            f"{word} needs a public list of items, and these are found in the event log; give "
            f"the list with --items, or choose auto or one of: "
            f"{', '.join(words_of(OF_PRIVATE_LABELS))}"
        )
    if asked.delta == 0:
        raise ParameterError(
            "the items are found in the event log, so they are private too: an item "
            "may be there because of one person; give --delta, for example 1e-6, or a public "
            "list of the items with --items"
        )
    if asked.with_counts and about.max_items is None:
        raise ParameterError(
            "--with-counts of private items needs a bound on the items of one person; give "
            "--max-items"
        )


def words_of(methods: Iterable[type[PickMethod]]) -> list[str]:
    """The words of methods."""
    return [each.word() for each in methods]


def threshold_text(plan: TopKPlan) -> str | None:
    """Which labels were suppressed, where labels are private: public numbers."""
    utility = plan.about.utility
    mechanism = plan.release.mechanism
    if isinstance(mechanism, OverPairs | EachGroup):
        mechanism = mechanism.inner
    match mechanism:
        case StabilityThreshold() | TruncatedLaplace() as chosen:
            passed = chosen.threshold(utility)
            return f"Labels with a noisy count below {passed:,} were suppressed."
        case LimitedDomain() as chosen:
            lead, rank = chosen.lead(utility), (chosen.reach or 0) + 1
            return (
                "Labels below a noisy threshold were suppressed (the count at rank "
                f"{rank:,} plus {lead:,})."
            )
        case WeightedGaussian() as chosen:
            needed = chosen.people_needed(1, plan.about.relation)
            return (
                f"of {needed:,.0f} people with one label each it is found half of the time; of "
                "people with several it takes more"
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
                f"the item in line {seen[item]} appears again in line {line}; list every item once"
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


def counts_of_file(
    file: str,
    item: str,
    count: str,
    about: AboutScores,
    *,
    text: TextFormat,
    header: bool = False,
) -> SealedCounts:
    """Ready counts of a file, whose items are public or were found in the data."""
    names, counts = read_scores(
        file,
        label_column=item,
        score_column=count,
        header=header,
        options=("--item", "--count"),
        text=text,
    )
    if counts.dtype.kind != "i" or (counts < 0).any():
        raise DataError(
            f"{file}: at least one count (column {count!r}) is negative or not a whole number; "
            "give counts of people"
        )
    if about.private:
        return private_counts(names, counts, about.utility, about.max_items)
    sealed = seal_scores(counts, about.utility, labels=names, copy=False)
    return SealedCounts(sealed.values, names, about.utility, about.max_items)


def reading_of_log(memory: str | None, seed: int | None, progress: Progress) -> Reading:
    """How a log is read: with a seed the same items of a person are kept again."""
    salt = None if seed is None else f"seed {seed}"
    return Reading(memory=memory or Reading.memory, salt=salt, progress=progress)


def counts_of_log(
    source: Any,
    item: str,
    person: str | None,
    most: int | str | None,
    about: AboutScores,
    *,
    text: TextFormat,
    reading: Reading,
    items: Sequence[str] | None = None,
) -> SealedCounts:
    """The people of an event log, counted."""
    return winnow.counts(
        source,
        item=item,
        person=person,
        max_items=most,
        by=about.groups,
        items=items,
        relation=about.relation,
        text=text,
        reading=reading,
    )


def check_source(
    file: str,
    count: str | None,
    max_items: int | str | None,
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
    if max_items == AUTO_BOUND:
        raise ParameterError(
            "--max-items auto looks at the people of an event log, and --count says that the file "
            "has ready counts; give the bound under which they were counted"
        )
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
