"""Discrete Gaussian arrays: the exact law, and the same answer whatever the filter sees."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from reference.audited import FALSE_ALARM, chi_square_p_value
from reference.inside import Tape, discrete_gaussian_array, discrete_gaussian_of
from winnow.core import noise as module


@pytest.mark.parametrize("variance", [Fraction(1, 9), Fraction(9, 4), Fraction(7000)])
def test_the_law_is_the_discrete_gaussian(variance: Fraction) -> None:
    """False alarm below 1e-8; the seed is fixed."""
    drawn = discrete_gaussian_array(Tape.seeded(11), 40_000, variance)
    edge = max(2, round(3 * float(variance) ** 0.5))
    step = max(1, edge // 6)
    everything = np.arange(-4000, 4001)
    mass = np.exp(-(everything**2) / (2 * float(variance)))
    classes = np.clip(everything // step, -edge // step, edge // step)
    names = np.unique(classes)
    chances = np.array([mass[classes == name].sum() for name in names]) / mass.sum()
    found = np.clip(drawn // step, -edge // step, edge // step)
    observed = np.array([(found == name).sum() for name in names])
    assert chi_square_p_value(np.append(observed, 0), chances) >= FALSE_ALARM


def test_exact_comparisons_give_what_the_filter_gives(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = discrete_gaussian_array(Tape.seeded(3), 200, Fraction(50))
    noise = module.noise

    def doubtful(*arguments: object) -> tuple[np.ndarray, np.ndarray]:
        clock, error = noise(*arguments)  # type: ignore[arg-type]
        return clock, np.full_like(error, np.inf)

    monkeypatch.setattr(module, "noise", doubtful)
    assert discrete_gaussian_array(Tape.seeded(3), 200, Fraction(50)).tolist() == plain.tolist()


def test_a_variance_out_of_range_is_refused() -> None:
    for variance in (Fraction(0), Fraction(2**100)):
        with pytest.raises(ValueError, match="variance"):
            discrete_gaussian_array(Tape.seeded(1), 1, variance)


def test_many_integers_come_in_parts() -> None:
    drawn = discrete_gaussian_array(Tape.seeded(5), (1 << 15) + 3, Fraction(4))
    assert len(drawn) == (1 << 15) + 3 and 3.8 < drawn.var() < 4.2


@pytest.mark.parametrize(
    "variance", [Fraction(1, 50), Fraction(7, 3), Fraction(10**9), Fraction(2**99)]
)
def test_one_draw_has_the_bits_of_the_first_of_many(variance: Fraction) -> None:
    for seed in range(150):
        (many,) = discrete_gaussian_array(Tape.seeded(seed), 1, variance).tolist()
        assert discrete_gaussian_of(Tape.seeded(seed), variance) == many


def test_one_draw_is_the_same_where_its_floats_say_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    expected = [discrete_gaussian_of(Tape.seeded(seed), Fraction(40)) for seed in range(40)]
    monkeypatch.setattr(module, "noise_of_one", lambda *_: None)
    monkeypatch.setattr(module, "log_of_one", lambda _: 0.0)  # every floor is open
    found = [discrete_gaussian_of(Tape.seeded(seed), Fraction(40)) for seed in range(40)]
    assert found == expected
