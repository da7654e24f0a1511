"""Linear programs from one list of options: what the program, its method and its request take."""

from __future__ import annotations

from typing import Any

import winnow as wn
from winnow.core.options import options

METHODS = {"scalar-sides": wn.ScalarSides, "person-rows": wn.PersonRows}
OF_PROBLEM = ("opt", "senses", "maximise", "bound", "names", "relation")


def split(A: Any, b: Any, c: Any, method: str, given: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """The sealed program, and what is asked of it."""
    record: Any = METHODS[method]
    own = {field.name for field in options(record)}
    about = {name: value for name, value in given.items() if name in OF_PROBLEM}
    said = {name: value for name, value in given.items() if name in own}
    rest = {name: value for name, value in given.items() if name not in {*about, *said}}
    problem = wn.lp_problem(A, b, c, **about)
    return problem, {"method": record(**said), **rest}


def solve(A: Any, b: Any, c: Any, *, method: str, **given: Any) -> Any:
    """``wn.lp``."""
    problem, asked = split(A, b, c, method, given)
    return wn.lp(problem, **asked)


def plan(A: Any, c: Any, *, method: str, **given: Any) -> Any:
    """``wn.plan.lp`` without right-hand sides."""
    problem, asked = split(A, None, c, method, given)
    return wn.plan.lp(problem, **asked)
