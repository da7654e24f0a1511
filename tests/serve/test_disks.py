"""A disk that is really full, and one that is read-only: nothing is shown, lost or paid twice."""

import os
import resource
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

from serve.served import Served, config_of, declarations, serving, write_data
from winnow.errors import WinnowError
from winnow.serve.service import Service

pytestmark = pytest.mark.extras

AT = "/v1/datasets/people"
ORDER = {"order": {"kind": "tabulate", "by": [{"marginals": 2}], "epsilon": 0.5}}


class Disk:
    """A small file system of its own; where none can be mounted, a limit on all files instead."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        made = ["mount", "-t", "tmpfs", "-o", "size=4m,mode=700", "tmpfs", str(folder)]
        self.mounted = subprocess.run(made, capture_output=True, check=False).returncode == 0

    @contextmanager
    def read_only(self) -> Iterator[Path]:
        """The same files at another place, where nobody can write."""
        if not self.mounted:
            pytest.skip("to mount a file system needs root")
        place = self.folder.with_name("read-only")
        place.mkdir()
        subprocess.run(["mount", "--bind", str(self.folder), str(place)], check=True)
        try:
            subprocess.run(["mount", "-o", "remount,bind,ro", str(place)], check=True)
            yield place
        finally:
            subprocess.run(["umount", "--lazy", str(place)], check=True)

    @contextmanager
    def full(self) -> Iterator[None]:
        """Not one block is left."""
        ballast = self.folder / "ballast"
        if not self.mounted:
            before = resource.getrlimit(resource.RLIMIT_FSIZE)
            resource.setrlimit(resource.RLIMIT_FSIZE, (0, before[1]))
            yield
            resource.setrlimit(resource.RLIMIT_FSIZE, before)
            return
        left = os.statvfs(self.folder)
        with ballast.open("wb") as file:
            os.posix_fallocate(file.fileno(), 0, left.f_bavail * left.f_frsize)
        assert os.statvfs(self.folder).f_bavail == 0
        yield
        ballast.unlink()


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Disk]:
    folder = tmp_path / "disk"
    folder.mkdir()
    found = Disk(folder)
    write_data(folder)
    yield found
    if found.mounted:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


def questions(number: int) -> dict[str, Any]:
    """Some hundred questions: their answers need room."""
    return {"questions": [{"age": {"from": i % 9, "to": 10}} for i in range(number)]}


def asked(served: Served, key: str, number: int = 100) -> Any:
    return served.call("ann", "POST", f"{AT}/questions", key, json=questions(number))


def until(work: Any, wanted: int) -> Any:
    """Ask again under the same key, as a client does."""
    for _ in range(200):
        answer = work()
        if answer.status_code == wanted:
            return answer
        assert answer.status_code in (500, 503), answer.text
        time.sleep(0.1)
    raise AssertionError(answer.text)


def test_a_full_disk_shows_nothing_that_is_not_written_and_loses_nothing(disk: Disk) -> None:
    people = declarations(epsilon=15.0, max_queries=2500)["people"]
    with serving(config_of(disk.folder, datasets={"people": people})) as served:
        first = asked(served, "before")
        assert first.status_code == 200, first.text
        before = served.service.ledger.dataset("people").charges
        with disk.full():
            refused = []
            for number in range(20):  # a file may have some room inside
                answer = asked(served, f"full {number}")
                if answer.status_code != 200:
                    refused.append(number)
                    assert answer.status_code == 503 and "answers" not in answer.json()
            assert refused
            ordered = served.call("ann", "POST", f"{AT}/releases", "full", json=ORDER)
            assert ordered.status_code in (202, 500), ordered.text
            assert asked(served, "before").json() == first.json(), "what was written is shown"
            assert served.call(None, "GET", "/healthz").status_code == 200
        again = until(lambda: asked(served, f"full {refused[0]}"), 200)
        assert asked(served, f"full {refused[0]}").json() == again.json()
        job = until(
            lambda: served.call("ann", "POST", f"{AT}/releases", "full", json=ORDER), 202
        ).json()
        assert served.waited("ann", job["id"])["state"] == "done"
        assert served.service.ledger.dataset("people").charges == before + 1
        verified = served.call("olga", "GET", "/v1/ledger/verify").json()
        assert verified["ok"], verified


def test_a_folder_that_is_read_only_is_refused_and_serves_again_when_it_is_not(disk: Disk) -> None:
    config = config_of(disk.folder, datasets={"people": declarations()["people"]})
    with serving(config) as served:
        first = asked(served, "before", 10)
        assert first.status_code == 200, first.text
        secret = served.tokens["ann"]
    with disk.read_only() as place:
        moved = msgspec.structs.replace(config, folder=str(place))
        with pytest.raises(WinnowError, match="cannot be used") as caught:
            Service(moved).start()
        assert caught.value.__cause__ is None and caught.value.__context__ is None
    with serving(config) as served:
        served.tokens["ann"] = secret
        assert asked(served, "before", 10).json() == first.json()
        assert served.service.ledger.dataset("people").charges == 1
