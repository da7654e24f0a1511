"""Questions under keys: written down and counted before they are asked, and settled one by one.

A claim is a request with questions that has no answer yet. It takes its key, so that nothing else
is done under it, and counts against the quotas of its principal; both before the session is asked.
Whatever happens after that, nothing is asked that is not counted. A claim that was not settled (the
server ended, the disk was full) is asked again under its key and not counted again: the session
knows what it released.
"""

from __future__ import annotations

import secrets
from collections import defaultdict
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from winnow.errors import SessionExhausted, WinnowError
from winnow.serve.database import View
from winnow.serve.problems import Refusal
from winnow.serve.requests import DONE, INSERT, RUNNING, Request, Requests
from winnow.serve.store import ServerStore


@dataclass(frozen=True)
class WantedQuestions:
    """Questions that somebody wants to ask under a key."""

    principal: str
    key: str
    digest: str
    questions: int

    @property
    def name(self) -> tuple[str, str]:
        """Under which they are known again."""
        return self.principal, self.key


@dataclass(frozen=True)
class QuestionClaim:
    """Questions that may be asked: they are written down and counted."""

    request: Request
    questions: int
    put_aside: int
    """So many fresh answers are counted for it until it is settled."""
    left: int | None
    """Of the principal's questions, after these; None: they are not limited."""
    again: bool
    """Whether it was claimed before and not settled: nobody knows what was drawn then."""


@dataclass(frozen=True)
class Settled:
    """How a claim ended."""

    claim: QuestionClaim
    fresh: int
    """How many fresh answers there were; of what failed, how many there may have been."""
    result: str | None = None
    """The answers as they are stored; None: there are none to show."""
    refused: bool = False
    """Whether the session refused it: nothing was asked."""


@dataclass(frozen=True)
class Claimed:
    """What may be asked now, what was answered before, and what is refused; by name."""

    claims: dict[tuple[str, str], QuestionClaim]
    answered: dict[tuple[str, str], Request]
    refused: dict[tuple[str, str], WinnowError]
    fresh: dict[str, int]
    """How many fresh answers each principal has had without those that are put aside here."""


