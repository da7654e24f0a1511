"""``python -m winnow`` is the same as the command ``winnow``."""

from __future__ import annotations

from winnow.cli import main

if __name__ == "__main__":
    main()
