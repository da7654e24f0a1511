"""What a plan states of an order is what the verb is charged and promises, for every option."""

import math
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any, get_args

import msgspec
import numpy as np
import pytest

from serve.served import COLOURS, SCHEMA, config_of, shared_workers, write_data
from winnow.errors import BudgetExceeded, WinnowError
from winnow.mechanisms import ITEMSETS, words
from winnow.privacy import Guarantee, describe
from winnow.privacy.ledger import RecordedBudget
from winnow.privacy.rounding import stated_at_least
from winnow.release.methods import METHODS as METHODS_OF_RELEASE
from winnow.select.counts_margin import counts_margin
from winnow.select.crossing.private_labels import UnknownDomain
from winnow.select.crossing.selection import Selection
from winnow.select.label_methods import OF_LABELS, OF_PRIVATE_LABELS
from winnow.select.mechanisms.noisy_counts import WithCounts
from winnow.select.methods import OF_SCORES, Lipschitz
from winnow.select.plan.top_k.known import top_k_bound
from winnow.select.top_k_methods import OF_LISTS
from winnow.serve import bodies, orders, screens
from winnow.serve.datasets import RELEASES, OpenDataset
from winnow.serve.declarations import Declaration
from winnow.serve.planning import Wait
from winnow.serve.principals import Principal
from winnow.serve.replies import PlanAnswer
from winnow.serve.service import Service
from winnow.serve.verbs import counts_of

