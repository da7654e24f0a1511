"""The only way into a sealed value. Importable from files called `crossing` alone."""

from __future__ import annotations

from typing import TypeVar

from winnow.core.sealed import Sealed

T = TypeVar("T")


def open_sealed(sealed: Sealed[T]) -> T:
    """The private value inside."""
    return sealed._content
