"""The report in a real browser: it fits a phone and a wide screen, and no word is torn apart."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

import winnow as wn
from reference.releasing import flat_release
from winnow.show.report.release import release_page

pytestmark = pytest.mark.extras
BROWSER = shutil.which("chromium") or shutil.which("google-chrome")
MEASURE = """<script>
const wide = [...document.querySelectorAll("main *")].filter(e => !e.closest(".scroll")
  && e.getBoundingClientRect().right > innerWidth + 1).map(e => e.tagName);
const thin = [...document.querySelectorAll(".scroll th")].filter(e => e.innerText.length > 12
  && e.getBoundingClientRect().width < 40).map(e => e.innerText);
const root = document.documentElement;
parent.postMessage([innerWidth, root.scrollWidth - root.clientWidth, wide, thin], "*");
</script>"""
FRAME = """<script>onmessage = m => document.title = "measured " + JSON.stringify(m.data);</script>
<iframe src="inside.html" style="border:0" width="{}" height="800"></iframe>"""
"""A window of a browser has a least width; a frame has none."""


def page(method: str) -> bytes:
    import pandas as pd

    towns = ["Newcastle upon Tyne", "Stoke-on-Trent", "A place with quite a long name & more"]
    frame = pd.DataFrame({"town": towns * 400, "age": [i % 90 for i in range(1200)]})
    schema = {"town": {"values": towns}, "age": {"edges": [0, 20, 40, 60, 80, 99]}}
    given: dict[str, Any] = {"rounds": 4} if method == "mwem" else {}
    held = wn.read_table(frame, schema=schema)
    workload: Any = wn.marginals([1, 2])
    found = flat_release(held, workload, epsilon=1, delta=1e-6, method=method, seed=1, **given)
    return release_page(found, title="A survey of " + "very " * 20 + "many things")


@pytest.mark.skipif(BROWSER is None, reason="no browser is installed")
@pytest.mark.parametrize("width", [380, 1200])
@pytest.mark.parametrize("method", ["tables", "mwem"])
def test_the_report_fits_its_window(tmp_path: Path, width: int, method: str) -> None:
    text = page(method).decode()
    text = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", text)
    inside = tmp_path / "inside.html"
    inside.write_text(text.replace("</body>", MEASURE + "</body>"), encoding="utf-8")
    outside = tmp_path / "outside.html"
    outside.write_text(FRAME.format(width), encoding="utf-8")
    assert BROWSER is not None
    command = [BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--dump-dom"]
    command += ["--virtual-time-budget=4000", "--window-size=1400,900", outside.as_uri()]
    found = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout
    said = re.search(r"<title>measured (.*?)</title>", found)
    assert said is not None
    assert said[1] == f"[{width},0,[],[]]"
