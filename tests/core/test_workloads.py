"""Workloads: every part's answers and counts are the sums that its rows say."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import winnow as wn
from reference.workloads import SCHEMA, WORKLOADS
from winnow.core.process import memory_text, parse_memory
from winnow.core.workloads.bits import BitsPart, pack
from winnow.core.workloads.conjunction import ConjunctionPart
from winnow.core.workloads.interval import IntervalPart
from winnow.core.workloads.marginal import MarginalPart
from winnow.core.workloads.part import bin_counts, declared
from winnow.core.workloads.real import GridPart
from winnow.core.workloads.workload import marginal_tables


def table(rng: np.random.Generator, schema: wn.Schema, rows: int):
    codes = [rng.integers(0, size, rows).astype(np.int32) for size in schema.shape]
    weights = rng.integers(0, 50, rows).astype(np.int64)
    cells = np.ravel_multi_index(codes, schema.shape)
    histogram = np.zeros(schema.cells, np.int64)
    np.add.at(histogram, cells, weights)
    return codes, weights, histogram


@pytest.mark.parametrize("name", WORKLOADS)
def test_a_workload_answers_for_its_parts_in_their_order(name: str) -> None:
    """What each part answers is in tests/contracts/test_parts.py."""
    rng = np.random.default_rng(0)
    workload = WORKLOADS[name].over(SCHEMA)
    p = rng.dirichlet(np.full(SCHEMA.cells, 0.3))
    codes, weights, _ = table(rng, SCHEMA, 90)
    parts = [part.counts(codes, weights) for part in workload.parts]
    np.testing.assert_array_equal(workload.counts(codes, weights), np.concatenate(parts))
    answers = np.concatenate([part.answers(p) for part in workload.parts])
    np.testing.assert_allclose(workload.answers(p), answers, atol=1e-12)
    assert len({workload.label(i) for i in range(workload.size)}) == workload.size


def test_a_union_numbers_the_queries_through_its_parts() -> None:
    union = sum(list(WORKLOADS.values())[1:], start=WORKLOADS["marginals"]).over(SCHEMA)
    singles = [maker.over(SCHEMA) for maker in WORKLOADS.values()]
    assert union.size == sum(single.size for single in singles) == len(union)
    p = np.random.default_rng(1).dirichlet(np.ones(SCHEMA.cells))
    np.testing.assert_allclose(
        union.answers(p), np.concatenate([single.answers(p) for single in singles]), atol=1e-12
    )
    bound = singles[0] + singles[2]
    assert bound.size == singles[0].size + singles[2].size
    assert bound.label(singles[0].size) == singles[2].label(0)
    for wrong in (-1, union.size, True, 1.0):
        with pytest.raises(wn.InputError, match="query"):
            union.label(wrong)
    with pytest.raises(wn.InputError, match="different schemas"):
        _ = singles[0] + wn.marginals(1).over({"a": 2})


@given(
    st.lists(st.integers(1, 4), min_size=1, max_size=4),
    st.data(),
)
def test_shared_marginal_tables_equal_direct_sums(shape, data) -> None:
    columns = range(len(shape))
    every = [s for k in range(1, len(shape) + 1) for s in itertools.permutations(columns, k)]
    wanted = data.draw(st.lists(st.sampled_from(every), max_size=8))
    tensor = np.arange(int(np.prod(shape)), dtype=np.int64).reshape(shape)
    found = marginal_tables(tensor, wanted)
    assert set(found) == set(wanted)
    for each in wanted:
        dropped = tuple(i for i in columns if i not in each)
        direct = tensor.sum(axis=dropped)
        kept = sorted(each)
        assert np.array_equal(found[each], direct.transpose([kept.index(i) for i in each]))


@given(st.integers(1, 200), st.integers(1, 6), st.integers(0, 2**32))
def test_packed_bits_hold_cell_x_in_bit_x_of_the_words(cells: int, rows: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    inside = rng.random((rows, cells)) < 0.5
    schema = wn.Schema.parse({"x": cells})
    part = BitsPart(schema, pack(inside))
    for j, x in itertools.product(range(rows), range(cells)):
        assert bool(int(part.bits[j, x // 64]) >> (x % 64) & 1) == inside[j, x]
    weights = rng.integers(-5, 5, cells)
    np.testing.assert_array_equal(part._sums(weights), inside @ weights)


def test_counts_beyond_float_precision_stay_exact() -> None:
    heavy = np.array([2**60 + 1, 3, 2**60 + 1], np.int64)
    places = np.array([0, 1, 1])
    assert bin_counts(places, heavy, 2).tolist() == [2**60 + 1, 2**60 + 4]
    schema = wn.Schema.parse({"x": 3})
    codes = [np.array([0, 1, 2])]
    part = GridPart(schema, np.array([[1, 2, 3]], np.uint8), 3)
    light = np.array([2**55 + 1, 0, 0], np.int64)
    assert part.counts(codes, light).tolist() == [2**55 + 1]


def test_wide_predicates_are_counted_row_by_row() -> None:
    schema = wn.Schema.parse({f"c{i}": 50 for i in range(12)})
    rng = np.random.default_rng(2)
    codes, weights = [rng.integers(0, 50, 80) for _ in range(12)], np.arange(80)
    maker = wn.where({f"c{i}": (10, 45) for i in range(12)}) + wn.where(c0=3, c1=(None, 40))
    counts = maker.over(schema).counts(codes, weights)
    held = np.logical_and.reduce([(c >= 10) & (c < 45) for c in codes])
    assert counts.tolist() == [weights[held].sum(),
                               weights[(codes[0] == 3) & (codes[1] < 40)].sum()]  # fmt: skip


def test_all_marginals_come_in_a_fixed_order_and_samples_are_repeatable() -> None:
    schema = wn.Schema.parse(dict.fromkeys("abcdefgh", 2))
    every = wn.marginals([2, 3]).over(schema)
    sets = [part.columns for part in every.parts]
    wanted = [s for k in (2, 3) for s in itertools.combinations(range(8), k)]
    assert sets == wanted
    sample = [part.columns for part in wn.marginals([2, 3], sample=20, seed=5).over(schema).parts]
    assert len(set(sample)) == 20 and set(sample) <= set(wanted)
    again = [part.columns for part in wn.marginals([2, 3], sample=20, seed=5).over(schema).parts]
    other = [part.columns for part in wn.marginals([2, 3], sample=20, seed=6).over(schema).parts]
    assert sample == again != other
    named = wn.marginals(2, columns=["c", "a"]).over(schema)
    assert [part.columns for part in named.parts] == [(0, 2)]


def test_a_sample_of_very_many_column_sets_is_drawn_without_listing_them() -> None:
    schema = wn.Schema.parse({f"c{i}": 2 for i in range(200)})
    sample = [part.columns for part in wn.marginals(5, sample=50).over(schema).parts]
    assert len(set(sample)) == 50 and all(len(set(s)) == 5 and max(s) < 200 for s in sample)


def test_labels_say_what_a_query_asks() -> None:
    assert wn.marginals(2).over(SCHEMA).label(3) == "age=[20, 40), sex=Male"
    assert wn.prefixes("age").over(SCHEMA).label(2) == "age in [0, 60)"
    assert wn.prefixes("age").over(SCHEMA).size == 4  # 'other' has no place in the order
    assert wn.ranges("rank").over(SCHEMA).label(1) == "rank in 0 to 1"
    chosen = wn.where(age=(20, None), sex=["Male", "Female"], rank={2, 3, 5})
    assert chosen.over(SCHEMA).label(0) == "age in [20, 120], sex in Female, Male, rank in 2, 3, 5"
    assert wn.where(age="[20, 40)", rank=6).over(SCHEMA).label(0) == "age=[20, 40), rank=6"


def test_predicates_hold_the_cells_they_name() -> None:
    schema = wn.Schema.parse(
        {"size": {"values": [1, 2.5, 10, None]}, "ok": {"values": [True, False]}, "rank": 5}
    )
    cells = list(itertools.product([1, 2.5, 10, None], [True, False], range(5)))
    chosen = {
        wn.where(size=(1, 10)): lambda s, o, r: s in (1, 2.5),
        wn.where(size=(2, None)): lambda s, o, r: s in (2.5, 10),
        wn.where(size=None): lambda s, o, r: s is None,
        wn.where(ok=True, rank=(1, 3)): lambda s, o, r: o is True and r in (1, 2),
        wn.where({"rank": range(2)}, size=[1, None]): lambda s, o, r: r < 2 and s in (1, None),
        wn.where(rank=np.array([0, 4])): lambda s, o, r: r in (0, 4),
        wn.where(rank=(None, 2.5)): lambda s, o, r: r in (0, 1, 2),
    }
    workload = wn.predicates(chosen).over(schema)
    assert len(workload.parts) == 1 and isinstance(workload.parts[0], ConjunctionPart)
    for j, holds in enumerate(chosen.values()):
        assert workload.row(j).tolist() == [float(holds(*cell)) for cell in cells]


@pytest.mark.parametrize(
    ("condition", "message"),
    [
        ({"age": 45}, r"give a pair"),
        ({"age": (30, 60)}, "not an edge"),
        ({"age": (40, 20)}, "give low < high"),
        ({"age": (20, 40, 60)}, "not a pair"),
        ({"age": ("20", 40)}, "not a number"),
        ({"age": (float("nan"), 40)}, "not a number"),
        ({"sex": ("a", "b")}, "no ranges"),
        ({"sex": "female"}, "not a declared value"),
        ({"sex": 1}, "not a declared value"),
        ({"sex": []}, "is empty"),
        ({"rank": 7}, "codes 0 to 6"),
        ({"rank": True}, "codes 0 to 6"),
        ({"rank": "1"}, "codes 0 to 6"),
        ({"rank": (9, 12)}, "no declared value"),
        ({"height": 1}, "no column 'height'"),
    ],
)
def test_conditions_outside_the_schema_are_refused(condition, message: str) -> None:
    with pytest.raises(wn.InputError, match=message):
        wn.where(condition).over(SCHEMA)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: wn.marginals(0), "below 1"),
        (lambda: wn.marginals(4), "exceeds the 3 columns"),
        (lambda: wn.marginals([]), "not a number of columns"),
        (lambda: wn.marginals("3"), "not a number of columns"),
        (lambda: wn.marginals([2, 2]), "twice"),
        (lambda: wn.marginals(2.0), "not a number of columns"),
        (lambda: wn.marginals(2, sample=9), "exceeds the 3 sets"),
        (lambda: wn.marginals(2, columns="ab"), "list of names"),
        (lambda: wn.marginals(2, columns=["age", "no"]), "no column 'no'"),
        (lambda: wn.marginals(2, seed=1.5), "not an integer"),
        (lambda: wn.prefixes("sex"), "no order"),
        (lambda: wn.prefixes(3), "not the name"),
        (lambda: wn.ranges("rank", count=1000), "exceeds the 28 ranges"),
        (lambda: wn.where(), "no condition"),
        (lambda: wn.where({"rank": 1}, rank=2), "two conditions"),
        (lambda: wn.predicates([]), "no predicate"),
        (lambda: wn.predicates([wn.marginals(2)]), "not a predicate"),
        (lambda: wn.random_queries(0), "below 1"),
        (lambda: wn.random_queries(5, kind="triangle"), "unknown"),
        (lambda: wn.random_queries(5, kind="real", density=0.5), "leave the others out"),
        (lambda: wn.random_queries(5, density=1.5), r"inside \(0, 1\)"),
        (lambda: wn.queries(np.zeros(3)), "2-d array"),
        (lambda: wn.queries([[1, 2], [3]]), "rows alike"),
        (lambda: wn.queries([["a", "b"]]), "2-d array"),
        (lambda: wn.queries(np.full((1, 70), np.nan)), "finite"),
        (lambda: wn.queries(np.zeros((2, 3))), "one value for each cell"),
        (lambda: wn.queries(np.full((1, 70), 0.15), grid=10), "not a multiple of 1/10"),
        (lambda: wn.queries(np.full((1, 70), 2)), "outside"),
        (lambda: wn.queries(np.full((1, 70), -0.5), grid=2), "outside"),
        (lambda: wn.queries(np.full((1, 70), 0.5), units=True), "whole numbers"),
        (lambda: wn.queries(np.zeros((1, 70)), bound=0), "not positive"),
        (lambda: wn.queries(np.zeros((1, 70)), grid=2**40), "too fine"),
    ],
)
def test_wrong_workloads_are_refused_with_the_reason(make, message: str) -> None:
    with pytest.raises(wn.InputError, match=message):
        make().over(SCHEMA)


@given(
    st.integers(1, 300),
    st.one_of(st.none(), st.sampled_from([1, 2, 0.1, 2.5, Fraction(1, 3)])),
    st.integers(0, 2**32),
)
def test_values_on_the_grid_are_taken_exactly(grid: int, bound, seed: int) -> None:
    rng = np.random.default_rng(seed)
    schema = wn.Schema.parse({"x": 5})
    lowest = 0 if bound is None else -grid
    steps = rng.integers(lowest, grid + 1, (3, 5))
    unit = Fraction(1, grid) * (1 if bound is None else Fraction(str(bound)))
    values = np.array([[float(int(step) * unit) for step in row] for row in steps])
    part = wn.queries(values, grid=grid, bound=bound).over(schema).parts[0]
    in_units = wn.queries(steps, grid=grid, bound=bound, units=True).over(schema).parts[0]
    for built in (part, in_units):
        rows = np.stack([built.row(i) for i in range(3)])
        np.testing.assert_array_equal(np.rint(rows * built.grid), steps - lowest)
    if bound is not None:
        p = np.full(5, 0.2)
        np.testing.assert_allclose(declared(part.bound, part.answers(p)), values @ p, atol=1e-12)


def test_random_queries_are_repeatable_and_have_their_density() -> None:
    schema = wn.Schema.parse({"x": 3000})
    first = wn.random_queries(50, kind="gaussian").over(schema).parts[0]
    assert np.array_equal(
        first.bits, wn.random_queries(50, kind="gaussian").over(schema).parts[0].bits
    )
    supports = np.stack([first.row(i) for i in range(50)])
    # 600 draws of N(1500, 600): about 521 distinct cells; 6 sigma of the mean is 8
    assert abs(supports.sum(axis=1).mean() - 521) < 8
    centre = (supports.sum(axis=0) * np.arange(3000)).sum() / supports.sum()
    assert abs(centre - 1500) < 30
    sparse = wn.random_queries(50, density=0.1).over(schema)
    share = np.mean([sparse.row(i).mean() for i in range(50)])
    assert abs(share - 0.1) < 0.005  # 6.4 sigma
    real = wn.random_queries(50, kind="real", grid=4).over(schema).parts[0]
    assert set(np.unique(real.values)) == {0, 1, 2, 3, 4} and real.values.dtype == np.uint8


def test_memory_is_estimated_before_anything_is_built_and_refused_with_advice() -> None:
    wide = wn.Schema.parse({f"c{i}": 20 for i in range(14)})
    for maker, advice in (
        (wn.random_queries(10), "fewer columns"),
        (wn.random_queries(10, kind="real"), "fewer columns"),
        (wn.marginals(8), "lower ways="),
        (wn.marginals(2) + wn.random_queries(10), "fewer queries"),
    ):
        with pytest.raises(wn.InputError, match=advice):
            maker.over(wide)
    maker = wn.random_queries(1000)
    assert maker.memory({"x": 3000}) == 1000 * (2 * 8 * 47 + 24)  # bits may be laid across, too
    large = wn.random_queries(2_000_000)
    assert large.memory({"x": 3000}) == 2_000_000 * (8 * 47 + 24)  # too many for a second copy
    assert maker.over({"x": 3000}).memory() == maker.memory({"x": 3000})
    with pytest.raises(wn.InputError, match="memory='100kB'"):
        maker.over({"x": 3000}, memory="100kB")
    for wrong in ("much", 0, True, "-3GB", "1 parsec", "infGB"):
        with pytest.raises(wn.InputError, match="is not a size"):
            maker.over({"x": 3000}, memory=wrong)
    assert parse_memory("1.5 GB") == 1_500_000_000 and parse_memory("2GiB") == 2**31
    assert [memory_text(n) for n in (7, 375_000_000, 10**18)] == ["7 bytes", "375 MB", "1e+06 TB"]


@pytest.mark.parametrize("name", WORKLOADS)
def test_the_estimate_is_what_the_built_workload_holds(name: str) -> None:
    assert WORKLOADS[name].memory(SCHEMA) == WORKLOADS[name].over(SCHEMA).memory()


def test_parts_refuse_what_does_not_fit_their_schema() -> None:
    two = wn.Schema.parse({"a": 2, "b": 3})
    wrong = [
        lambda: MarginalPart(two, (0, 0)),
        lambda: MarginalPart(two, (2,)),
        lambda: MarginalPart(two, ()),
        lambda: IntervalPart(two, 0, np.array([0]), np.array([3])),
        lambda: IntervalPart(two, 0, np.array([1]), np.array([1])),
        lambda: IntervalPart(two, 5, np.array([0]), np.array([1])),
        lambda: ConjunctionPart(two, ({0: np.ones(3, bool)},)),
        lambda: ConjunctionPart(two, ()),
        lambda: BitsPart(two, np.zeros((1, 2), np.uint64)),
        lambda: BitsPart(two, np.array([[64]], np.uint64)),
        lambda: GridPart(two, np.zeros((1, 6)), 2),
        lambda: GridPart(two, np.full((1, 6), 3, np.uint8), 2),
        lambda: wn.Workload(two, ()),
        lambda: wn.marginals(1).over(two).answers(np.ones(5)),
    ]
    for make in wrong:
        with pytest.raises(wn.InputError):
            make()
