"""A released list with counts: it says how far off they are, and draws itself."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import pytest

import winnow as wn
from winnow.core.cut import laplace_margin
from winnow.core.noise import discrete_laplace_array
from winnow.core.tape import Randomness
from winnow.select.lists import CountedItems

VOTES = {"oak\x1b[31m": 900, "$elm_x$": 700, "<b>yew</b>": 500, "fir": 90}


def top(**asked: Any) -> wn.Released[Any]:
    return wn.top_k(VOTES, k=3, epsilon=1, seed=1, **asked)


def test_released_counts_say_within_what_their_noise_lies() -> None:
    plan = wn.plan.top_k(wn.plan.counts(4), k=3, epsilon=1, with_counts=True)
    found = top(with_counts=True).value
    assert isinstance(found, CountedItems)
    assert found.margin == plan.expected.counts_margin and found.margin is not None
    card = found._repr_html_()
    assert f"within {found.margin:,} of what was counted, with probability 0.95" in card
    assert "<b>yew" not in card and "&lt;b&gt;yew" in card


def test_a_list_with_counts_is_the_list_of_its_pairs() -> None:
    found = top(with_counts=True).value
    assert found == list(found) and pickle.loads(pickle.dumps(found)) == found
    again = pickle.loads(pickle.dumps(found))
    assert (again.margin, again.ordered) == (found.margin, found.ordered)
    assert list(top(with_counts=True).to_columns()) == ["item", "count"]


@pytest.mark.parametrize("ending", [".png", ".svg", ".pdf"])
def test_a_top_list_draws_itself_from_the_result_and_from_the_value(
    tmp_path: Path, ending: str
) -> None:
    released = top(with_counts=True)
    first = released.plot(tmp_path / f"one{ending}")
    second = released.value.plot(tmp_path / f"two{ending}")
    assert first is not None and second is not None
    assert first.read_bytes() == second.read_bytes() and len(first.read_bytes()) > 3_000


def test_a_figure_says_what_was_counted_and_draws_a_set_by_its_counts() -> None:
    counts = wn.seal_counts(VOTES, max_items=2, labels="public")
    asked: dict[str, Any] = {"k": 4, "epsilon": 1, "with_counts": True, "seed": 1}
    found = wn.top_k(counts, method="canonical", **asked).value
    assert not found.ordered
    sorted_bars = sorted(found, key=lambda pair: -pair[1])
    listed = CountedItems(sorted_bars, margin=found.margin)
    assert found._picture(".svg") == listed._picture(".svg")
    assert found._picture(".svg") != found.about_counted("at most 2 items")._picture(".svg")


def test_labels_without_counts_have_nothing_to_draw_and_say_how_to_ask() -> None:
    with pytest.raises(wn.ParameterError, match="with_counts=True"):
        top().plot()
    with pytest.raises(wn.ParameterError, match="without numbers to draw"):
        wn.select(VOTES, epsilon=1, seed=1).plot()


def test_supports_of_itemsets_draw_themselves_and_lie_within_their_margin(tmp_path: Path) -> None:
    baskets = wn.read_baskets(
        [["a", "b"]] * 50 + [["a", "c"]] * 20, unit="basket", items=["a", "b", "c"]
    )
    asked: dict[str, Any] = {"size": 2, "k": 2, "epsilon": 4, "seed": 1}
    for supports in ("winners", "subsets"):
        released = wn.itemsets(baskets, supports=supports, **asked)
        assert released.plot(tmp_path / f"{supports}.png") is not None
    found = wn.itemsets(baskets, supports="winners", **asked).value
    assert found.margin is not None and all(isinstance(each, tuple) for each, _ in found)


@pytest.mark.parametrize("scale", [0.3, 2.0, 40.0])
def test_the_margin_holds_nineteen_of_twenty(scale: float) -> None:
    noise = discrete_laplace_array(Randomness(7).tape(), 40_000, scale)
    margin = laplace_margin(scale, 0.95)
    assert (abs(noise) <= margin).mean() > 0.945
    assert margin == 0 or (abs(noise) <= margin - 1).mean() < 0.955