OWNER = Principal("olga", "owner", frozenset({"read"}), "t")
LISTED = {"items": [f"item{i}" for i in range(7)]}
EVENTS: dict[str, Any] = {
    "kind": "events", "path": "log.csv", "item": "item", "person": "person", "max_per_person": 3
}  # fmt: skip
BASKETS: dict[str, Any] = {"kind": "baskets", "path": "baskets.csv", "max_items": 4}
SEVERAL: dict[str, Any] = {"person": "who", "max_per_person": 2, "relation": "add-remove"}
DATASETS: dict[str, dict[str, Any]] = {
    "one row": {"path": "people.csv", "schema": SCHEMA},
    "one row, pure": {"path": "people.csv", "schema": SCHEMA, "delta": 0.0},
    "several rows": {"path": "rows.csv", "schema": SCHEMA, **SEVERAL},
    "listed items": EVENTS | LISTED,
    "listed items, pure": EVENTS | LISTED | {"delta": 0.0},
    "private items": EVENTS,
    "listed baskets": BASKETS | {"items": [f"b{i}" for i in range(5)]},
    "private baskets": BASKETS,
}
BOOLS = [False, True]
SHARES = [0.0, 0.1]
WORKLOADS = [[{"marginals": 2}], [{"marginals": 1}, {"where": [{"colour": "red"}]}]]
RANGES = [{"ranges": "age"}]
SELECTING: list[Any] = [
    *(each.word() for each in OF_SCORES if each is not Lipschitz),
    {"kind": "lipschitz", "noise": "logistic"},
    {"kind": "large-margin", "thresholds": "printed"},
]
FINDING: list[Any] = [
    "auto",
    *(each.word() for each in (*OF_LISTS, *OF_PRIVATE_LABELS)),
    {"kind": "canonical", "gamma": 0.25, "noise": "gumbel"},
]
EVERY: dict[str, dict[str, list[Any]]] = {
    "select": {
        "epsilon": [0.15], "column": ["colour"], "k": [None, 2], "delta": [0.0, 1e-6],
        "method": SELECTING,
    },
    "top-k": {
        "epsilon": [0.15], "column": ["colour"], "k": [2], "delta": [0.0, 1e-6],
        "with_counts": BOOLS, "method": FINDING, "with_cut": SHARES, "ordered": [None],
    },
    "labels": {
        "epsilon": [0.15], "delta": [1e-6],
        "method": ["auto", *(each.word() for each in OF_LABELS)],
    },
    "tabulate": {
        "epsilon": [1.0], "by": [*WORKLOADS, RANGES], "delta": [0.0, 1e-6],
        "values": [[], ["age"]], "objective": ["mean", "max", "balanced"], "rows": [None, 300],
        "with_cut": SHARES,
    },
    "moments": {
        "epsilon": [1.0], "values": [["age"]], "statistics": [[], ["mean", "deviation"]],
        "by": [[], ["colour"]], "delta": [0.0, 1e-6], "level": [0.9],
        "bounds": ["declared", "auto"],
    },
    "quantiles": {
        "epsilon": [1.0], "column": ["age"], "quantiles": [[0.5], [0.1, 0.25, 0.9]],
        "by": [[], ["colour"]], "delta": [0.0],
        "method": ["auto", "halving", "joint", {"kind": "halving", "level": 0.9}],
    },
    "histogram": {
        "epsilon": [1.0], "column": ["age"], "bins": [2, [0, 1, 2]], "split": ["equal"],
    },
    "describe": {
        "epsilon": [1.0], "bins": [4], "quantiles": [None, []], "top": [2], "level": [0.9],
    },
    "regress": {
        "epsilon": [1.0], "target": ["age"], "features": [[], ["colour"]], "delta": [0.0, 1e-6],
        "level": [0.9],
    },
    "itemsets": {
        "epsilon": [0.5], "size": [2], "k": [None, 2], "delta": [0.0, 1e-6],
        "supports": [None, "winners", "subsets"],
        "method": ["auto", *words(ITEMSETS), {"kind": "limited-domain", "reach": 9},
                   {"kind": "choosing", "growth": 12},
                   {"kind": "large-margin", "thresholds": "printed"},
                   {"kind": "canonical", "gamma": 0.25, "noise": "gumbel"}],
    },
    "release": {
        "epsilon": [1.0], "workload": [WORKLOADS[0], RANGES], "delta": [0.0, 1e-6],
        "method": ["auto", *(each.word() for each in METHODS_OF_RELEASE)], "rows": [None, 300],
    },
}  # fmt: skip
"""The values of each option that are tried; all of them with all others."""
NEVER = {
    ("private items", "select"),
    ("listed items", "labels"),
    ("listed items, pure", "labels"),
}
"""What fits no order of its kind: nobody lists the candidates, or somebody did."""
CASES = [
    (name, kind)
    for name, declared in DATASETS.items()
    for kind in RELEASES[declared.get("kind", "table")]
]


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    folder: Path = tmp_path_factory.mktemp("promises")
    write_data(folder)
    rows = "".join(f"{COLOURS[i % 3]},{i % 10},{i // 2}\n" for i in range(300))
    (folder / "rows.csv").write_text(f"colour,age,who\n{rows}")
    declared = {
        name: Declaration(**{"epsilon": 1e6, "delta": 0.5} | given)
        for name, given in DATASETS.items()
    }
    started = Service(config_of(folder, datasets=declared), workers=shared_workers())
    started.start()
    yield started
    started.stop()


def asked(kind: str, dataset: str) -> Iterator[bodies.AnyOrder]:
    """Every order of a kind, with every value of every option."""
    options = EVERY[kind]
    if "colour" not in DATASETS[dataset].get("schema", {}):
        without = {"column": [None], "rows": [None], "by": [None], "values": [[]]}
        options |= {name: values for name, values in without.items() if name in options}
    for values in product(*options.values()):
        given = dict(zip(options, values, strict=True))
        yield msgspec.convert({"kind": kind, **given}, bodies.AnyOrder)  # type: ignore[arg-type]


def test_every_option_of_every_order_is_tried() -> None:
    kinds = {str(each.__struct_config__.tag): each for each in get_args(bodies.AnyOrder)}
    assert set(kinds) == set(EVERY) == set(screens.KINDS)
    for kind, order in kinds.items():
        assert set(order.__struct_fields__) - {"error"} == set(EVERY[kind]), kind


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The mechanisms of top-k as verbs spend on them, the outermost first."""
    spent: list[Any] = []

    def watch(kind: type, method: str) -> None:
        real = getattr(kind, method)

        def watched(self: Any, *given: Any, **named: Any) -> Any:
            spent.append(self)
            return real(self, *given, **named)

        monkeypatch.setattr(kind, method, watched)

    watch(Selection, "drawn")
    watch(UnknownDomain, "drawn")
    return spent


class AsPriced(RecordedBudget):
    """It pays for what was priced, as that of a server's job does, which knows the charge."""

    def _counts_as_stated(self, *_: object) -> bool:
        return False


