"""Numbers at which something private chooses: all are listed, and both ways have one law."""

from __future__ import annotations

import ast
import importlib
from itertools import pairwise
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest

import winnow as wn
from reference.audited import Case, chi_square_p_value, counts, enumerate_case, model_of
from winnow import Relation
from winnow.audit.borders import BORDERS, CHOICES
from winnow.audit.cases import OnLabels, kept_in_an_engine
from winnow.audit.replay.borders import REPLAYS, BorderReplay, border_twins, replay_border
from winnow.audit.sampling import tally
from winnow.core.borders import Border
from winnow.core.noisy_top.class_counts import AT_ONCE
from winnow.inner_product.crossing import SCAN_FROM
from winnow.read.kept import MOST_COLLECTED
from winnow.select.audit.border import AtBorder
from winnow.select.audit.counts import BrokenTiesByPosition, Counted
from winnow.select.audit.kept import KeptInEngine
from winnow.select.mechanisms.gaussian_counts import GaussianCounts
from winnow.select.mechanisms.unknown_domain import StabilityThreshold

SEED = 20261118
PEOPLE = counts(Relation.ADD_REMOVE)
FALSE_ALARM = 1e-7
SOURCE = Path(wn.__file__).parent


def declared() -> set[tuple[str, str]]:
    """The module and the name of every border in the source."""
    found = set()
    for file in SOURCE.rglob("*.py"):
        if "Border" not in (text := file.read_text(encoding="utf-8")):
            continue
        module = ".".join(("winnow", *file.relative_to(SOURCE).with_suffix("").parts))
        for node in ast.parse(text).body:
            made = isinstance(node, ast.Assign) and isinstance(node.value, ast.Call)
            if made and ast.unparse(node.value.func) in ("Border", "_border"):  # type: ignore[attr-defined]
                found.add((module, ast.unparse(node.targets[0])))  # type: ignore[attr-defined]
    return found


def test_every_border_of_the_source_is_listed_with_its_proof() -> None:
    found = declared() - {("winnow.audit.replay.borders", "_TWIN")}
    listed = {border for each in BORDERS.values() for border in each}
    assert {getattr(importlib.import_module(m), n) for m, n in found} == listed
    assert {module for module, _ in found} == set(BORDERS)
    for border in listed:
        assert border.number == border.at and border.decides and border.ways.count(";") == 1
        assert len(border.because) > 10 and border.same in ("value", "law")
    assert len({border.name for border in listed}) == len(listed)
    assert {each.border for each in REPLAYS} == listed
    for choice in CHOICES:
        importlib.import_module(choice.where)


def quickly(each: BorderReplay) -> Any:
    return pytest.param(each, id=each.border.name, marks=[] if each.quick else pytest.mark.extras)


@pytest.mark.slow
@pytest.mark.parametrize("each", [*map(quickly, REPLAYS)])
def test_both_sides_of_a_border_leave_the_same_behind(each: BorderReplay) -> None:
    result = replay_border(each, quick=True, seed=SEED)
    assert result.passed, result.detail


def test_a_list_with_another_order_beyond_a_border_is_caught() -> None:
    assert all(result.passed for result in border_twins(seed=SEED))


def test_a_call_that_does_not_meet_its_border_shows_nothing() -> None:
    each = next(each for each in REPLAYS if each.border.name == "keys of rows")
    other = Border(1, "nowhere", decides="x", ways="a; b", same="value", because="never met")
    idle = BorderReplay(other, each.verb, each.call, each.family, 1.0)
    result = replay_border(idle, quick=True, seed=SEED)
    assert not result.passed and "meets the border" in result.detail


@pytest.mark.parametrize(
    "mechanism", [m for m in kept_in_an_engine() if isinstance(m, AtBorder)], ids=lambda m: m.name
)
def test_neighbours_on_two_sides_of_the_border_are_as_close_as_promised(mechanism: Any) -> None:
    for result in enumerate_case(Case(mechanism, PEOPLE), quick=True):
        assert result.passed, result
    model = model_of(mechanism, PEOPLE.utility)
    for scores in ((4, 4, 0), (4, 4, 1)):  # in memory, and in an engine
        assert p_value(mechanism, scores, model, 400) > FALSE_ALARM


