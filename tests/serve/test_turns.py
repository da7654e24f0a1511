"""Fair turns: places for each principal, and a timetable that nobody fills for others."""

import threading
from concurrent.futures import Future
from pathlib import Path

import msgspec
import pytest

from serve.served import config_of, declarations, shared_workers, write_data
from winnow.serve import bodies
from winnow.serve.config import Limits
from winnow.serve.problems import Refusal
from winnow.serve.service import Service
from winnow.serve.turns import PrincipalPlaces, Rotation, Timetable, Turns

ORDER = bodies.TabulateOrder(by=[bodies.WorkloadPiece(table=["colour"])], epsilon=0.01)


def test_principals_are_served_in_turn_whatever_each_has_waiting() -> None:
    waiting: Rotation[str] = Rotation()
    for item in ("a1", "a2", "a3", "b1", "c1", "b2"):
        waiting.add(item[0], item)
    assert waiting.remove("a", lambda item: item == "a2")
    assert not waiting.remove("d", lambda item: item == "a2")
    served = [found[1] for found in iter(waiting.next, None)]
    assert served == ["a1", "b1", "c1", "a3", "b2"]


def test_a_timetable_lets_another_principal_wait_for_one_job_of_the_one_before() -> None:
    table = Timetable(2)
    mine = [table.add("ann", f"a{n}", 30.0, 0.0) for n in range(34)]
    assert mine[:4] == [30.0, 30.0, 60.0, 60.0] and mine[-1] == 510.0
    assert table.add("bob", "b0", 30.0, 1.0) == 60.0
    assert table.add("bob", "b1", 30.0, 1.0) == 90.0
    assert table.add("cat", "c0", 1.0, 40.0) == 91.0, "after one of each who waits"


def test_a_time_that_is_given_back_is_used_by_the_next() -> None:
    table = Timetable(1)
    assert table.add("ann", "a0", 10.0, 0.0) == 10.0
    assert table.add("ann", "a1", 10.0, 0.0) == 20.0
    table.remove("ann", "a1", 0.0)
    assert table.add("ann", "a2", 10.0, 0.0) == 20.0
    table.remove("ann", "a0", 1.0)
    assert table.add("bob", "b0", 10.0, 2.0) == 21.0, "after a2, which began when a0 went"


def test_one_principal_leaves_a_place_for_others() -> None:
    places = PrincipalPlaces(2, 3, "plans")
    with places.taken("ann"), places.taken("ann"):
        with pytest.raises(Refusal, match="2 plans of yours") as caught, places.taken("ann"):
            pass
        assert caught.value.problem.status == 429
        with (
            places.taken("bob"),
            pytest.raises(Refusal, match="try again later") as full,
            places.taken("cat"),
        ):
            pass
        assert full.value.problem.status == 503
    with places.taken("ann"):
        pass


def test_a_place_is_taken_until_a_promise_is_kept() -> None:
    places = PrincipalPlaces(1, None, "requests with questions")
    first: Future[int] = places.until_done("ann", Future)
    with pytest.raises(Refusal, match="1 requests with questions of yours"):
        places.until_done("ann", Future)
    places.until_done("bob", Future)
    first.set_result(1)
    with pytest.raises(ZeroDivisionError):
        places.until_done("ann", lambda: 1 // 0)
    places.until_done("ann", Future)


def test_work_that_waits_for_later_or_is_cut_off_keeps_no_other_waiting() -> None:
    done: list[str] = []
    ended = threading.Event()

    def work(item: str) -> None:
        if item == "cut off":
            raise SystemExit
        done.append(item)
        if item == "last":
            ended.set()

    turns: Turns[str] = Turns(work, 1, "test")
    turns.put("ann", "later", pause=3600.0)
    for item in ("cut off", "first", "last"):
        turns.put("ann", item)
    assert ended.wait(60)
    assert turns.close(60) and done == ["first", "last"]
    assert not turns.put("ann", "after the end")


def test_releases_of_one_analyst_leave_room_and_time_for_others(tmp_path: Path) -> None:
    """So many of each have a place, and the next analyst comes after one of them, not after all."""
    write_data(tmp_path)
    people = msgspec.structs.replace(declarations()["people"], questions=None)
    limits = Limits(jobs=1, waiting_jobs=5, jobs_each=3)
    config = config_of(tmp_path, datasets={"people": people}, limits=limits)
    service = Service(config, workers=shared_workers())
    service.start()
    opened = service.catalogue.get("people")
    assert opened is not None
    service.requests.now = lambda: 1e9  # type: ignore[method-assign]
    mine = [service.jobs.order(opened, ORDER, "ann", f"{n}") for n in range(3)]
    with pytest.raises(Refusal, match="3 releases of yours") as caught:
        service.jobs.order(opened, ORDER, "ann", "3")
    assert caught.value.word == "too-many"
    other = service.jobs.order(opened, ORDER, "bob", "0")
    seconds = mine[0].due
    assert [each.due for each in mine] == pytest.approx([seconds, 2 * seconds, 3 * seconds])
    assert other.due == pytest.approx(3 * seconds), "after one that runs and one that waited before"
    assert service.ledger.dataset("people").charges == 4
    service.requests.now = lambda: 1e9 + 3600  # type: ignore[method-assign]
    service.jobs.order(opened, ORDER, "ann", "3")
    service.stop()
