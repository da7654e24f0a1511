"""The audits' exact probabilities against closed formulas, listings and plain simulation."""

import itertools

import numpy as np
import pytest
from scipy import integrate

from reference import selection_probabilities as reference
from reference.audited import Case, OnLabels, all_cases, counts, hockey_stick, model_of
from reference.inside import Law
from reference.mechanisms import LimitedDomain, StabilityThreshold
from winnow import Relation
from winnow.audit.numerics import log_functions, rule_between, two_laplace_density, unit_interval
from winnow.select.audit.model import (
    LargeMarginModel,
    NoisyTopModel,
    SparseVectorModel,
    StoppingMargins,
    log_peeling,
    log_permute_and_flip,
    log_sets_by_quadrature,
)
from winnow.select.audit.top_k import (
    CanonicalModel,
    CubeModel,
    JointModel,
    LimitedDomainModel,
    PeeledModel,
    StabilityModel,
)

VECTORS = np.array([[0, 0, 0, 0], [3, 1, 0, 0], [2, 2, -1, -5], [30, 1, 0, -20]], np.float64)
ONE_EACH = np.arange(4)[:, None]


def name_of(case: Case) -> str:
    return f"{case.mechanism.name}, {case.declared.name}, {case.declared.relation}"


@pytest.mark.slow
@pytest.mark.parametrize("case", all_cases(), ids=name_of)
def test_probabilities_of_all_outcomes_sum_to_one(case: Case) -> None:
    scores = np.array([[4, 4, 1, 0], [2, 0, 0, 3]], np.int64)
    if isinstance(case.model, StabilityModel):  # lists all noisy counts: slow beyond three
        scores = scores[:, [0, 2, 3]]
    total = np.exp(case.model.log_probabilities(scores)).sum(axis=1)
    np.testing.assert_allclose(total, 1.0, atol=1e-11)


def test_quadrature_of_gumbel_noise_is_the_softmax() -> None:
    closed = log_peeling(VECTORS, ONE_EACH)
    np.testing.assert_allclose(
        log_sets_by_quadrature(Law.GUMBEL, VECTORS, ONE_EACH), closed, atol=1e-10
    )


def test_quadrature_of_exponential_noise_is_permute_and_flip() -> None:
    closed = log_permute_and_flip(VECTORS)
    np.testing.assert_allclose(
        log_sets_by_quadrature(Law.EXPONENTIAL, VECTORS, ONE_EACH), closed, atol=1e-10
    )


def test_permute_and_flip_polynomial_matches_all_permutations() -> None:
    for x in [*VECTORS, np.array([0.5, 0.1, 0.1, -0.3, -2.0])]:
        np.testing.assert_allclose(
            np.exp(log_permute_and_flip(x[None])[0]), reference.permute_and_flip(x), rtol=1e-12
        )


def test_gumbel_sets_are_sums_of_peeled_sequences() -> None:
    sets = np.exp(NoisyTopModel(Law.GUMBEL, 0.7, 2, ordered=False).log_probabilities(VECTORS))
    model = NoisyTopModel(Law.GUMBEL, 0.7, 2, ordered=True)
    sequences = np.exp(model.log_probabilities(VECTORS))
    as_sets = [tuple(sorted(row)) for row in model.outcomes(4).tolist()]
    for column, chosen in enumerate(itertools.combinations(range(4), 2)):
        both = [i for i, row in enumerate(as_sets) if row == chosen]
        np.testing.assert_allclose(sets[:, column], sequences[:, both].sum(axis=1), rtol=1e-10)


@pytest.mark.parametrize("law", list(Law))
@pytest.mark.parametrize("kappa", [1, 2, 3])
def test_sets_match_plain_simulation(law: Law, kappa: int) -> None:
    """Five standard deviations, fixed seed."""
    x, draws = np.array([2.0, 1.0, 0.0, 0.0, -1.0]), 200_000
    model = NoisyTopModel(law, 0.8, kappa, ordered=False)
    noisy = 0.8 * x + reference.draw_noise(law, np.random.default_rng(kappa), (draws, 5))
    winners = np.sort(np.argsort(-noisy, axis=1)[:, :kappa], axis=1)
    exact = np.exp(model.log_probabilities(x[None])[0])
    for row, p in zip(model.outcomes(5), exact, strict=True):
        seen = np.mean(np.all(winners == row, axis=1))
        assert abs(seen - p) < 5 * np.sqrt(p * (1 - p) / draws) + 1e-9


@pytest.mark.parametrize("law", list(Law))
def test_one_candidate_that_stands_for_n_is_as_likely_as_n_candidates(law: Law) -> None:
    grouped = NoisyTopModel(law, 1.0, counts=(1, 3)).log_probabilities(np.array([[1.0, 0.0]]))
    apart = NoisyTopModel(law, 1.0).log_probabilities(np.array([[1.0, 0.0, 0.0, 0.0]]))
    np.testing.assert_allclose(grouped[0, 0], apart[0, 0], atol=1e-11)


