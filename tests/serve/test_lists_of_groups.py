"""A dataset of events with groups: what is declared, ordered, priced, shown and received."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

import winnow as wn
from winnow.privacy import Budget
from winnow.serve import bodies
from winnow.serve.datasets import OpenDataset, read_data
from winnow.serve.declarations import Declaration, check_declaration
from winnow.serve.documents import document_of
from winnow.serve.orders import Pricing, event_of, run, size_of
from winnow.serve.received import released_of
from winnow.serve.replies import ReleaseAnswer
from winnow.serve.results import shown
from winnow.serve.stand_in import stand_in

EVENTS: dict[str, Any] = {
    "kind": "events", "path": "log.csv", "item": "page", "person": "who", "max_per_person": 2,
    "epsilon": 50.0, "delta": 1e-4, "by": "country",
}  # fmt: skip
PUBLIC = {"items": ["home", "help"], "groups": ["DE", "FR", "XX"], "max_groups": 1}


class AsPriced(Budget):
    """It pays for what was priced, as that of a server's job does, which knows the charge."""

    def _counts_as_stated(self, *_: object) -> bool:
        return False


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("groups")
    rows = [f"u{u},{'DE' if u % 2 else 'FR'},{'home' if u % 4 else 'help'}" for u in range(200)]
    (made / "log.csv").write_text("\n".join(["who,country,page", *rows]))
    return made


@pytest.mark.parametrize("public", [False, True])
@pytest.mark.parametrize("with_counts", [False, True])
def test_lists_of_groups_cost_what_their_plan_says_and_arrive(
    folder: Path, public: bool, with_counts: bool
) -> None:
    declared = Declaration(**EVENTS, **(PUBLIC if public else {}))
    check_declaration("visits", declared)
    data = read_data(declared, folder, "salt")
    opened = OpenDataset("visits", declared, data, stand_in(data), "")
    order = bodies.TopKOrder(k=1, epsilon=20.0, delta=1e-6, with_counts=with_counts)
    done = run(opened, order, AsPriced(50.0, delta=1e-4, accountant="combined"))
    assert done.released.receipt.event == event_of(opened, order, Pricing("combined"))
    document = msgspec.json.decode(document_of(done.released, 1, done.margin).text)
    assert document["downloads"] == ["table.csv"]
    said = {"kind": "top-k", "order": msgspec.to_builtins(order), **document}
    received = released_of(said, lambda name: "", {})
    assert dict(received.value) == dict(done.released.value)
    assert set(received.value) == ({"DE", "FR", "XX"} if public else {"DE", "FR"})
    first = received.value["DE"][0]
    assert (first[0] if with_counts else first) == "home"
    assert isinstance(received.value, wn.ListsByGroup)
    answer = ReleaseAnswer("id", "visits", "top-k", said["order"], document["value"], {}, {}, [])
    view = shown(answer, None, {})
    assert [grid.caption for grid in view.grids][:2] == ["country: DE", "country: FR"]
    if public:
        assert size_of(opened, order).answers == 3
        assert opened.labels() == {"country": ["DE", "FR", "XX"], "page": ["home", "help"]}


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"by": None, "max_groups": 1}, "need by"),
        ({"kind": "baskets"}, "for kind = 'events'"),
        ({"items": ["home"]}, "list them"),
    ],
)
def test_a_declaration_that_contradicts_itself_is_refused(
    change: dict[str, Any], match: str
) -> None:
    with pytest.raises(wn.ParameterError, match=match):
        check_declaration("visits", Declaration(**{**EVENTS, **change}))