def p_value(mechanism: Any, scores: tuple[int, ...], model: Any, draws: int) -> float:
    first, second = tally(mechanism, scores, PEOPLE.utility, draws, 7)
    probabilities = np.exp(model.log_probabilities(np.array([scores], np.int64))[0])
    return chi_square_p_value(first + second, probabilities)


def test_ties_by_position_on_one_side_are_caught() -> None:
    """By enumeration of neighbours, and by draws that do not fit the honest law."""
    parameters = (2.0, 0.1, 2, 1)
    broken = AtBorder(OnLabels(BrokenTiesByPosition(*parameters, with_counts=True), 3), 2)
    honest = AtBorder(OnLabels(StabilityThreshold(*parameters, with_counts=True), 3), 2)
    (result,) = enumerate_case(Case(broken, PEOPLE), quick=True)
    assert not result.passed and result.measured > 0.2
    model = model_of(honest, PEOPLE.utility)
    assert p_value(broken, (4, 4, 0), model, 400) < FALSE_ALARM


@pytest.mark.parametrize("beyond", [1, 10**6])
def test_noise_of_a_class_has_one_law_however_it_is_drawn(beyond: int) -> None:
    mechanism = KeptInEngine(Counted(GaussianCounts(2.0, 2, 1, with_counts=True, delta=0.01), 3))
    with AT_ONCE.moved_to(beyond):
        model = model_of(mechanism, PEOPLE.utility)
        assert p_value(mechanism, (2, 1, 1), model, 300) > FALSE_ALARM


@pytest.mark.parametrize("least", [1e-9, 1e9])
def test_an_index_and_a_scan_draw_from_one_law(least: float) -> None:
    vectors = np.array([[1.0, 0.0], [0.5, 0.5], [0.0, 1.0], [-1.0, 0.5]])
    query, epsilon = np.array([2.0, 0.0]), 1.0
    expected = np.exp(epsilon * (vectors @ query) / 2)
    observed = np.zeros(5, np.int64)
    with SCAN_FROM.moved_to(least):
        for seed in range(600):
            release = wn.mips(
                vectors, wn.seal_query(query, sensitivity=1), epsilon=epsilon,
                method=wn.Indexed(index="flat"), seed=seed,
            )  # fmt: skip
            observed[int(release.value)] += 1
    assert chi_square_p_value(observed, expected / expected.sum()) > FALSE_ALARM


def in_order(items: int, seed: int) -> tuple[int, int]:
    """Of neighbours in a list with equal noisy counts: how many are in order, and all."""
    connection = duckdb.connect()
    connection.execute(
        f"CREATE TABLE log AS SELECT 'u' || p || '-' || i AS u, 'item ' || (100 + i) AS i "
        f"FROM range({items}) t(i), range(60) s(p) WHERE i < 120 OR p = 0"
    )
    found = wn.counts(
        (connection, "log"), item="i", person="u", max_items=1, reading=wn.Reading(salt="s")
    )
    listed = wn.top_k(found, k=120, epsilon=1.0, delta=1e-6, with_counts=True, seed=seed).value
    ties = [(a, b) for (a, n), (b, m) in pairwise(listed) if n == m]
    return sum(a < b for a, b in ties), len(ties)


def test_one_more_person_at_the_border_does_not_change_the_order_of_ties() -> None:
    """120 items of 60 people and one of one: collected, and with one more person left there.

    A fixed seed; a fair coin is as far from half of its ties with a chance below 1e-8.
    """
    for items in (125, 126):
        with MOST_COLLECTED.moved_to(125):
            ordered, ties = np.sum([in_order(items, seed) for seed in range(6)], axis=0)
        assert ties > 500 and abs(ordered - ties / 2) < 3 * np.sqrt(ties)
