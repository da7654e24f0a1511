"""The built wheel in an empty environment, away from the checkout."""

import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
pytestmark = pytest.mark.extras


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The bin folder of a fresh environment that holds only the wheel and its dependencies."""
    place = tmp_path_factory.mktemp("wheel")
    run = {"check": True, "capture_output": True, "text": True, "cwd": place}
    subprocess.run(
        [sys.executable, "-m", "pip", "wheel", "--no-deps", "-qq", "-w", str(place), str(ROOT)],
        **run,
    )
    (wheel,) = place.glob("winnow_dp-*.whl")
    venv.create(place / "env", with_pip=True)
    pip = place / "env" / "bin" / "pip"
    constraints = ROOT / "constraints.txt"
    subprocess.run(
        [str(pip), "install", "-qq", "--no-compile", "-c", str(constraints), str(wheel)], **run
    )
    return place / "env" / "bin"


def winnow(installed: Path, *arguments: str, **environment: str) -> str:
    clean = {
        k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "NUMBA", "VIRTUAL"))
    }
    done = subprocess.run(
        [str(installed / "winnow"), *arguments],
        capture_output=True,
        text=True,
        cwd=installed.parent,
        env={**clean, **environment},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_wheel_runs_the_demo(installed: Path) -> None:
    assert "guarantee" in winnow(installed, "demo").lower()


def test_the_wheel_is_typed_and_has_no_test_code(installed: Path) -> None:
    (package,) = installed.parent.glob("lib/python*/site-packages/winnow")
    assert (package / "py.typed").exists()
    for kind in ("templates", "static"):  # of the pages of winnow serve
        held = {file.name for file in (package / "serve" / kind).iterdir()}
        assert held == {file.name for file in (ROOT / "src/winnow/serve" / kind).iterdir()}
    assert not list(package.parent.glob("tests*"))
    assert not list(package.parent.glob("benchmarks*"))


def test_large_selections_work_where_the_kernel_cache_cannot_be_written(installed: Path) -> None:
    """numba looks beside the package, then under the user's cache: a file bars both ways.

    (Read-only permissions would not: tests may run as root.)
    """
    code = "import numpy as np, winnow; print(winnow.select(np.arange(300_000), epsilon=1.0).value)"
    kernels = next(installed.parent.glob("lib/python*/site-packages/winnow/core/kernels"))
    cache = kernels / "__pycache__"
    shutil.rmtree(cache, ignore_errors=True)
    cache.write_text("in the way")
    try:
        done = subprocess.run(
            [str(installed / "python"), "-c", code],
            capture_output=True,
            text=True,
            cwd="/",
            env={"PATH": os.environ["PATH"], "HOME": "/dev/null"},
        )
    finally:
        cache.unlink()
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 299_000
