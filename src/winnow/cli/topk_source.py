"""Where a top k comes from: an event log, or a file of ready counts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import winnow
from winnow import verbs
from winnow.cli.topk_request import TopKRequest
from winnow.errors import InputError
from winnow.privacy import Budget
from winnow.released import Released
from winnow.sealed.files import STDIN, read_scores


def from_counts(
    file: str,
    item: str,
    count: str,
    request: TopKRequest,
    seed: int | None,
    budget: Budget | None = None,
) -> Released[list[Any]]:
    """A top k of ready counts, each item of the file being public."""
    labels, counts = read_scores(
        file, label_column=item, score_column=count, options=("--item", "--count")
    )
    if counts.dtype.kind != "i" or (counts < 0).any():
        raise InputError(
            f"{file}: at least one count (column {count!r}) is negative or not a whole number; "
            "give counts of people"
        )
    bound = request.max_items_per_user
    return verbs.top_k(
        counts,
        labels=labels,
        max_items_per_user=bound,
        seed=seed,
        budget=budget,
        **request.arguments(),
    )


def from_log(
    file: str,
    item: str,
    user: str | None,
    how_to_count: dict[str, Any],
    request: TopKRequest,
    seed: int | None,
    budget: Budget | None = None,
) -> Released[list[Any]]:
    """A top k of the people counted in an event log."""
    counts = winnow.counts(
        file,
        item=item,
        user=user,
        max_items_per_user=request.max_items_per_user,
        relation=request.relation,
        salt=None if seed is None else f"seed {seed}",  # repeatable, too
        **how_to_count,
    )
    return verbs.top_k(counts, seed=seed, budget=budget, **request.arguments())


def check_source(
    file: str,
    count: str | None,
    max_items_per_user: int | None,
    *,
    user: str | None,
    items: Path | None,
    memory: str | None,
) -> None:
    """Refuse options that would do nothing for this kind of file."""
    if count is None:
        if file == STDIN:
            raise InputError("an event log is read from a file; on standard input give --count")
        if user is None and max_items_per_user is not None:
            raise InputError(
                "--max-items-per-user needs --user: without it every row is a person of its own, "
                "with one item"
            )
        return
    for option, given in (("--user", user), ("--items", items), ("--memory", memory)):
        if given is not None:
            raise InputError(
                f"{option} is for event logs, and --count says that the file has ready counts; "
                "leave out one of them"
            )
