"""Questions under keys are counted before they are asked, and each request is settled by itself."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from serve.served import Served, config_of, declarations, serving, write_data
from winnow.errors import LedgerError
from winnow.serve.service import Service

AT = "/v1/datasets/people/questions"
ORDER = {"order": {"kind": "select", "column": "colour", "epsilon": 0.01}}
INDEPENDENT = {"method": "independent", "max_queries": 400}


def served_with(folder: Path, **questions: Any) -> Any:
    write_data(folder)
    people = declarations(**questions)["people"]
    return serving(config_of(folder, datasets={"people": people}))


def quota(service: Service, who: str = "ann") -> tuple[int, int]:
    """Questions and fresh answers that are counted for an analyst."""
    row = service.store.read(
        lambda view: view.one("SELECT questions, fresh FROM {quotas} WHERE principal = ?", who)
    )
    return (0, 0) if row is None else (row[0], row[1])


def release(served: Served, key: str) -> Any:
    return served.call("ann", "POST", "/v1/datasets/people/releases", key, json=ORDER)


def question(served: Served, key: str, who: str = "ann", **condition: Any) -> Any:
    return served.call(who, "POST", AT, key, json={"questions": [condition]})


def test_a_release_under_the_key_of_questions_that_are_asked_now_fails_nothing_else(
    tmp_path: Path,
) -> None:
    """Before, the write of all answers failed: the session closed, and no quota was counted."""
    with served_with(tmp_path, each=50, **INDEPENDENT) as served:
        session = served.service.actors["people"]._session
        assert session is not None
        real, orders = session.ask_many, []

        def slow(*given: Any, **named: Any) -> Any:
            found = real(*given, **named)
            orders.append(release(served, "k"))
            return found

        session.ask_many = slow  # type: ignore[method-assign]
        asked = question(served, "k", age=3)
        session.ask_many = real  # type: ignore[method-assign]
        assert asked.status_code == 200
        assert [each.status_code for each in orders] == [422], "the key is taken"
        assert served.service.actors["people"]._session is session
        assert quota(served.service) == (1, 1)
        assert question(served, "k", age=3).json() == asked.json()


def test_keys_shared_by_threads_settle_every_request_and_count_every_question(
    tmp_path: Path,
) -> None:
    tries = 20
    with served_with(tmp_path, each=200, **INDEPENDENT) as served:
        session = served.service.actors["people"]._session
        assert session is not None
        real = session.ask_many

        def slow(*given: Any, **named: Any) -> Any:
            found = real(*given, **named)
            time.sleep(0.02)  # so that releases come between the question and its writing
            return found

        session.ask_many = slow  # type: ignore[method-assign]
        gates = [threading.Barrier(3) for _ in range(tries)]

        def ask(number: int) -> Any:
            gates[number].wait(30)
            return question(served, f"k{number}", age=number % 10, colour="red")

        def order(number: int) -> Any:
            gates[number].wait(30)
            return release(served, f"k{number}")

        def other(number: int) -> Any:
            gates[number].wait(30)
            return question(served, f"k{number}", "bob", age=number % 10, colour="blue")

        with ThreadPoolExecutor(3) as pool:
            found = [
                [each.result(60) for each in [pool.submit(do, i) for do in (ask, order, other)]]
                for i in range(tries)
            ]
        asked, ordered, others = zip(*found, strict=True)
        assert {each.status_code for each in others} == {200}
        for one, two in zip(asked, ordered, strict=True):
            statuses = (one.status_code, two.status_code)
            assert statuses in ((200, 422), (422, 202), (422, 503), (200, 503)), statuses
        assert served.service.actors["people"]._session is session, "nothing was interrupted"
        shown = sum(each.status_code == 200 for each in asked)
        assert quota(served.service)[0] == shown
        assert quota(served.service, "bob")[0] == tries
        assert session.rounds <= 20  # so many are different


def test_what_cannot_be_written_down_was_counted_and_is_asked_again_uncounted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with served_with(tmp_path, each=3, fresh_each=2, **INDEPENDENT) as served:
        actor = served.service.actors["people"]
        session, real = actor._session, actor._claims.settle

        def away(_: Any) -> None:
            raise LedgerError("the store is away")

        monkeypatch.setattr(actor._claims, "settle", away)
        assert question(served, "a", age=1).status_code == 503
        assert quota(served.service) == (1, 1), "counted before it was asked"
        assert served.call("ann", "GET", "/v1/answers").json() == {"past": []}
        monkeypatch.setattr(actor._claims, "settle", real)
        assert question(served, "a", age=2).status_code == 422, "the key has its question"
        again = question(served, "a", age=1)
        assert again.status_code == 200 and again.json()["left"] == 2
        assert quota(served.service) == (1, 1)
        assert actor._session is session, "the session was not to blame"
        assert question(served, "b", age=2).status_code == 200
        refused = question(served, "c", age=3)
        assert refused.status_code == 409 and "0 fresh" in refused.json()["detail"]
        assert quota(served.service) == (2, 2), "a refusal costs nothing"
        assert question(served, "c", age=2).status_code == 200, "and its key is free"


def test_fresh_answers_put_aside_by_one_request_do_not_refuse_another_at_the_same_moment(
    tmp_path: Path,
) -> None:
    with served_with(tmp_path, each=50, fresh_each=3, **INDEPENDENT) as served:
        actor = served.service.actors["people"]
        known = [{"age": 1}, {"age": 2}]
        actor.ask("ann", "first", known).result(20)
        held, real = threading.Event(), actor._claims.claim

        def slow(*given: Any, **named: Any) -> Any:
            held.wait(10)
            return real(*given, **named)

        actor._claims.claim = slow  # type: ignore[method-assign]
        busy = actor.ask("ann", "busy", [{"age": 1}])
        repeated = actor.ask("ann", "repeated", known)
        new = actor.ask("ann", "new", [{"age": 7}])
        more = actor.ask("ann", "more", [{"age": 8}])
        held.set()
        assert len(busy.result(20).answers) == 1 and len(repeated.result(20).answers) == 2
        assert len(new.result(20).answers) == 1, "the last fresh answer"
        with pytest.raises(Exception, match="0 fresh"):
            more.result(20)
        assert quota(served.service) == (6, 3)
