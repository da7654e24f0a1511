"""``wn.connect``: the verbs of the library, asked of a server.

Only the standard library is needed. What spends something carries a key, so that a request that
was lost on its way is sent again and stays one request. Errors are those that the library raises.
"""

from __future__ import annotations

import secrets
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any, Generic, TypeVar
from urllib.parse import quote, urlsplit

import numpy as np

from winnow.core.options import takes
from winnow.core.released import Receipt, Released
from winnow.core.workloads.conditions import Predicates
from winnow.core.workloads.product import Product
from winnow.core.workloads.tables import Marginals, Ranges
from winnow.core.workloads.workload import Maker, Union
from winnow.describe.request import PlannedDescription
from winnow.errors import DataError, ParameterError
from winnow.foreign import guarded
from winnow.itemsets.request import Itemsets
from winnow.numbers.histogram.request import PlannedHistogram
from winnow.numbers.moments.request import PlannedMoments
from winnow.numbers.regress.request import PlannedRegression
from winnow.numbers.request import PlannedQuantiles
from winnow.select.request import FindLabels
from winnow.serve.asked import ReleaseOf, SelectOf, TabulateOf, TopKOf
from winnow.serve.line import FIRST_PAUSE, Line, on_this_machine, portioned
from winnow.serve.received import RemoteAnswer, RemoteBudget, RemotePlan, released_of
from winnow.serve.sending import OF_THE_SERVER, sent

R = TypeVar("R")


@guarded
def connect(url: str, *, token: str, patience: float = 60.0) -> Client:
    """Connect to a server of ``winnow serve``: ``wn.connect(url, token=...)``.

    The client has the verbs of the library. Pass the name of a dataset in place of data.
    ``patience`` is for how many seconds it retries if the server is busy or cannot be reached.
    """
    parts = urlsplit(url)
    if "@" in parts.netloc:  # not quoted: a password may stand there
        raise ParameterError("url has a user or a password; give the address alone, and token=")
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.query:
        raise ParameterError(f"url={url!r} is not an address such as https://data.example.org")
    if parts.scheme == "http" and not on_this_machine(parts.hostname):
        raise ParameterError(
            f"url={url!r} has no TLS, and the token would cross the network in plain text; "
            "give an address with https"
        )
    if not token or not token.isascii() or not token.isprintable():
        raise ParameterError("token is not a token of this server; ask the owner for one")
    return Client(Line(url.rstrip("/"), token, float(patience)))


# Workloads and questions


def pieces_of(workload: Maker | Sequence[Any]) -> list[dict[str, Any]]:
    """A workload as a server takes it: the inverse of what the server makes of it."""
    match workload:
        case list() | tuple() if workload and all(isinstance(each, str) for each in workload):
            return [{"table": list(workload)}]
        case list() | tuple() if workload and not any(isinstance(e, str) for e in workload):
            return [piece for each in workload for piece in pieces_of(each)]
        case Union():
            return [piece for each in workload.makers for piece in pieces_of(each)]
        case Marginals(ways=ways, columns=None, sample=None):
            return [{"marginals": each} for each in ways]
        case Marginals(ways=(only,), columns=columns, sample=None) if (
            columns is not None and only == len(columns)
        ):
            return [{"table": list(columns)}]
        case Ranges(column=column, prefixes=prefixes, number=None):
            return [{"prefixes" if prefixes else "ranges": column}]
        case Product():
            chosen = product(*(pieces_of(maker) for maker in workload.makers))
            products = [
                {"product": [f for piece in each for f in _factors(piece)]} for each in chosen
            ]
            if all(
                "marginals" not in f and "where" not in f for p in products for f in p["product"]
            ):
                return products
            raise ParameterError(
                "this product cannot be sent to a server; multiply prefixes, ranges and tables of "
                'named columns, such as wn.prefixes("age") * wn.marginals("sex")'
            )
        case Predicates():
            return [{"where": [_conditions(each) for each in workload.conditions]}]
        case _:
            raise ParameterError(
                "this workload cannot be sent to a server; give a list of columns, wn.marginals of "
                "all columns or of one table, wn.prefixes, wn.ranges, wn.where, wn.predicates, or "
                "a sum of them"
            )


def _factors(piece: dict[str, Any]) -> list[dict[str, Any]]:
    """The factors of a piece: those of a product, or itself."""
    return list(piece.get("product", [piece]))


