"""The actor of a session: quotas, one answer for a key, many requests at once, going on."""

import threading
from pathlib import Path
from typing import Any

import pytest

from serve.served import config_of, declarations, serving, write_data
from winnow.errors import LedgerError

AT = "/v1/datasets/people/questions"


def served_with(folder: Path, **questions: Any):
    write_data(folder)
    people = declarations(**questions)["people"]
    return serving(config_of(folder, datasets={"people": people}))


def test_quotas_bound_questions_and_fresh_answers_of_each_analyst(tmp_path: Path) -> None:
    asked = [{"age": i} for i in range(4)]
    with served_with(tmp_path, each=6, fresh_each=5, method="independent") as served:
        first = served.call("ann", "POST", AT, "a", json={"questions": asked})
        assert first.status_code == 200 and first.json()["left"] == 2
        again = served.call("ann", "POST", AT, "a", json={"questions": asked})
        assert again.json() == first.json(), "the same key costs nothing"
        more = served.call("ann", "POST", AT, "b", json={"questions": asked})
        assert more.status_code == 409 and "2 of your 6 are left" in more.json()["detail"]
        new = [{"age": 8}, {"age": 9}]
        fresh = served.call("ann", "POST", AT, "c", json={"questions": new})
        assert fresh.status_code == 409 and "1 fresh" in fresh.json()["detail"]
        assert served.call("ann", "POST", AT, "d", json={"questions": new[:1]}).status_code == 200
        assert served.call("bob", "POST", AT, "a", json={"questions": new}).status_code == 200


def test_requests_at_one_moment_are_answered_together_and_each_for_itself(tmp_path: Path) -> None:
    with served_with(tmp_path, max_queries=30, method="independent") as served:
        actor = served.service.actors["people"]
        held = threading.Event()
        real = actor._claims.claim

        def slow(*given: Any, **named: Any) -> Any:
            held.wait(10)
            return real(*given, **named)

        actor._claims.claim = slow  # type: ignore[method-assign]
        first = actor.ask("ann", "first", [{"age": 0}])  # the actor is busy with it meanwhile
        same = [actor.ask("ann", "k", [{"age": 1}, {"colour": "red"}]) for _ in range(2)]
        other = actor.ask("ann", "k", [{"age": 2}])
        wrong = actor.ask("bob", "k", [{"age": 1}, {"nobody": 1}])
        many = actor.ask("bob", "many", [{"age": i % 10, "colour": "blue"} for i in range(40)])
        held.set()
        assert len(first.result(20).answers) == 1
        assert same[0].result(20) == same[1].result(20)
        with pytest.raises(Exception, match="another request"):
            other.result(20)
        with pytest.raises(Exception, match="nobody"):
            wrong.result(20)
        assert len(many.result(20).answers) == 40  # ten different ones
        assert served.service.ledger.dataset("people").charges == 1


def test_a_session_that_cannot_be_written_is_gone_on_with(tmp_path: Path) -> None:
    with served_with(tmp_path) as served:
        body = {"questions": [{"colour": "red"}]}
        first = served.call("ann", "POST", AT, "a", json=body).json()
        actor = served.service.actors["people"]
        session = actor._session
        assert session is not None

        def full(*_: Any, **__: Any) -> Any:
            raise LedgerError("the state cannot be written: No space left on device")

        session.ask_many = full  # type: ignore[method-assign]
        broken = served.call("ann", "POST", AT, "b", json=body)
        assert broken.status_code == 503 and "space" not in broken.text
        again = served.call("ann", "POST", AT, "b", json=body)
        assert again.status_code == 200
        assert actor._session is not session
        assert again.json()["answers"][0]["count"] == first["answers"][0]["count"] or (
            first["answers"][0]["kind"] == "hypothesis"
        )
        assert served.service.ledger.dataset("people").charges == 1


def test_old_answers_are_forgotten_and_nothing_is_counted_less_for_it(tmp_path: Path) -> None:
    """Until then the same key is the same answer; the ledger, quotas and releases stay."""
    with served_with(tmp_path, each=5, method="independent") as served:
        service, body = served.service, {"questions": [{"colour": "red"}]}
        first = served.call("ann", "POST", AT, "old", json=body).json()
        job = served.released("ann", "people", "r", kind="select", column="colour", epsilon=0.1)
        real = service.requests.served
        service.requests.served = lambda: real() + 60 * 86_400  # type: ignore[method-assign]
        later = served.call("ann", "POST", AT, "young", json=body).json()
        service.requests.served = lambda: real() + 89 * 86_400  # type: ignore[method-assign]
        service.forget_answers()
        assert served.call("ann", "POST", AT, "old", json=body).json() == first
        service.requests.served = lambda: real() + 91 * 86_400  # type: ignore[method-assign]
        service.forget_answers()
        charges = service.ledger.dataset("people").charges
        assert service.requests.requested("ann", "old") is None
        assert served.call("ann", "POST", AT, "young", json=body).json() == later
        assert served.waited("ann", job["id"])["state"] == "done"
        again = served.call("ann", "POST", AT, "old", json=body).json()
        assert again["left"] == 2, "three were asked, whatever is remembered of them"
        assert again["answers"] == first["answers"], "a session knows what it released"
        assert service.ledger.dataset("people").charges == charges
        assert service.store.verify_audit_log() == ""
        (line,) = [x for x in service.store.audit_log() if x.what == "answers forgotten"]
        assert line.detail["requests"] == 1
