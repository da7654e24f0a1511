"""Options are written once: records check them, commands and signatures are read off them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import MISSING, dataclass, is_dataclass
from inspect import signature
from typing import Annotated, Any, Literal

import pytest
import typer
from typer.testing import CliRunner

import winnow as wn
from reference.canaries import CANARY, overheard
from winnow.cli.derived import Typed
from winnow.cli.making import unbundled
from winnow.cli.reporting import reported
from winnow.core.options import AUTO, Checked, Method, Methods, Option, check_value, options, takes
from winnow.errors import WinnowError

Noise = Literal["exponential", "gumbel"]


@dataclass(frozen=True)
class OneDraw(Method):
    """A list by one draw."""


@dataclass(frozen=True)
class ManyDraws(Method):
    """A list by many draws."""

    gamma: Annotated[float, Option("The weight of the last.", "G", least=0, most=1)] = 0.5
    noise: Annotated[Noise | None, Option("The noise law; see delta=.", "NAME")] = None


@dataclass(frozen=True, kw_only=True)
class Listing(Checked):
    """The first k."""

    k: Annotated[int, Option("How many.", "K", flag="-k", least=1)]
    epsilon: Annotated[float, Option("The privacy loss.", "E", above=0)]
    names: Annotated[tuple[str, ...], Option("Whose.", "A,B")] = ()
    method: Annotated[
        OneDraw | ManyDraws | str, Methods("By default the best.", (OneDraw, ManyDraws))
    ] = AUTO
    counts: Annotated[bool, Option("With counts.")] = False
    budget: Any = None


@takes(Listing)
def listed(data: str, asked: Listing) -> tuple[str, Listing]:
    """A verb."""
    return data, asked


app = typer.Typer(add_completion=False)


@app.command()
@unbundled
@reported()
def command(name: str, asked: Typed[Listing]) -> None:
    """A command."""
    typer.echo(repr(asked(budget=3)))


def typed(*words: str) -> Any:
    return CliRunner().invoke(app, ["here", "-k", "2", "--epsilon", "1", *words])


def test_a_verb_is_called_with_the_fields_of_its_request() -> None:
    data, asked = listed("d", k=2, epsilon=1.0, method=ManyDraws(gamma=0.25))
    assert (data, asked.k, asked.method) == ("d", 2, ManyDraws(gamma=0.25))
    names = ["data", "k", "epsilon", "names", "method", "counts", "budget"]
    assert list(signature(listed).parameters) == names
    with pytest.raises(TypeError, match="rounds"):
        listed("d", k=2, epsilon=1.0, rounds=3)  # type: ignore[call-arg]


@pytest.mark.parametrize(
    ("given", "said", "message"),
    [
        (("d",), {"k": 2}, "missing a required argument: 'epsilon'"),
        ((), {"k": 2, "epsilon": 1.0}, "missing a required argument: 'data'"),
        (("d", 2), {"k": 2, "epsilon": 1.0}, "too many positional arguments"),
        (("d",), {"data": "e", "k": 2, "epsilon": 1.0}, "multiple values for argument 'data'"),
        (("d",), {"k": 2, "epsilon": 1.0, "asked": 3}, "unexpected keyword argument 'asked'"),
    ],
)
def test_a_call_that_does_not_fit_the_signature_is_refused_by_the_parameter(
    given: tuple[Any, ...], said: dict[str, Any], message: str
) -> None:
    with pytest.raises(TypeError, match=message) as caught:
        listed(*given, **said)
    assert caught.value.__context__ is None and caught.value.__cause__ is None


def test_data_may_be_named_and_options_come_in_any_order() -> None:
    usual = listed("d", k=2, epsilon=1.0, counts=True)
    assert listed(counts=True, epsilon=1.0, k=2, data="d") == usual  # type: ignore[call-arg]
    assert listed("d", epsilon=1.0, counts=True, k=2) == usual


def records(kind: type[Checked]) -> Iterator[type[Checked]]:
    for each in kind.__subclasses__():
        yield each
        yield from records(each)


def test_every_default_is_within_its_own_range_and_so_needs_no_check() -> None:
    for name in wn.__all__:
        getattr(wn, name)  # what is imported when it is asked for
    fields = [
        field
        for record in records(Checked)
        if record.__module__.startswith("winnow.") and is_dataclass(record)
        for field in options(record)
        if isinstance(field.option, Option) and field.default not in (None, MISSING)
    ]
    assert len(fields) > 50
    for field in fields:
        assert isinstance(field.option, Option)
        check_value(field, field.option, field.default)


def test_a_word_is_the_method_with_its_defaults() -> None:
    assert listed("d", k=1, epsilon=1.0, method="many-draws")[1].method == ManyDraws()
    assert listed("d", k=1, epsilon=1.0)[1].method == AUTO
    with pytest.raises(wn.ParameterError, match="auto, one-draw, many-draws"):
        listed("d", k=1, epsilon=1.0, method="some-draws")
    with pytest.raises(wn.ParameterError, match=r"wn\.OneDraw"):
        listed("d", k=1, epsilon=1.0, method=7)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"k": 0}, "k"),
        ({"k": 1.5}, "k"),
        ({"epsilon": 0}, "not above 0"),
        ({"epsilon": float("nan")}, "epsilon"),
        ({"counts": 1}, "True or False"),
    ],
)
def test_types_and_ranges_are_checked_where_the_record_is_made(
    wrong: dict[str, Any], message: str
) -> None:
    with pytest.raises(wn.ParameterError, match=message):
        listed("d", **{"k": 1, "epsilon": 1.0} | wrong)
    with pytest.raises(wn.ParameterError, match="at most 1"):
        ManyDraws(gamma=1.5)
    with pytest.raises(wn.ParameterError, match="exponential, gumbel"):
        ManyDraws(noise="cauchy")  # type: ignore[arg-type]


def test_the_ends_of_a_range_are_taken() -> None:
    assert ManyDraws(gamma=0).gamma == 0 and ManyDraws(gamma=1).gamma == 1


def test_a_command_shows_the_options_of_the_request_and_of_its_methods() -> None:
    shown = CliRunner().invoke(app, ["--help"], env={"COLUMNS": "200"}).output
    for text in (
        "-k",
        "--epsilon",
        "--method",
        "--gamma",
        "For many-draws: the weight",
        "--counts",
    ):
        assert text in shown
    assert "delta=" not in shown and "--delta" in shown
    assert "budget" not in shown
    said = typed("--method", "many-draws", "--gamma", "0.25", "--names", "a, b", "--counts")
    assert "ManyDraws(gamma=0.25" in said.output and "['a', 'b']" in said.output
    assert "budget=3" in said.output


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--method", "one-draw", "--gamma", "0.25"), "is for many-draws; one-draw has none"),
        (("--gamma", "0.25"), "is for many-draws; choose it with"),
        (("--method", "many-draws", "--gamma", "2"), "above 1"),
    ],
)
def test_an_option_of_another_method_is_refused_by_name(
    words: tuple[str, ...], message: str
) -> None:
    said = typed(*words)
    assert said.exit_code == 2 and message in said.output.replace("\n", " ")


def test_what_an_option_means_is_the_same_for_all_methods() -> None:
    assert [field.name for field in options(ManyDraws)] == ["gamma", "noise"]
    assert options(Listing)[0].needed and not options(Listing)[-1].needed


def mips_of_both(data: Any, **said: Any) -> Any:
    return wn.mips(data, data, **said)


@pytest.mark.parametrize(
    ("verb", "said", "kind"),
    [
        (listed, {"k": 0, "epsilon": 1.0}, WinnowError),
        (listed, {"k": 1, "epsilon": 1.0, "colour": 3}, TypeError),
        (listed, {"epsilon": 1.0}, TypeError),
        (wn.ask, {"epsilon": 1.0, "delta": 1e-6}, WinnowError),
        (wn.ask, {"epsilon": 1.0, "delta": 1e-6, "updates": 3}, TypeError),
        (wn.learn, {"epsilon": 1.0}, WinnowError),
        (wn.learn, {"epsilon": 1.0, "colour": 3}, (TypeError, WinnowError)),
        (wn.lp, {"method": "scalar-sides", "epsilon": 1.0}, WinnowError),
        (wn.lp, {"method": wn.ScalarSides(sensitivity=1), "epsilon": 1.0}, WinnowError),
        (wn.lp, {"epsilon": 1.0, "colour": 3}, TypeError),
        (wn.Session(epsilon=1).lp, {"method": "scalar-sides", "epsilon": 1.0}, WinnowError),
        (wn.boost, {"epsilon": 1.0, "rounds": 1}, WinnowError),
        (wn.boost, {"epsilon": 1.0, "rounds": 0}, WinnowError),
        (wn.boost, {"epsilon": 1.0}, TypeError),
        (mips_of_both, {"epsilon": 1.0}, WinnowError),
        (mips_of_both, {"epsilon": 1.0, "colour": 3}, TypeError),
    ],
)
def test_no_frame_of_a_derived_verb_keeps_the_data_of_a_refused_call(
    verb: Callable[..., Any], said: dict[str, Any], kind: type[BaseException]
) -> None:
    error, heard = overheard(lambda: verb({"a": CANARY}, **said))
    assert isinstance(error, kind)
    assert not [text for text in heard if CANARY in text]
    assert error.__context__ is None and error.__cause__ is None


@dataclass(frozen=True)
class Ranges(Method):
    """A method with pairs, and with one number or a pair."""

    between: Annotated[tuple[float, float] | None, Option("A range.", "LOW,HIGH")] = None
    moved: Annotated[float | tuple[float, float] | None, Option("One or two.", "S")] = None


@dataclass(frozen=True, kw_only=True)
class Ranged(Checked):
    """A request whose method nobody chooses for the user."""

    method: Annotated[Ranges | str, Methods("Say it.", (Ranges,), auto=False)]
    budget: Any = None


ranged = typer.Typer(add_completion=False)


@ranged.command()
@unbundled
@reported()
def ranged_command(asked: Typed[Ranged]) -> None:
    """A command with pairs."""
    typer.echo(repr(asked()))


@pytest.mark.parametrize(
    ("words", "code", "text"),
    [
        (("--between", "0,2.5"), 0, "between=(0.0, 2.5)"),
        (("--between", "-1,1", "--moved", "0.25,1"), 0, "moved=(0.25, 1.0)"),
        (("--moved", "3"), 0, "moved=3.0"),
        (("--between", "3"), 2, "two numbers such as 0,1"),
        (("--between", "1,2,3"), 2, "two numbers such as 0,1"),
        (("--moved", "x"), 2, "neither a number nor two such as 0.25,1"),
    ],
)
def test_a_line_writes_a_pair_with_a_comma(words: tuple[str, ...], code: int, text: str) -> None:
    said = CliRunner().invoke(ranged, ["--method", "ranges", *words])
    assert said.exit_code == code and text in said.output.replace("\n", " ")


def test_a_method_that_only_the_user_knows_has_to_be_said() -> None:
    assert CliRunner().invoke(ranged, []).exit_code == 2
    assert CliRunner().invoke(ranged, ["--method", "auto"]).exit_code == 2
    with pytest.raises(wn.ParameterError, match="choose one of: ranges"):
        Ranged(method="auto")