@pytest.mark.parametrize("law", list(Law))
def test_the_laws_written_anew_agree_with_those_of_the_library(law: Law) -> None:
    z = np.linspace(-4, 30, 341) + 1e-3
    _, log_cdf, log_sf = log_functions(law, z)
    np.testing.assert_allclose(log_sf, law.formulas.log_sf(z), rtol=1e-12, atol=1e-300)
    np.testing.assert_allclose(log_cdf, law.formulas.log_cdf(z), rtol=1e-12, atol=1e-300)


@pytest.mark.parametrize("law", list(Law))
def test_each_density_is_the_slope_of_its_distribution(law: Law) -> None:
    for z in (-1.5, 0.3, 2.0, 7.0):
        h = 1e-5
        low, high = (np.exp(log_functions(law, np.array([z + s]))[1][0]) for s in (-h, h))
        density = np.exp(log_functions(law, np.array([z]))[0][0])
        assert (high - low) / (2 * h) == pytest.approx(density, rel=1e-6, abs=1e-12)


@pytest.mark.parametrize(("threshold_scale", "value_scale"), [(1.0, 2.0), (3.0, 0.7)])
def test_one_report_of_the_sparse_vector_has_its_closed_form(
    threshold_scale: float, value_scale: float
) -> None:
    model = SparseVectorModel(1.5, threshold_scale, value_scale, 1)
    for value in (-6.0, 0.0, 1.5, 1.6, 20.0):
        below, above = np.exp(model.log_probabilities(np.array([[value]]))[0])
        closed = reference.above_threshold_once(value - 1.5, threshold_scale, value_scale)
        assert above == pytest.approx(closed, rel=1e-11)
        assert below == pytest.approx(1 - closed, rel=1e-9)


@pytest.mark.slow
def test_reports_of_the_sparse_vector_match_scipy_and_simulation() -> None:
    model = SparseVectorModel(0.0, 1.2, 1.9, 2)
    values = np.array([1.0, -1.0, 0.0, 2.0])
    exact = np.exp(model.log_probabilities(values[None])[0])
    generator, draws = np.random.default_rng(3), 200_000
    rho = 1.2 * generator.laplace(size=(draws, 1))
    above = (values + 1.9 * generator.laplace(size=(draws, 4)) > rho).astype(int)
    before = np.cumsum(above, axis=1) - above
    rows = np.where(before >= 2, -1, above)
    for row, p in zip(model.outcomes(4), exact, strict=True):
        assert abs(np.mean(np.all(rows == row, axis=1)) - p) < 5 * np.sqrt(p / draws)
        asked = [(v, r) for v, r in zip(values, row, strict=True) if r >= 0]

        def integrand(r: float, asked: list[tuple[float, int]] = asked) -> float:
            f = np.exp(-abs(r) / 1.2) / 2.4
            for v, report in asked:
                z = np.array([(r - v) / 1.9])
                f *= np.exp(log_functions(Law.LAPLACE, z)[2 if report else 1][0])
            return float(f)

        direct, _ = integrate.quad(integrand, -60, 60, points=[-1, 0, 1, 2], limit=400)
        assert p == pytest.approx(direct, rel=1e-7)


def test_the_large_margin_mechanism_matches_its_algorithm_line_by_line() -> None:
    """Five standard deviations, fixed seed; ties and a reachable threshold."""
    epsilon, delta = 4.0, 0.3
    margins = StoppingMargins(epsilon, delta, "tight")
    scales = (3 / epsilon, 6 / epsilon, 12 / epsilon)
    model = LargeMarginModel(1.0, scales, margins, epsilon / 6)
    draws = 20_000
    for i, scores in enumerate(([9.0, 0.0, 0.0, 0.0], [3.0, 3.0, -8.0, -14.0])):
        exact = np.exp(model.log_probabilities(np.array([scores]))[0])
        seen = reference.large_margin_draws(
            np.array(scores), scales, margins(np.arange(1, 4)), epsilon / 6, draws, seed=i
        )
        assert np.all(np.abs(seen - exact) < 5 * np.sqrt(exact / draws))


def test_the_density_of_the_difference_of_two_laplace_variables_is_their_convolution() -> None:
    w, weights = rule_between(np.array([-3.0, 0.0, 2.0]), 0.5)
    for x in (-3.0, 0.0, 2.0):
        convolved = np.sum(weights * np.exp(-np.abs(w)) / 2 * np.exp(-np.abs(x - w) / 2) / 4)
        assert two_laplace_density(np.array([x]), 1.0, 2.0)[0] == pytest.approx(convolved)