class Claims:
    """The claims on the session of one dataset."""

    def __init__(
        self,
        store: ServerStore,
        requests: Requests,
        dataset: str,
        each: int | None,
        fresh_each: int | None,
    ) -> None:
        self._store, self._requests, self._dataset = store, requests, dataset
        self._each, self._fresh_each = each, fresh_each

    def claim(self, wanted: list[WantedQuestions], *, new: bool) -> Claimed:
        """Claim what can be asked, each for itself; without ``new`` only look what is known.

        The names of what is wanted are different.
        """

        def claimed(view: View) -> Claimed:
            before = {each.name: self._requests.requested_in(view, *each.name) for each in wanted}
            outcomes = Claimed({}, {}, {}, {})
            had = {who: self._had(view, who) for who in {each.principal for each in wanted}}
            asked = {who: questions for who, (questions, _) in had.items()}
            aside: dict[str, int] = defaultdict(int)
            counted: Counts = defaultdict(_none)
            for each in wanted:
                row = before[each.name]
                if row is not None and row.digest == each.digest and row.result is None:
                    aside[each.principal] += int(row.body)
            outcomes.fresh.update({who: fresh - aside[who] for who, (_, fresh) in had.items()})
            for each in wanted:
                outcome = self._one(each, before[each.name], asked, aside, outcomes.fresh, new)
                match outcome:
                    case QuestionClaim():
                        outcomes.claims[each.name] = outcome
                        if not outcome.again:
                            view.do(INSERT, *vars(outcome.request).values())
                            counted[each.principal] += each.questions, outcome.put_aside
                    case Request():
                        outcomes.answered[each.name] = outcome
                    case _:
                        outcomes.refused[each.name] = outcome
            self._count(view, counted)
            return outcomes

        work = self._store.change if new else self._store.read
        return work(claimed)

    def _one(
        self,
        wanted: WantedQuestions,
        before: Request | None,
        asked: dict[str, int],
        aside: dict[str, int],
        fresh: dict[str, int],
        new: bool,
    ) -> QuestionClaim | Request | WinnowError:
        """What becomes of one; ``asked`` and ``aside`` are of each principal, and grow."""
        who, number = wanted.principal, wanted.questions
        if before is not None and before.digest != wanted.digest:
            return other_body(wanted.key)
        if before is not None and before.result is not None:
            return before
        if not new:
            return Refusal("busy", "the session of this dataset is not open now; try again later")
        if before is not None:
            return QuestionClaim(
                before, number, int(before.body), self._left(asked[who]), again=True
            )
        left = self._left(asked[who])
        if left is not None and number > left:
            return SessionExhausted(
                f"{number:,} questions, and {left:,} of your {self._each:,} are left"
            )
        asked[who] += number
        put_aside = number
        if self._fresh_each is not None:
            put_aside = max(0, min(number, self._fresh_each - fresh[who] - aside[who]))
        aside[who] += put_aside
        now = self._requests.now()
        request = Request(
            secrets.token_hex(16), who, wanted.key, self._dataset, "questions", wanted.digest,
            str(put_aside), RUNNING, None, "", now, self._requests.served(), now,
        )  # fmt: skip
        return QuestionClaim(request, number, put_aside, self._left(asked[who]), again=False)

    def _left(self, asked: int) -> int | None:
        return None if self._each is None else max(0, self._each - asked)

    def _had(self, view: View, who: str) -> tuple[int, int]:
        row = view.one(
            "SELECT questions, fresh FROM {quotas} WHERE principal = ? AND dataset = ?",
            who,
            self._dataset,
        )
        return (0, 0) if row is None else (int(row[0]), int(row[1]))

    def _count(self, view: View, counted: Counts) -> None:
        for who, (questions, fresh) in counted.items():
            view.do(
                "INSERT INTO {quotas} VALUES (?, ?, ?, ?) ON CONFLICT (principal, dataset) "
                "DO UPDATE SET questions = {quotas}.questions + excluded.questions, "
                "fresh = {quotas}.fresh + excluded.fresh",
                who, self._dataset, int(questions), int(fresh),
            )  # fmt: skip

    def settle(self, settled: list[Settled]) -> None:
        """Write down together how claims ended; answers may be shown when this returns.

        What the session refused is forgotten, and its key is free again, unless it was claimed
        before: then something may have been drawn for it. What failed keeps its claim.
        """

        def ended(view: View) -> None:
            counted: Counts = defaultdict(_none)
            for each in settled:
                claim, request = each.claim, each.claim.request
                who, questions = request.principal, 0
                fresh = max(each.fresh, claim.put_aside) if claim.again else each.fresh
                if each.refused and not claim.again:
                    view.do("DELETE FROM {requests} WHERE id = ?", request.id)
                    questions, fresh = -claim.questions, 0
                else:
                    kept = replace(request, body=str(fresh))
                    if each.result is not None:
                        kept = replace(request, body="", state=DONE, result=each.result)
                    view.do(
                        "UPDATE {requests} SET state = ?, body = ?, result = ? WHERE id = ?",
                        kept.state, kept.body, kept.result, kept.id,
                    )  # fmt: skip
                if questions or fresh != claim.put_aside:
                    counted[who] += questions, fresh - claim.put_aside
            self._count(view, counted)

        self._store.change(ended)


Counts = defaultdict[str, NDArray[np.int64]]
"""Questions and fresh answers by principal."""


def _none() -> NDArray[np.int64]:
    return np.zeros(2, np.int64)


def other_body(key: str) -> Refusal:
    """Another request under a key that was used."""
    return Refusal(
        "other-body", f"the key {key!r} was used for another request; choose another key"
    )
