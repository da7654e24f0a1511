"""Write the expected results: ``python tests/golden/write.py [NAME ...]``, all by default."""

from __future__ import annotations

import sys
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))  # so that `golden` is found
    sys.path.insert(0, str(Path(__file__).parents[2] / "src"))
    from golden import store

    for name in sys.argv[1:] or store.NAMES:
        print(store.write(name))
