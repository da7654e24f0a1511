"""The option for an estimate of what a bound left out."""

from __future__ import annotations

from winnow.errors import ParameterError


def check_cut(with_cut: float, bounded: bool, options: str) -> None:
    """Refuse an estimate of what a bound left out where there is none."""
    if with_cut and not bounded:
        raise ParameterError(
            f"--with-cut estimates what a bound left out, and there is none; give {options}"
        )
