"""Two thousand timings over HTTP: nobody tells a new answer from a repeated one by the clock."""

import sys
from pathlib import Path

import numpy as np
import pytest

from serve.timing import TWIN, area, band, measured

pytestmark = pytest.mark.extras


def test_the_clock_tells_nothing_and_a_server_without_the_ticker_is_caught(
    tmp_path: Path,
) -> None:
    """False alarms: one in 500 runs, by the band of shuffled labels.

    The quantum is set as an owner would, from what the slowest answers take here.
    """
    load = {"number": 2000, "connections": 16}
    bare = measured(tmp_path / "bare", program=[sys.executable, "-c", TWIN], quantum_ms=10, **load)
    low, high = band(bare)
    assert not low <= area(bare) <= high, "timings without padding tell new from repeated"
    slowest = float(np.quantile(bare[:, 1], 0.999))
    quantum = int(1000 * min(1.0, max(0.1, 2.5 * slowest)))
    rows = measured(tmp_path / "held", program=None, quantum_ms=quantum, **load)
    late = float((rows[:, 1] > 1.5 * quantum / 1000).mean())
    if late > 0.002:
        pytest.skip(f"{late:.1%} of the answers were late: this machine is too busy to say")
    low, high = band(rows)
    assert low <= area(rows) <= high
