"""``wn.itemsets`` and ``winnow itemsets``: what is released, charged and refused."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import winnow as wn
from reference.commands import invoke
from reference.inside import Tape
from reference.itemset_supports import baskets_of, supports_by_counting
from winnow.core.noisy_top.universe import ExplicitRanks
from winnow.core.options import options
from winnow.itemsets.kernels import borders
from winnow.itemsets.kernels import mine as miner
from winnow.itemsets.methods import METHODS, NOT_TAKEN
from winnow.mechanisms import ITEMSETS, row_named, rows, words
from winnow.privacy import ApproxDP, Compose, DiscreteLaplace, PureDP, Repeat
from winnow.select.mechanisms.large_margin import LargeMargin

MECHANISMS = words(ITEMSETS)
PURE = [row.word for row in rows(ITEMSETS) if not row.needs_delta and "k" not in row.takes]

ITEMS = ["ale", "bread", "cheese", "dates", "eggs", "figs"]
BASKETS = [["bread", "cheese"]] * 3000 + [["ale", "eggs"]] * 1200 + [["dates", "figs", "ale"]] * 40
RELATION = wn.Relation.ADD_REMOVE


def public(**how) -> wn.SealedBaskets:
    return wn.read_baskets(BASKETS, unit="basket", items=ITEMS, reading=wn.Reading(salt="s"), **how)


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_every_mechanism_finds_a_pair_that_stands_out(mechanism) -> None:
    delta = 0.0 if mechanism in (*PURE, "joint", "canonical", "canonical-adaptive") else 1e-6
    found = wn.itemsets(
        public(max_items=3), size=2, epsilon=1.0, delta=delta, method=mechanism, seed=1
    )
    assert found.value == ("bread", "cheese")
    assert found.guarantee.epsilon <= 1.0 and found.guarantee.delta <= 1e-6
    assert "itemsets of 2" in found.receipt.mechanism
    top = wn.itemsets(
        public(max_items=3), size=2, epsilon=20.0, delta=delta, method=mechanism, k=2, seed=1
    )
    assert set(top.value) == {("bread", "cheese"), ("ale", "eggs")}
    assert top.guarantee.epsilon <= 20.0


def test_the_items_may_be_private_and_the_answer_none() -> None:
    hidden = wn.read_baskets(BASKETS, unit="basket")
    found = wn.itemsets(hidden, size=2, epsilon=1.0, delta=1e-6, seed=5)
    assert found.value == ("bread", "cheese")
    few = wn.read_baskets(BASKETS[-40:], unit="basket")
    nothing = wn.itemsets(few, size=3, epsilon=0.5, delta=1e-6, seed=5)
    assert nothing.value is None
    assert wn.itemsets(few, size=3, epsilon=0.5, delta=1e-6, k=2, seed=5).value == []
    empty = wn.read_baskets([], unit="basket")
    assert wn.itemsets(empty, size=2, epsilon=1.0, delta=1e-6, seed=5).value is None


def test_what_is_charged() -> None:
    budget = wn.Budget(3.0, 1e-5, accountant="pure")
    wn.itemsets(public(), size=2, epsilon=1.0, delta=1e-6, budget=budget)
    found = wn.itemsets(
        public(), size=2, epsilon=1.0, delta=1e-6, k=2, method="large-margin", budget=budget
    )
    assert found.receipt.event == Repeat(ApproxDP(Fraction(1, 2), 5e-7, RELATION), 2)
    counted = wn.itemsets(
        public(), size=2, epsilon=1.0, method="permute-and-flip", supports="winners", seed=3
    )
    assert counted.receipt.event == Compose((PureDP(0.5, RELATION), DiscreteLaplace(2, RELATION)))
    itemset, noisy = counted.value
    assert itemset == ("bread", "cheese") and abs(noisy - 3000) < 80
    assert counted.guarantee.epsilon == 1.0


def test_a_session_charges_its_budget_and_its_relation() -> None:
    session = wn.Session(epsilon=1.0, delta=1e-5, accountant="pure")
    session.itemsets(public(), size=2, epsilon=0.75, delta=1e-6)
    with pytest.raises(wn.BudgetExceeded):
        session.itemsets(public(), size=2, epsilon=0.5, delta=1e-6)
    replaced = public(relation="substitution")
    with pytest.raises(wn.RelationMismatch):
        session.itemsets(replaced, size=2, epsilon=0.1, delta=1e-6)


def test_many_rounds_compose_better_than_by_dividing() -> None:
    from winnow.select.of_classes import rounds_of

    assert rounds_of(Fraction(1), Fraction(1, 10**6), 2) == (Fraction(1, 2), Fraction(1, 2 * 10**6))
    epsilon, delta = rounds_of(Fraction(1), Fraction(1, 10**6), 200)
    assert epsilon > Fraction(1, 100) and delta == Fraction(1, 4 * 10**8)


@pytest.mark.slow
def test_how_deep_is_mined_does_not_change_where_the_search_stops(monkeypatch) -> None:
    """The same tape on lazily mined baskets, and on the list of all supports."""
    rng = np.random.default_rng(2)
    codes = rng.choice(25, size=(4000, 7), p=np.arange(25, 0, -1) / 325)
    rows = [sorted(set(row)) for row in codes.tolist()]
    supports = [s for s, _ in supports_by_counting(rows, 2)]
    monkeypatch.setattr(borders.PLAIN, "_at", -1)
    ranks = set()
    for seed in range(25):
        search = LargeMargin(1.0, 1e-3).search(wn.Utility.declare(1, monotone=True))
        lazy = miner.ItemsetRanks(baskets_of(rows, 25), 2, known_items=False)
        stopped = search.stopping_rank(lazy, Tape.seeded(seed))
        assert stopped == search.stopping_rank(
            ExplicitRanks(supports, endless=True), Tape.seeded(seed)
        )
        ranks.add(stopped)
    assert len(ranks) > 3


def test_a_seed_repeats_the_release() -> None:
    one, two = (
        wn.itemsets(public(max_items=2), size=2, epsilon=0.1, delta=1e-6, k=3, seed=7)
        for _ in range(2)
    )
    assert one.value == two.value and one.receipt.randomness == "seeded"


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"size": 5}, "read the baskets with max_items=43 or less"),
        ({"size": 0}, "below 1"),
        ({"delta": 0.0}, "private items need a delta"),
        ({"delta": 0.0, "method": "large-margin"}, "needs delta"),
        ({"delta": 0.0, "method": "limited-domain"}, "needs delta"),
        ({"method": "magic"}, "choose one of"),
        ({"method": wn.OneRule()}, "does not select itemsets"),
        ({"method": wn.Oneshot()}, "oneshot does not select itemsets; choose one of: large-margin"),
        ({"method": wn.Lipschitz(noise="gumbel")}, "lipschitz does not select itemsets"),
        ({"method": wn.Canonical(rounded=True)}, "rounded= of canonical is not for itemsets"),
        ({"method": wn.Joint}, "is not a method"),
        ({"method": "joint"}, "no use for it"),
        ({"method": "joint", "delta": 0.0}, "public list of all items"),
        ({"method": "exponential", "delta": 0.0}, "public list of all items"),
        ({"method": "choosing"}, "max_items"),
        ({"supports": True}, "winners, subsets"),
        ({"k": 0}, "below 1"),
        ({"epsilon": 0}, "not above 0"),
        ({"delta": 1}, "not below 1"),
        ({"run": 5}, "wn.Run"),
        ({"run": wn.Run(progress=print)}, "no progress"),
        ({"run": wn.Run(memory="1GB")}, "where they are read"),
        ({"run": wn.Run(pad_to="plan")}, "no public bound"),
    ],
)
def test_bad_requests_are_refused_before_anything_is_charged(how, message) -> None:
    budget = wn.Budget(1.0, 1e-5, accountant="pure")
    request = {"size": 2, "epsilon": 1.0, "delta": 1e-6} | how
    with pytest.raises(wn.InputError, match=message):
        wn.itemsets(wn.read_baskets(BASKETS, unit="basket"), budget=budget, **request)
    wn.itemsets(public(), size=2, epsilon=1.0, delta=1e-6, budget=budget)  # all is left


def test_k_and_sizes_that_do_not_exist_are_refused() -> None:
    with pytest.raises(wn.InputError, match="exceeds 15"):
        wn.itemsets(public(), size=2, epsilon=1, method="joint", k=16)
    two = wn.read_baskets(BASKETS, unit="basket", items=ITEMS[:2])
    with pytest.raises(wn.InputError, match="have no itemsets"):
        wn.itemsets(two, size=3, epsilon=1, delta=1e-6)
    with pytest.raises(wn.InputError, match="hold no itemset"):
        wn.itemsets(public(max_items=1), size=2, epsilon=1, delta=1e-6)


@pytest.mark.parametrize("given", [{"a": 1}, BASKETS, "baskets.csv", None, ITEMS])
def test_baskets_of_which_nobody_said_whose_they_are_are_refused(given) -> None:
    for verb in (wn.itemsets, wn.plan.itemsets, wn.Session(epsilon=1, delta=1e-6).itemsets):
        with pytest.raises(wn.InputError, match=r"whose presence.*wn\.read_baskets"):
            verb(given, size=2, epsilon=1, delta=1e-6)


@pytest.mark.parametrize(
    ("made", "message"),
    [
        (lambda: wn.LargeMargin(thresholds="loose"), "tight, printed"),
        (lambda: wn.LimitedDomain(reach=0), "reach"),
        (lambda: wn.LimitedDomain(reach=2.5), "reach"),
        (lambda: wn.Choosing(growth=0), "growth"),
    ],
)
def test_options_of_methods_are_checked_when_a_method_is_made(made, message) -> None:
    with pytest.raises(wn.InputError, match=message):
        made()


def test_a_growth_below_what_the_baskets_allow_is_refused() -> None:
    few, how = public(max_items=3), {"size": 2, "epsilon": 1, "delta": 1e-6}
    with pytest.raises(wn.InputError, match="may have 3 candidates"):
        wn.itemsets(few, method=wn.Choosing(growth=2), **how)
    assert wn.itemsets(few, method=wn.Choosing(growth=3), **how).receipt


def test_gamma_and_noise_of_canonical_are_those_that_were_said_and_a_half_by_default() -> None:
    for method, gamma, noise in (
        ("canonical", Fraction(1, 2), "exponential"),
        (wn.Canonical(), Fraction(1, 2), "exponential"),
        (wn.Canonical(gamma=0.75, noise="laplace"), 0.75, "laplace"),
    ):
        plan = wn.plan.itemsets(public(), size=2, k=2, epsilon=1, method=method)
        selection: Any = plan.mechanism.selection
        assert (selection.gamma, selection.noise) == (gamma, noise)


def test_every_row_of_the_table_is_a_method_and_the_command_has_all_layouts() -> None:
    assert {made.word() for made in METHODS} == set(MECHANISMS)
    for made in METHODS:
        row = row_named(ITEMSETS, made.word())
        assert {field.name for field in options(made)} - {*NOT_TAKEN} == set(row.options)


def test_the_command_prints_saves_and_draws(tmp_path) -> None:
    file, items = tmp_path / "b.csv", tmp_path / "items.txt"
    file.write_text("".join(",".join(row) + "\n" for row in BASKETS))
    items.write_text("\n".join(ITEMS))
    common = [
        "itemsets",
        str(file),
        "--one-basket-per-person",
        "--size",
        "2",
        "--epsilon",
        "2",
        "--seed",
        "1",
    ]
    shown = invoke([*common, "--delta", "1e-6"])
    assert shown.exit_code == 0 and "bread + cheese" in shown.output, shown.output
    assert "one basket" in shown.output
    out, plot = tmp_path / "o.json", tmp_path / "p.svg"
    asked = [*common, "--items", str(items), "--method", "canonical", "-k", "2"]
    asked += ["--supports", "winners"]
    drawn = invoke([*asked, "--out", str(out), "--plot", str(plot), "--json"])
    assert drawn.exit_code == 0, drawn.output
    released = json.loads(drawn.stdout)
    assert [tuple(itemset) for itemset, _ in released["value"]] == [
        ("ale", "eggs"), ("bread", "cheese")
    ]  # fmt: skip
    assert plot.read_bytes().startswith(b"<?xml") and json.loads(out.read_text())["value"]


@pytest.mark.parametrize(
    "arguments",
    [
        ["--delta", "0"],
        ["--delta", "1e-6", "--plot", "p.gif"],
        ["--delta", "1e-6", "--person", "u"],
        ["--delta", "1e-6", "--method", "limited-domain", "--growth", "3"],
        ["--delta", "1e-6", "--reach", "3"],
        ["--delta", "1e-6", "--supports", "all"],
    ],
)
def test_the_command_refuses_with_code_2(tmp_path, arguments) -> None:
    file = tmp_path / "b.csv"
    file.write_text("secret,b\n")
    asked = [
        "itemsets",
        str(file),
        "--one-basket-per-person",
        "--size",
        "2",
        "--epsilon",
        "1",
        *arguments,
    ]
    result = invoke(asked)
    assert result.exit_code == 2 and "secret" not in result.output
    assert "Traceback" not in result.output


def test_a_set_is_shown_without_ranks_also_where_auto_may_take_weighted_counts(
    tmp_path: Path,
) -> None:
    """Its receipt begins with "weighted": the order of a set says nothing all the same."""
    file, items = tmp_path / "b.basket", tmp_path / "items.txt"
    file.write_text("\n".join(["a,b,c,d,e,f"] * 40) + "\n")
    items.write_text("\n".join("abcdef") + "\n")
    asked = ["itemsets", str(file), "--one-basket-per-person", "--items", str(items), "--size", "2",
             "--epsilon", "1", "--delta", "1e-6", "--seed", "1"]  # fmt: skip
    shown = invoke([*asked, "-k", "10"])
    assert "canonical" in shown.stdout and "rank" not in shown.stdout
    assert "rank" in invoke([*asked, "-k", "3"]).stdout


ALWAYS = [f"basic {place}" for place in range(7)]


def long_sets(**bounds: Any) -> wn.SealedBaskets:
    """Seven items that are in most baskets together, and others that come and go."""
    rows = [[*ALWAYS, f"other {b % 30}", f"other {b % 7}"] for b in range(400)]
    rows += [[*ALWAYS[:4], "other 3"]] * 100
    return wn.read_baskets(rows, unit="basket", **bounds)


@pytest.mark.parametrize(
    "options", [{"delta": 1e-6}, {"delta": 1e-6, "method": "weighted", "k": 2}]
)
def test_sets_of_more_than_four_items_are_found(options: dict[str, Any]) -> None:
    released = wn.itemsets(long_sets(max_items=9), size=7, epsilon=4.0, seed=2, **options)
    found = released.value[0] if "k" in options else released.value
    assert sorted(found) == ALWAYS


def test_a_set_of_many_items_is_one_of_more_than_any_float_counts() -> None:
    """C(3,000, 22) sets: only those that a basket holds are ever listed."""
    names = list(range(3_000))
    rows = [list(range(22))] * 300 + [[place, place + 1] for place in range(50)]
    baskets = wn.read_baskets(rows, unit="basket", items=names, max_items=22)
    assert wn.itemsets(baskets, size=22, epsilon=4.0, seed=1).value == tuple(range(22))


@pytest.mark.parametrize(
    ("bound", "size", "allowed"),
    [(43, 5, True), (44, 5, False), (22, 12, True), (23, 12, False), (500, 4, True)],
)
def test_how_much_a_basket_may_hold_decides_whether_long_sets_are_mined(
    bound: int, size: int, allowed: bool
) -> None:
    about = wn.plan.baskets(max_items=bound)
    if allowed:
        assert wn.plan.itemsets(about, size=size, epsilon=1, delta=1e-6).mechanism
    else:
        with pytest.raises(wn.ParameterError, match=f"max_items={bound - 1} or less"):
            wn.plan.itemsets(about, size=size, epsilon=1, delta=1e-6)


def test_the_supports_of_too_many_subsets_are_refused_beforehand() -> None:
    about = wn.plan.baskets(max_items=22)
    asked = {"size": 16, "epsilon": 1, "delta": 1e-6, "supports": "subsets"}
    assert wn.plan.itemsets(about, k=15, **asked).mechanism
    with pytest.raises(wn.ParameterError, match="ask for a shorter list"):
        wn.plan.itemsets(about, k=17, **asked)


def test_a_long_list_without_subsets_measures_no_more_supports_than_it_has() -> None:
    """What bounds the supports of subsets refused long lists of which no support was asked."""
    about = wn.plan.baskets(items=3_000)
    assert wn.plan.itemsets(about, size=2, k=2**20 + 1, epsilon=1, method="exponential").mechanism