def test_peeling_permute_and_flip_is_a_product_of_its_rounds() -> None:
    model = PeeledModel(0.9, 2)
    x = np.array([2, 1, 0, 0])
    exact = np.exp(model.log_probabilities(x[None])[0])
    for (first, second), p in zip(model.outcomes(4), exact, strict=True):
        one = reference.permute_and_flip(0.9 * x)[first]
        left = [i for i in range(4) if i != first]
        two = reference.permute_and_flip(0.9 * x[left])[left.index(second)]
        assert p == pytest.approx(one * two)


def test_joint_prefers_the_true_order() -> None:
    model = JointModel(1.0, 2)
    p = np.exp(model.log_probabilities(np.array([[5, 3, 0]]))[0])
    by_list = dict(zip(map(tuple, model.outcomes(3).tolist()), p, strict=True))
    assert by_list[0, 1] / by_list[1, 0] == pytest.approx(np.exp(2))  # worst place short by 2
    assert by_list[0, 1] / by_list[2, 1] == pytest.approx(np.exp(5))


def test_canonical_losses_of_a_small_instance() -> None:
    loss = CanonicalModel(Law.GUMBEL, 1.0, 2, 0.5).losses(np.array([[7, 4, 1]]))
    np.testing.assert_allclose(loss[0], [0.0, 1.5, 3.0])  # {0,1}, {0,2}, {1,2}
    rounded = CanonicalModel(Law.GUMBEL, 1.0, 2, 0.5, person=1.0).losses(np.array([[7, 4, 1]]))
    np.testing.assert_allclose(rounded[0], [0.0, 2.0, 3.0])


@pytest.mark.parametrize("k", [1, 2])
def test_noise_in_a_cube_matches_plain_simulation(k: int) -> None:
    x, draws = np.array([2.0, 1.0, 0.0, 0.0]), 200_000
    generator = np.random.default_rng(k)
    noise = generator.gamma(5, size=(draws, 1)) * generator.uniform(-1, 1, (draws, 4))
    winners = np.argsort(-(0.7 * x + noise), axis=1)[:, :k]
    model = CubeModel(0.7, k)
    for row, p in zip(model.outcomes(4), np.exp(model.log_probabilities(x[None])[0]), strict=True):
        seen = np.mean(np.all(winners == row, axis=1))
        assert abs(seen - p) < 5 * np.sqrt(p / draws)


def test_private_labels_that_are_not_there_are_never_released() -> None:
    models = (LimitedDomainModel(1.0, 2.0, 2, 2, None), StabilityModel(1.0, 3, 2, 1))
    for model in models:
        p = np.exp(model.log_probabilities(np.array([[4, 0, 2]]))[0])
        assert p.sum() == pytest.approx(1)
        absent = np.any(model.outcomes(3) == 1, axis=1)
        assert np.all(p[absent] == 0)


@pytest.mark.parametrize(
    "inner",
    [LimitedDomain(3.0, 0.3, 2, None, reach=2), StabilityThreshold(1.0, 0.3, 2, 1)],
    ids=lambda inner: inner.title,
)
def test_the_adapter_of_private_labels_keeps_their_positions(
    inner: LimitedDomain | StabilityThreshold,
) -> None:
    mechanism, utility = OnLabels(inner), counts(Relation.ADD_REMOVE).utility
    rows = mechanism.simulate(np.array([0, 90, 0, 80]), utility, 20, seed=1)
    assert set(rows.ravel().tolist()) <= {-1, 1, 3}
    assert np.any(rows == 1)


def test_symmetric_vectors_are_computed_once_and_right() -> None:
    scores = np.random.default_rng(0).integers(0, 4, (40, 4))
    for model in (
        NoisyTopModel(Law.LAPLACE, 0.7, 2, ordered=False),
        NoisyTopModel(Law.GUMBEL, 0.7, 2),
        JointModel(0.5, 2),
        CanonicalModel(Law.LOGISTIC, 0.8, 2, 0.5),
        PeeledModel(0.4, 2),
        model_of(all_cases()[-1].mechanism, counts(Relation.ADD_REMOVE).utility),
    ):
        np.testing.assert_allclose(
            np.exp(model.rows(scores)),
            np.exp(model.log_probabilities(scores)),
            atol=1e-13,
        )


def test_gauss_legendre_on_the_unit_interval_is_exact_for_polynomials() -> None:
    for degree in range(9):
        t, weights = unit_interval(degree)
        assert np.sum(weights * t**degree) == pytest.approx(1 / (degree + 1), rel=1e-14)


def test_the_hockey_stick_of_randomized_response() -> None:
    p, q = np.array([0.8, 0.2]), np.array([0.2, 0.8])
    assert hockey_stick(p, q, 0.0) == pytest.approx(0.6)
    assert hockey_stick(p, q, np.log(2)) == pytest.approx(0.4)
    assert hockey_stick(p, q, np.log(4) + 1e-12) == 0