@pytest.mark.slow
@pytest.mark.parametrize(("name", "kind"), CASES)
def test_a_plan_states_what_the_verb_is_charged_and_promises(
    service: Service, ran: list[Any], name: str, kind: str
) -> None:
    opened = service.catalogue.get(name)
    assert opened is not None
    compared = 0
    for order in asked(kind, name):
        account = service.ledger.dataset(name)
        planned = plan_of(service, name, order)
        if planned is None:
            continue
        if not planned.fits:
            with pytest.raises(BudgetExceeded):
                orders.run(opened, order, service.catalogue.budget(name))
            continue
        ran.clear()
        released = orders.run(opened, order, AsPriced(service.ledger, name)).released
        compared += 1
        assert planned.charged == describe(released.receipt.event), order
        stated = Guarantee(planned.epsilon, planned.delta, released.receipt.event.relation)
        cost = account.cap.cost(released.receipt.event, account.used, stated)
        assert planned.cost == stated_at_least(cost.size or cost.rho), order
        assert released.guarantee.epsilon <= planned.epsilon, order
        assert released.guarantee.delta <= planned.delta, order
        match order:
            case bodies.TopKOrder():
                check_top_k(opened, order, planned, released, ran[0])
            case bodies.SelectOrder():
                assert planned.details["mechanism"] == released.receipt.mechanism, order
            case bodies.ItemsetsOrder():
                assert planned.details["mechanism"] == released.receipt.mechanism, order
                assert planned.details["reason"] == released.receipt.reason, order
                assert planned.error == planned.details["error"], order
            case bodies.TabulateOrder() if planned.details["rows"]:
                stated = [each["standard_error"] for each in planned.details["rows"]]
                tables = released.value.tables
                errors = [math.sqrt(np.mean(each.standard_error**2)) for each in tables]
                assert stated[: len(errors)] == pytest.approx(errors), order
            case _:
                pass
    assert compared or (name, kind) in NEVER


def plan_of(service: Service, name: str, order: bodies.AnyOrder) -> PlanAnswer | None:
    """The plan; None: it is refused in public, and so is the release, which is planned first."""
    try:
        return service.plan(OWNER, name, bodies.PlanBody(order=order), Wait())
    except WinnowError as refused:
        if not refused.public:
            raise
        return None


def check_top_k(
    opened: OpenDataset, order: bodies.TopKOrder, planned: PlanAnswer, released: Any, ran: Any
) -> None:
    """The bound and the margin of a plan are those of the mechanism that ran, at its epsilon."""
    utility, details = counts_of(opened.data, order.column).utility, planned.details
    name, _, beside = released.receipt.mechanism.partition("; cut-away")
    assert details["name"] == name and bool(beside) == bool(order.with_cut), order
    assert details["counts_margin"] == counts_margin(ran, utility), order
    assert (details["counts_margin"] is not None) == order.with_counts, order
    if isinstance(ran, Selection):
        selects = ran.selection if isinstance(ran, WithCounts) else ran
        labels = opened.labels()[order.column or opened.declared.item or ""]
        assert planned.error == top_k_bound(selects, len(labels), utility, 0.01).tail, order


@pytest.mark.parametrize("mechanism", [each.word() for each in OF_LISTS])
def test_counts_that_cost_half_of_epsilon_double_the_bound_of_a_plan(
    service: Service, mechanism: str
) -> None:
    delta = 1e-6 if mechanism in ("peel-gumbel", "gaussian", "oneshot-approximate") else 0.0

    def error(epsilon: float, with_counts: bool) -> float:
        order = bodies.TopKOrder(
            epsilon=epsilon, k=3, delta=delta, method=mechanism, with_counts=with_counts
        )
        planned = service.plan(OWNER, "listed items", bodies.PlanBody(order=order), Wait())
        assert planned.error is not None
        return planned.error

    free = mechanism in ("laplace", "gaussian")
    assert error(0.2, True) == error(0.2 if free else 0.1, False)
