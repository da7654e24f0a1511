"""Finished parts of experiments, kept in a file: a run that was stopped goes on where it was."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from winnow.core.saving import write_whole
from winnow.errors import DataError, ParameterError
from winnow.foreign import instead


class Pieces:
    """Parts of one paper's experiments by their names, one on each line of a file.

    The first line holds the settings of the run. A part is written when it is finished, so a last
    line that breaks off is one that was not: it is left out.
    """

    def __init__(self, path: Path, settings: Mapping[str, Any], *, resume: bool) -> None:
        """With ``resume`` the parts of the file are known; else it begins anew."""
        self._path = path
        self._first = json.dumps({"settings": dict(settings)})
        self._known: dict[str, Any] = {}
        if resume and path.exists():
            whole = self._read()
            write_whole(path, ("\n".join(whole) + "\n").encode())
        else:
            path.unlink(missing_ok=True)

    def _read(self) -> list[str]:
        """The lines of the file that are whole, after a look at its settings."""
        lines = self._path.read_text(encoding="utf-8").split("\n")
        nothing = DataError(
            f"{self._path} does not begin with the settings of a run; leave --resume out to begin "
            "anew"
        )
        with instead(nothing, ValueError, TypeError, KeyError):
            made = json.loads(lines[0])["settings"]
        if made != json.loads(self._first)["settings"]:
            raise ParameterError(
                f"the parts in {self._path} belong to a run with other settings, "
                f"{json.dumps(made)}; give these, or leave --resume out to begin anew"
            )
        kept = [self._first]
        for line in lines[1:]:
            try:
                piece = json.loads(line)
                self._known[piece["piece"]] = piece["value"]
            except (ValueError, TypeError, KeyError):
                break
            kept.append(line)
        return kept

    def __contains__(self, name: Sequence[Any]) -> bool:
        return _written(name) in self._known

    def get(self, name: Sequence[Any]) -> Any:
        """What a part gave."""
        return self._known[_written(name)]

    def keep(self, name: Sequence[Any], value: Any) -> None:
        """Write down what a part gave, as plain data."""
        self._known[_written(name)] = value
        with self._path.open("a", encoding="utf-8") as file:
            if file.tell() == 0:
                file.write(self._first + "\n")
            file.write(json.dumps({"piece": _written(name), "value": value}) + "\n")


def _written(name: Sequence[Any]) -> str:
    return " / ".join(map(str, name))
