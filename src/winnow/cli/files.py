"""Files that a command reads and writes: how large they are, and that they differ."""

from __future__ import annotations

import os
from collections.abc import Iterable
from glob import glob
from pathlib import Path

from winnow.errors import DataError
from winnow.foreign import instead, reason

_LARGE = 5_000_000
"""Bytes that take long enough to read to show that something goes on."""


def named_by(pattern: str) -> list[Path]:
    """The files that a path or a pattern with wildcards names; none if there is none."""
    return [Path(pattern)] if os.path.exists(pattern) else [Path(name) for name in glob(pattern)]


def are_large(files: Iterable[Path]) -> bool:
    """Whether reading these files takes a while."""
    return sum(os.path.getsize(file) for file in files if os.path.isfile(file)) > _LARGE


def check_targets(
    read: Iterable[Path], out: Path | None, plot: Path | None, *, out_option: str = "--out"
) -> None:
    """Refuse what could not be saved or drawn, before anything is read."""
    from winnow.core.saving import check_target

    if out is not None:
        check_target(out)
        refuse_overwriting(read, out_option, out)
    if plot is not None:
        check_figure(plot)
        refuse_overwriting(read, "--plot", plot)


def check_figure(plot: Path) -> None:
    """Refuse a figure that could not be written or drawn."""
    from winnow.core.saving import check_target
    from winnow.show.plots.figures import ENDINGS, new_figure

    check_target(plot, ENDINGS)
    new_figure()  # says at once if matplotlib is missing


def refuse_overwriting(read: Iterable[Path], option: str, target: Path) -> None:
    """Refuse a target that is one of the files that are read, or will be."""
    for file in read:
        if os.path.realpath(file) == os.path.realpath(target) or (
            os.path.exists(file) and os.path.exists(target) and file.samefile(target)
        ):
            raise DataError(f"{option} {target} is the file that is read; choose another one")


def make_folder(folder: Path) -> None:
    """Make a folder for what is written, or say why not."""
    with instead(
        lambda error: DataError(
            f"cannot make the folder {folder}: {reason(error)}; choose another with --out"
        ),
        OSError,
    ):
        folder.mkdir(parents=True, exist_ok=True)


def write_made_up(path: Path, data: bytes) -> None:
    """Write a file of made-up data; one of that name with anything else in it stays."""
    from winnow.core.saving import write_whole

    with instead(
        lambda error: DataError(f"cannot read {path}: {reason(error)}; choose another folder"),
        OSError,
    ):
        foreign = path.exists() and path.read_bytes() != data
    if foreign:
        raise DataError(
            f"{path} exists already and is not the made-up data of this demo; it was left as it "
            "is. Choose another folder"
        )
    write_whole(path, data)
