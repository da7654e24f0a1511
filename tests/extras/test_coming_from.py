"""The code of other libraries on the page for those who come from them runs as it stands there."""

import re
from pathlib import Path

import pandas as pd
import pytest

pytestmark = [
    pytest.mark.extras,
    pytest.mark.filterwarnings("default"),  # theirs are not ours to mend
]

PAGE = Path(__file__).parents[2] / "docs" / "coming-from.md"
BLOCKS = re.findall(r"^```python no-run\n(.*?)^```$", PAGE.read_text(), re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("library", ["opendp", "diffprivlib", "mbi"])
def test_code_of_another_library_runs_as_it_stands_on_the_page(library: str) -> None:
    pytest.importorskip(library, exc_type=ImportError)
    its = [block for block in BLOCKS if re.search(rf"^(import|from) {library}\b", block, re.M)]
    assert its
    people = pd.DataFrame({"age": [20 + i % 60 for i in range(900)]})
    for block in its:
        exec(compile(block, str(PAGE), "exec"), {"people": people})
