"""The tree of errors, who may read them, and that every place of the source keeps the rules."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import winnow as wn
from reference.asking import opened as asking
from reference.canaries import CANARY, overheard
from winnow import errors
from winnow.core.plan import Plan
from winnow.errors import DataError, ForeignError, WinnowError
from winnow.foreign import guarded, instead, reason, shown
from winnow.privacy.ledger import Ledger, RecordedBudget, RecordedSession

SOURCE = Path(wn.__file__).parent
PUBLIC = {"ParameterError", "GuaranteeError", "BudgetExceeded", "RelationMismatch",
          "SessionExhausted"}  # fmt: skip
FOR_CATCHING = {"WinnowError", "InputError", "BudgetError"}


def kinds(base: type[WinnowError] = WinnowError) -> Iterator[type[WinnowError]]:
    yield base
    for kind in base.__subclasses__():
        if kind.__module__ == "winnow.errors":
            yield from kinds(kind)


def test_every_error_says_whether_it_is_public() -> None:
    assert {kind.__name__ for kind in kinds() if kind.public} == PUBLIC
    for kind in kinds():
        assert kind.__name__ in (errors.__doc__ or ""), "drawn in the tree"
        assert kind.__doc__ and isinstance(kind.public, bool)
        tree = (errors.__doc__ or "").split("\n\n")[1]
        drawn = tree.split(kind.__name__)[-1].split("+--")[0]
        assert ("public" in drawn) == kind.public


def test_no_error_for_the_curator_inherits_from_a_public_one() -> None:
    for kind in kinds():
        if not kind.public:
            assert not any(getattr(base, "public", False) for base in kind.__mro__)


def test_names_that_users_catch_catch_what_they_did() -> None:
    assert issubclass(errors.ParameterError, errors.InputError)
    assert issubclass(errors.DataError, errors.InputError)
    assert issubclass(errors.InputError, ValueError)
    assert issubclass(errors.ExtraMissing, ImportError)
    assert issubclass(errors.SessionExhausted, errors.GrantError)
    assert issubclass(errors.SessionExhausted, errors.InputError)


@cache
def parsed(file: Path) -> ast.Module:
    return ast.parse(file.read_text(encoding="utf-8"))


def sources(pattern: str) -> Iterator[tuple[Path, ast.Module]]:
    """The files in which the pattern is found: to parse all of them would take seconds."""
    for file in sorted(SOURCE.rglob("*.py")):
        # Not twins that break the rules, for the audit to find.
        if "broken" not in file.name and re.search(pattern, file.read_text(encoding="utf-8")):
            yield file, parsed(file)


def test_no_base_class_is_raised() -> None:
    for file, tree in sources(rf"\b({'|'.join(FOR_CATCHING)})\s*\("):
        made = {n.func.id for n in ast.walk(tree)
                if isinstance(n, ast.Call) and isinstance(n.func, ast.Name)}  # fmt: skip
        assert not made & FOR_CATCHING, f"{file}: raise a ParameterError or a DataError instead"


def test_nothing_is_raised_while_another_error_is_handled() -> None:
    """Python would keep that error as the context, `from None` or not; see winnow.foreign."""
    for file, tree in sources(r"\bexcept\b"):
        for handler in (n for n in ast.walk(tree) if isinstance(n, ast.ExceptHandler)):
            raised = [n.lineno for n in ast.walk(handler) if isinstance(n, ast.Raise) and n.exc]
            assert not raised, f"{file}:{raised}: use winnow.foreign.instead"


def test_no_generator_raises_for_what_went_wrong_around_its_yield() -> None:
    """While a context manager is left by an error, that one is being handled: see above."""
    for file, tree in sources("contextmanager"):
        if file.name == "reporting.py":  # of commands: what it raises is an exit code
            continue
        for function in (n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef)):
            if not any("contextmanager" in ast.unparse(d) for d in function.decorator_list):
                continue
            catching = [n for n in ast.walk(function) if isinstance(n, ast.Try) and n.handlers
                        and any(isinstance(inner, ast.Yield) for part in n.body
                                for inner in ast.walk(part))]  # fmt: skip
            raised = [n.lineno for n in ast.walk(function) if isinstance(n, ast.Raise) and n.exc]
            assert not (catching and raised), f"{file}:{raised}: use winnow.foreign.instead"


def test_no_message_of_another_error_is_repeated() -> None:
    """`str(error)`, `error.args` and their like never enter a message, but for errors of ours."""
    for file, tree in sources(r"\bexcept\b"):
        for handler in (n for n in ast.walk(tree) if isinstance(n, ast.ExceptHandler)):
            if handler.name is None or "Winnow" in ast.unparse(handler.type or ast.Constant("")):
                continue
            used = [n.attr for n in ast.walk(handler) if isinstance(n, ast.Attribute)
                    and isinstance(n.value, ast.Name) and n.value.id == handler.name]  # fmt: skip
            assert not {"args", "msg", "doc", "strerror", "diag", "reason"} & set(used), file


OPEN = {"additive", "as_substitution", "boosted", "calibrate", "conjunctions", "intervals",
        "marginals", "predicates", "prefixes", "queries", "random_queries", "ranges", "stumps",
        "thresholds", "where"}  # fmt: skip
"""Functions of public parameters alone."""
GUARDED = (wn.Session, wn.PrivateClassifier, wn.SealedTable, Ledger, RecordedBudget,
           RecordedSession)  # fmt: skip
UNGUARDED = {"get_params", "set_params"}


def test_every_public_function_that_sees_data_is_guarded() -> None:
    named = {name: getattr(wn, name) for name in wn.__all__}
    functions = {n: f for n, f in named.items() if inspect.isfunction(f) and n not in OPEN}
    functions |= {f"plan.{n}": f for n, f in vars(wn.plan).items()
                  if inspect.isfunction(f) and n != "attach"}  # fmt: skip
    for kind in GUARDED:
        functions |= {f"{kind.__name__}.{n}": f for n, f in vars(kind).items()
                      if inspect.isfunction(getattr(f, "__func__", f)) and not n.startswith("_")
                      and n not in UNGUARDED}  # fmt: skip
    unguarded = [n for n, f in functions.items() if not n.split(".")[-1].startswith("_")
                 and not getattr(getattr(f, "__func__", f), "__guarded__", False)]  # fmt: skip
    assert len(functions) > 30 and not unguarded


def test_every_plan_runs_under_a_guard() -> None:
    known = {wn.plan.AskPlan, wn.plan.ItemsetPlan, wn.plan.LearnPlan, wn.plan.LpPlan}
    known |= {wn.plan.SearchPlan}  # naming a plan imports it
    kinds, waiting = set(), [Plan]
    while waiting:
        kinds.add(kind := waiting.pop())
        waiting += kind.__subclasses__()
    assert known < kinds
    assert [kind for kind in kinds if not getattr(kind.run, "__guarded__", False)] == []


QUERY = wn.seal_query([2.0, 1.0], sensitivity=1)
PLANS: dict[str, Callable[[], Any]] = {
    "mips": lambda: wn.plan.mips(np.eye(2), QUERY, epsilon=1),
    "boost": lambda: wn.plan.boost(wn.seal_examples([[1, 1]], [1, -1]), rounds=1, epsilon=1),
    "lp": lambda: wn.plan.lp(wn.lp_problem(np.eye(2), None, [1, 1], opt=1), epsilon=1,
                             method=wn.ScalarSides(sensitivity=1)),
    "learn": lambda: wn.plan.learn(wn.labelled(np.eye(2), [0, 1]), epsilon=1,
                                   method=wn.OneRule(of="stumps", cuts=[1.0])),
}  # fmt: skip


@pytest.mark.parametrize("verb", PLANS)
def test_a_plan_that_is_given_other_data_says_so_and_keeps_none_of_them(verb: str) -> None:
    plan = PLANS[verb]()
    for given in ({"a": CANARY}, wn.seal_scores([1.0], wn.Utility.declare(1), labels=[CANARY])):
        error, heard = overheard(lambda given=given: plan.run(given, budget=wn.Budget(epsilon=1)))
        assert isinstance(error, wn.ParameterError)
        assert not [text for text in heard if CANARY in text]


def test_a_replaced_error_leaves_nothing_behind() -> None:
    def fails() -> None:
        with instead(DataError("the number cannot be read"), ValueError):
            int(CANARY)

    error, heard = overheard(fails)
    assert isinstance(error, DataError) and error.__context__ is None and error.__cause__ is None
    assert not [text for text in heard if CANARY in text and "overheard" not in text][:1]


def test_errors_of_ours_and_other_types_pass() -> None:
    with pytest.raises(wn.ParameterError, match="mine"), instead(DataError("other"), ValueError):
        raise wn.ParameterError("mine")
    with pytest.raises(KeyError), instead(DataError("other"), ValueError):
        raise KeyError("k")
    with pytest.raises(DataError, match="other"), instead(DataError("other"), wn.InputError):
        raise wn.ParameterError("mine")
    with pytest.raises(KeyboardInterrupt), instead(DataError("other")):
        raise KeyboardInterrupt
    with pytest.raises(ValueError, match="mine"), instead(lambda error: None, ValueError):
        raise ValueError("mine")


def test_a_guard_keeps_the_type_and_the_place_only() -> None:
    class Panic(BaseException):
        """As Polars raises it, which is no Exception."""

    @guarded
    def fails(kind: type[BaseException]) -> None:
        secret = CANARY
        try:
            raise ValueError(secret)
        except ValueError as error:
            error.add_note(secret)
            raise kind(secret) from error

    for kind in (RuntimeError, MemoryError, Panic, TypeError, AssertionError):
        error, heard = overheard(lambda kind=kind: fails(kind))
        assert isinstance(error, ForeignError) and kind.__name__ in str(error)
        assert not [text for text in heard if CANARY in text]
    error, heard = overheard(lambda: fails(KeyboardInterrupt))
    assert isinstance(error, KeyboardInterrupt) and error.__context__ is None
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'kind'"):
        fails()  # type: ignore[call-arg]


def test_what_may_be_said_of_an_error_and_of_a_parameter() -> None:
    assert reason(FileNotFoundError(2, CANARY)) == "No such file or directory"
    assert reason(OSError(CANARY)) == "OSError" and reason(ValueError(CANARY)) == "ValueError"
    assert shown("a") == "'a'" and shown((1, "b")) == "(1, 'b')" and shown(np.int64(7)) == "7"
    assert shown(pd.Series([CANARY])) == "<Series>" and shown([CANARY] * 9) == "<list>"
    assert len(shown("x" * 10_000)) < 250


SCHEMA = {"sex": {"values": ["f", "m"]}, "age": {"edges": [0, 50, 100]}}


def table(rows: list[tuple[str, int]]) -> wn.SealedTable:
    frame = pd.DataFrame(rows, columns=["sex", "age"])
    return wn.read_table(frame, schema=SCHEMA)


ROWS = [("f", 7), ("m", 70), ("m", 20), ("f", 90)] * 5
NEIGHBOURS = ([("f", 7), *ROWS[1:]], [("m", 99), *ROWS[1:]])
COUNTS = ({"a": 41, "b": 40, "c": 3}, {"a": 42, "b": 41, "c": 4})


def sold(baskets: Any) -> wn.SealedBaskets:
    return wn.read_baskets(baskets, unit="basket")


BASKETS = ([["x", "y"], ["x"]], [["x", "y"], ["x"], ["z"]])


def asked(rows: Any, question: Any, **options: Any) -> Any:
    how: dict[str, Any] = {"epsilon": 20, "delta": 1e-6, "seed": 3, "rows": 20} | options
    return asking(table(rows), **how).ask(question)


def exhausted(values: Any) -> None:
    stream = wn.open_above(threshold=-100, epsilon=50.0, seed=1)
    stream.ask(values)
    stream.ask(values)


PUBLIC_ERRORS: dict[str, tuple[Callable[[Any], Any], tuple[Any, Any]]] = {
    "select, epsilon": (lambda d: wn.select(d, epsilon=-1), COUNTS),
    "select, k": (lambda d: wn.select(d, epsilon=1, k=9), COUNTS),
    "select, mechanism": (lambda d: wn.select(d, epsilon=1, method="best"), COUNTS),
    "select, delta": (lambda d: wn.select(d, epsilon=1, method="large-margin"), COUNTS),
    "select, budget": (
        lambda d: wn.select(d, epsilon=1, budget=wn.Budget(epsilon=0.5)), COUNTS),
    "select, relation": (
        lambda d: wn.Session(epsilon=1).select(
            wn.seal_scores(d, relation="substitution"), epsilon=1), COUNTS),
    "top_k, k": (lambda d: wn.top_k(d, k=9, epsilon=1), COUNTS),
    "top_k, budget": (lambda d: wn.Session(epsilon=1).top_k(d, k=2, epsilon=2), COUNTS),
    "above, threshold": (lambda d: wn.above(d, threshold="high", epsilon=1), COUNTS),
    "stream, exhausted": (exhausted, COUNTS),
    "release, workload": (lambda d: wn.release(table(d), "all", epsilon=1), NEIGHBOURS),
    "release, ways": (lambda d: wn.release(table(d), wn.marginals(7), epsilon=1), NEIGHBOURS),
    "release, rows": (
        lambda d: wn.release(table(d).stating(7), wn.marginals(1), epsilon=1), NEIGHBOURS),
    "restrict": (lambda d: table(d).restrict(["name"]), NEIGHBOURS),
    "ask, column": (lambda d: asked(d, wn.where(name="x")), NEIGHBOURS),
    "ask, value": (lambda d: asked(d, wn.where(sex="x")), NEIGHBOURS),
    "ask, edge": (lambda d: asked(d, wn.where(age=(3, 50))), NEIGHBOURS),
    "learn, target": (
        lambda d: wn.learn(table(d), "age2", method="stumps", epsilon=1), NEIGHBOURS),
    "learn, class": (
        lambda d: wn.learn(table(d), "sex", method="trees", epsilon=1), NEIGHBOURS),
    "itemsets, size": (
        lambda d: wn.itemsets(sold(d), size=0, k=1, epsilon=1), BASKETS),
    "itemsets, method": (
        lambda d: wn.itemsets(sold(d), size=1, k=1, epsilon=1, method="x"), BASKETS),
    "itemsets, not read": (lambda d: wn.itemsets(d, size=1, k=1, epsilon=1), BASKETS),
    "lp, method": (
        lambda b: wn.lp(wn.lp_problem(np.eye(2), b, [1, 1], opt=1), method="all", epsilon=1),
        ([1.0, 2.0], [1.0, 2.5])),
    "lp, sensitivity": (
        lambda b: wn.lp(
            wn.lp_problem(np.eye(2), b, [1, 1], opt=1), method="scalar-sides", epsilon=1),
        ([1.0, 2.0], [1.0, 2.5])),
    "mips, k": (
        lambda q: wn.mips(np.eye(2), wn.seal_query(q, sensitivity=1), epsilon=1, k=9),
        ([1.0, 2.0], [1.0, 2.5])),
    "boost, slack": (
        lambda y: wn.boost(wn.seal_examples([[1, 1], [1, -1]], y), rounds=1, epsilon=1,
                           method=wn.Indexed(slack=0.1)),
        ([1, 1], [1, -1])),
}  # fmt: skip


@pytest.mark.parametrize("case", PUBLIC_ERRORS)
def test_a_public_error_is_the_same_on_neighbouring_data(case: str) -> None:
    ask, neighbours = PUBLIC_ERRORS[case]
    said = []
    for data in neighbours:
        with pytest.raises(WinnowError) as caught:
            ask(data)
        assert caught.value.public
        said.append((type(caught.value), str(caught.value)))
    assert said[0] == said[1]


CURATORS = {
    "score": lambda: wn.select({"a": 1, "b": "x"}, epsilon=1),
    "a score too large": lambda: wn.select({"a": 1, "b": 10**30}, epsilon=1),
    "path": lambda: wn.counts("/no/such/file.csv", item="a"),
    "schema's path": lambda: wn.Schema.parse("/no/such/schema.json"),
    "value outside": lambda: table([("x", 7)]),
    "type of a column": lambda: wn.read_table(pd.DataFrame({"n": ["a"]}), schema={"n": 5}),
    "label": lambda: wn.learn(np.eye(2), [0, 7], epsilon=1),
    "basket": lambda: wn.read_baskets(["x"], unit="basket", layout="lines"),
    "side": lambda: wn.lp_problem(np.eye(2), ["x", 1], [1, 1], opt=1),
    "vector": lambda: wn.seal_query([float("nan"), 1], sensitivity=1),
    "state": lambda: wn.resume(table(ROWS), "/no/such/state"),
}  # fmt: skip


@pytest.mark.parametrize("case", CURATORS)
def test_what_depends_on_the_data_is_for_the_curator(case: str) -> None:
    with pytest.raises(WinnowError) as caught:
        CURATORS[case]()
    assert not caught.value.public
