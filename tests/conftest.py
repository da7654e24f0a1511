"""Shared by all tests: where the reference twins are found, and one hypothesis profile."""

import sys
from pathlib import Path

from hypothesis import settings

sys.path.insert(0, str(Path(__file__).parent))  # so that tests can import `reference`

# Fixed examples: a test run is the same on every machine.
settings.register_profile("winnow", derandomize=True, deadline=None, print_blob=False)
settings.load_profile("winnow")
