"""Matrices and vectors of numbers from files: CSV, TSV, NPY and Parquet.

A line of a text file is a row of the matrix. A first line without any number names the columns; so
do the columns of a Parquet file. Messages name places, never what stands there.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from winnow.errors import DataError, ExtraMissing, InputError
from winnow.foreign import guarded, instead
from winnow.read.databases import names_database
from winnow.read.file_columns import DECIMAL
from winnow.read.files import unreadable
from winnow.read.records import csv_records, text_of

Floats = NDArray[np.float64]
Named = tuple[Floats, list[str] | None]

ENDINGS = (".csv", ".tsv", ".npy", ".parquet")


@guarded
def read_matrix(path: str | Path) -> Named:
    """The numbers of a file, one row of the matrix to a line, and the names of the columns."""
    if names_database(path):
        raise DataError(
            f"{path}: a table of a database has no order of rows, and a matrix needs one; save it "
            "as .parquet"
        )
    file = Path(path)
    ending = file.suffix.lower()
    if ending not in ENDINGS:
        raise DataError(f"{path}: a matrix is read from {', '.join(ENDINGS)}; save it as one")
    try:
        match ending:
            case ".npy":
                matrix: Named = (_npy(file), None)
            case ".parquet":
                matrix = _parquet(file)
            case _:
                matrix = _text(file, "\t" if ending == ".tsv" else ",")
        if not np.isfinite(matrix[0]).all():
            raise DataError("a number is missing or not finite; fill it in")
        return matrix
    except ExtraMissing:
        raise
    except InputError as error:
        problem = str(error)
    except OSError as error:
        problem = unreadable(error)
    raise DataError(f"{path}: {problem}")


@guarded
def read_vector(path: str | Path) -> Floats:
    """The numbers of a file with one row, or with one column."""
    matrix, _ = read_matrix(path)
    if 1 not in matrix.shape and matrix.size:
        raise DataError(f"{path}: this has several rows and columns; give one number on each line")
    return matrix.ravel()


def _npy(file: Path) -> Floats:
    array: NDArray[np.float64] = np.zeros(0)
    refusal = DataError("this is not an array of numbers as np.save writes it; save it again")
    with file.open("rb") as opened, instead(refusal, ValueError, EOFError, TypeError):
        array = np.asarray(np.load(opened, allow_pickle=False))
    if array.dtype.kind not in "biuf" or array.ndim not in (1, 2):
        raise DataError("this is not a matrix of real numbers; save one with one or two dimensions")
    return np.atleast_2d(array).astype(np.float64)


def _parquet(file: Path) -> Named:
    with instead(ExtraMissing("pyarrow", "parquet", "reading Parquet files"), ImportError):
        import pyarrow.parquet as pq
    with file.open("rb") as opened, instead(DataError("this is not a Parquet file; save it again")):
        table = pq.read_table(opened)
    columns = []
    for column in table.columns:
        refusal = DataError("a column does not hold numbers alone; keep columns of numbers")
        with instead(refusal, ValueError, TypeError):
            columns.append(np.asarray(column.to_numpy(), np.float64))
    shape = (table.num_rows, 0)
    return np.column_stack(columns) if columns else np.zeros(shape), list(table.column_names)


def _text(file: Path, delimiter: str) -> Named:
    """Rows of numbers; blank lines alone are rows without columns, such as those of nobody."""
    rows: list[list[float]] = []
    names: list[str] | None = None
    blank = 0
    for line, row in csv_records(text_of(file.read_bytes(), None), delimiter):
        fields = [field.strip() for field in row]
        if not any(fields):
            blank += 1
        elif not rows and names is None and not any(map(_is_number, fields)):
            names = fields
        elif blank:
            raise DataError("a line before the last one is blank; give every row its numbers")
        else:
            rows.append(_numbers(fields, line, len(names or (rows[0] if rows else fields))))
    if not rows:
        return np.zeros((blank, len(names or ()))), names
    return np.array(rows, np.float64), names


def _numbers(fields: Sequence[str], line: int, width: int) -> list[float]:
    if len(fields) != width:
        raise DataError(
            f"line {line} does not have as many fields as the first; give all rows one length"
        )
    if not all(map(_is_number, fields)):
        raise DataError(f"line {line}: a field is not a number; give numbers alone")
    return [float(field) for field in fields]


def _is_number(text: str) -> bool:
    return DECIMAL.fullmatch(text) is not None