def _conditions(given: Mapping[str, Any]) -> dict[str, Any]:
    return {name: _condition(each) for name, each in given.items()}


def _condition(given: Any) -> Any:
    if isinstance(given, tuple):
        low, high = given
        return {"from": low, "to": high}
    if isinstance(given, range | set | frozenset | np.ndarray):
        return list(given)
    return given


class Verbs(ABC, Generic[R]):
    """The verbs of the library; the name of a dataset stands where the library takes data."""

    @abstractmethod
    def _order(self, dataset: str, kind: str, **order: Any) -> R:
        """What comes of an order: a plan, or a release."""

    @takes(SelectOf, of=object, hidden=OF_THE_SERVER)
    def select(self, dataset: str, asked: SelectOf) -> R:
        """The value of a column, or the item, that most people have; or the best k."""
        return self._order(dataset, "select", **sent(asked))

    @takes(TopKOf, of=object, hidden=OF_THE_SERVER)
    def top_k(self, dataset: str, asked: TopKOf) -> R:
        """The k most common values of a column, or items."""
        return self._order(dataset, "top-k", **sent(asked))

    @takes(FindLabels, of=object, hidden=OF_THE_SERVER)
    def labels(self, dataset: str, asked: FindLabels) -> R:
        """The items that there are, where nobody listed them."""
        return self._order(dataset, "labels", **sent(asked))

    @takes(TabulateOf, of=object, hidden=OF_THE_SERVER)
    def tabulate(self, dataset: str, asked: TabulateOf) -> R:
        """Tables of counts, sums and means; events are a table by themselves."""
        pieces = None if asked.by is None else pieces_of(asked.by)
        return self._order(dataset, "tabulate", **sent(asked, by=pieces))

    @takes(PlannedMoments, of=object, hidden=OF_THE_SERVER)
    def moments(self, dataset: str, asked: PlannedMoments) -> R:
        """Counts, sums, means, variances and deviations of columns of numbers."""
        return self._order(dataset, "moments", **sent(asked))

    @takes(PlannedRegression, of=object, hidden=OF_THE_SERVER)
    def regress(self, dataset: str, asked: PlannedRegression) -> R:
        """A column of numbers as a linear function of others."""
        return self._order(dataset, "regress", **sent(asked))

    @takes(PlannedQuantiles, of=object, hidden=OF_THE_SERVER)
    def quantiles(self, dataset: str, asked: PlannedQuantiles) -> R:
        """Quantiles of a column of numbers, of the whole table or of groups."""
        return self._order(dataset, "quantiles", **sent(asked))

    @takes(PlannedDescription, of=object, hidden=OF_THE_SERVER)
    def describe(self, dataset: str, asked: PlannedDescription) -> R:
        """Every column of a table: missing values, means, quantiles, common values."""
        return self._order(dataset, "describe", **sent(asked))

    @takes(PlannedHistogram, of=object, hidden=OF_THE_SERVER)
    def histogram(self, dataset: str, asked: PlannedHistogram) -> R:
        """How many rows lie in each bin of a column of numbers."""
        return self._order(dataset, "histogram", **sent(asked))

    @takes(Itemsets, of=object, hidden=OF_THE_SERVER)
    def itemsets(self, dataset: str, asked: Itemsets) -> R:
        """The itemsets of a size that most baskets hold; with subsets, association rules, too."""
        return self._order(dataset, "itemsets", **sent(asked))

    @takes(ReleaseOf, of=object, hidden=OF_THE_SERVER)
    def release(self, dataset: str, asked: ReleaseOf) -> R:
        """Answers to a workload, and a synthetic table."""
        return self._order(dataset, "release", **sent(asked, workload=pieces_of(asked.workload)))


@dataclass(frozen=True)
class Plans(Verbs[RemotePlan]):
    """What a release would bring and cost: by its epsilon, or by the error that is wanted."""

    _line: Line

    def _order(self, dataset: str, kind: str, **order: Any) -> RemotePlan:
        body = {"order": _given(kind, order)}
        return RemotePlan.parse(self._line.ask("POST", _path("datasets", dataset, "plans"), body))


