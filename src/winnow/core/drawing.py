"""What draws itself: into a file, a notebook, or a window."""

from __future__ import annotations

import os
import sys
from abc import abstractmethod
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

from winnow.core.notebook import ReleasedValue
from winnow.core.saving import check_target, write_whole

ENDINGS = (".png", ".svg", ".pdf")


class Plotted(ReleasedValue):
    """A released value with a figure, which says what was counted."""

    @abstractmethod
    def _picture(self, ending: str = ".png") -> bytes:
        """The figure as the content of a file."""

    def figure(self, ending: str) -> bytes:
        """The figure as the content of a .png, .svg or .pdf file."""
        return self._picture(ending)

    def plot(self, path: str | Path | None = None) -> Path | None:
        """Draw the released numbers.

        With a ``path`` the figure is saved there, as .png, .svg or .pdf. Without one it is shown
        in a notebook; elsewhere it is written to a temporary file, which is opened where there is
        a screen. What is returned is the file, or None in a notebook.
        """
        return drawn(self._picture, path)


def drawn(picture: Callable[[str], bytes], path: str | Path | None) -> Path | None:
    """Save a figure, or show it: ``Plotted.plot`` says where."""
    if path is not None:
        target = Path(path)
        check_target(target, ENDINGS)
        write_whole(target, picture(target.suffix.lower()))
        return target
    if in_notebook():
        pages: Any = import_module("IPython.display")
        pages.display(pages.Image(data=picture(".png")))
        return None
    import tempfile  # most processes draw nothing
    import webbrowser

    target = Path(tempfile.mkdtemp(prefix="winnow-")) / "figure.png"
    write_whole(target, picture(".png"))
    if has_screen():
        webbrowser.open(target.as_uri())
    return target


def in_notebook() -> bool:
    """Whether this process is the kernel of a notebook."""
    shell: Any = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return hasattr(shell, "kernel")


def has_screen() -> bool:
    """Whether a file can be opened for whoever looks."""
    if sys.platform in ("darwin", "win32"):
        return True
    return any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY"))