@dataclass(frozen=True)
class Client(Verbs[Released[Any]]):
    """A server, and who asks it. Verbs spend budget; those of ``plan`` spend none."""

    _line: Line
    _key: str | None = None

    @property
    def plan(self) -> Plans:
        """Plans, by the names of the verbs."""
        return Plans(self._line)

    def with_key(self, key: str) -> Client:
        """A client whose spending requests carry a key of your own: repeated, they are one request.

        Without it every call has a fresh key. Keep a key where your program may end between
        sending and receiving, and send the same request under it again.
        """
        return replace(self, _key=key)

    def _order(self, dataset: str, kind: str, **order: Any) -> Released[Any]:
        body = {"order": _given(kind, order)}
        job = self._line.ask(
            "POST", _path("datasets", dataset, "releases"), body, self._key or _fresh_key()
        )
        return self._waited(job)

    def _waited(self, job: dict[str, Any]) -> Released[Any]:
        """The release of a job, when its public time has come."""
        seen = float(job["accepted"])
        while job["state"] == "running":
            time.sleep(max(FIRST_PAUSE, float(job["due"]) - seen))
            seen = float(job["due"])
            job = self._line.ask("GET", _path("jobs", job["id"]))
        if job["state"] != "done":
            kind = ParameterError if job["state"] == "refused" else DataError
            raise kind(f"the release was not made: {job['problem']}")
        return self._found(job["id"])

    def _found(self, identity: str) -> Released[Any]:
        document = self._line.ask("GET", _path("releases", identity))
        labels = {}
        if document["downloads"]:
            labels = self._line.ask("GET", _path("datasets", document["dataset"], "schema"))[
                "labels"
            ]

        def fetch(name: str) -> str:
            return str(self._line.ask("GET", _path("releases", identity, name), text=True))

        released: Released[Any] = released_of(document, fetch, labels)
        return released

    @guarded
    def ask(self, dataset: str, question: Predicates | Sequence[Predicates]) -> Any:
        """How many rows meet the conditions of ``wn.where``; of a list, a list of answers."""
        several = not isinstance(question, Predicates)
        asked = list(question) if isinstance(question, Sequence) else [question]
        for each in asked:
            if not isinstance(each, Predicates):
                raise ParameterError(f"{type(each).__name__} is not a question; give wn.where(...)")
        wanted = [_conditions(one) for each in asked for one in each.conditions]
        key, answers = self._key or _fresh_key(), []
        portions = portioned(wanted)
        for number, portion in enumerate(portions, 1):
            answer = self._line.ask(
                "POST",
                _path("datasets", dataset, "questions"),
                {"questions": portion},
                key if len(portions) == 1 else f"{key} {number}/{len(portions)}",
            )
            receipt = Receipt.from_dict(answer["receipt"])
            answers += [
                RemoteAnswer(**item, guarantee=answer["guarantee"], receipt=receipt)
                for item in answer["answers"]
            ]
        return answers if several or len(answers) > 1 else answers[0]

    @guarded
    def datasets(self) -> list[str]:
        """The names of the datasets that you may see."""
        return [each["name"] for each in self._line.ask("GET", "/v1/datasets")["datasets"]]

    @guarded
    def schema(self, dataset: str) -> dict[str, Any]:
        """What is public of a dataset."""
        return dict(self._line.ask("GET", _path("datasets", dataset, "schema")))

    @guarded
    def budget(self, dataset: str) -> RemoteBudget:
        """What is left of a dataset's budget, for you and for everyone."""
        return RemoteBudget.parse(self._line.ask("GET", _path("datasets", dataset, "budget")))

    @guarded
    def receipts(self, dataset: str | None = None) -> list[Receipt]:
        """The receipts of your releases, the latest first; of one dataset, or of all."""
        jobs = self._line.ask("GET", "/v1/jobs")["jobs"]
        return [
            Receipt.from_dict(self._line.ask("GET", _path("releases", job["id"], "receipt")))
            for job in jobs
            if job["state"] == "done" and dataset in (None, job["dataset"])
        ]

    @guarded
    def releases(self, dataset: str | None = None) -> list[Released[Any]]:
        """Your releases, the latest first; nothing is spent again."""
        jobs = self._line.ask("GET", "/v1/jobs")["jobs"]
        return [
            self._found(job["id"])
            for job in jobs
            if job["state"] == "done" and dataset in (None, job["dataset"])
        ]


def _given(kind: str, order: Mapping[str, Any]) -> dict[str, Any]:
    """An order without what was left out."""
    return {"kind": kind} | {name: value for name, value in order.items() if value is not None}


def _path(*parts: str) -> str:
    return "/v1/" + "/".join(quote(part, safe="") for part in parts)


def _fresh_key() -> str:
    return secrets.token_urlsafe(24)
