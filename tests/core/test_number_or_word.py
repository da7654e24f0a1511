"""Options that take a number or a word: in Python, on a command line, and over HTTP."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, Any, Literal

import msgspec
import pytest
import typer
from typer.testing import CliRunner

import winnow as wn
from winnow.cli.derived import Typed
from winnow.cli.making import unbundled
from winnow.cli.reporting import reported
from winnow.core.options import AUTO, Checked, Method, Methods, Option, options
from winnow.serve.bodies import Closed
from winnow.serve.derived import asked_of, body
from winnow.serve.sending import sent


@dataclass(frozen=True, kw_only=True)
class ByShare(Method):
    """With a share of the charge."""

    share: Annotated[
        float | Fraction | Literal["auto"], Option("A share.", "SHARE", least=0, below=1)
    ] = "auto"
    most: Annotated[int | Literal["all"] | None, Option("How many.", "N", least=1)] = None


@dataclass(frozen=True, kw_only=True)
class Shared(Checked):
    """What is asked."""

    epsilon: Annotated[float, Option("The loss.", "E", above=0)]
    beta: Annotated[float | Literal["none"], Option("A chance.", "B", above=0, below=1)] = 0.05
    method: Annotated[ByShare | str, Methods("How.", (ByShare,))] = AUTO


app = typer.Typer(add_completion=False)


@app.command()
@unbundled
@reported()
def command(name: str, asked: Typed[Shared]) -> None:
    """A command."""
    typer.echo(repr(asked()))


BODY = body("SharedBody", Shared, Closed, None, {})


@pytest.mark.parametrize(
    "said",
    [
        {}, {"share": 0}, {"share": 0.25}, {"share": Fraction(1, 4)}, {"share": "auto"},
        {"most": 3}, {"most": "all"}, {"share": 0.5, "most": "all"},
    ],
)  # fmt: skip
def test_what_is_said_in_python_is_said_on_a_line_and_over_http(said: dict[str, Any]) -> None:
    method = ByShare(**said)
    wanted = Shared(epsilon=1.0, method=method)
    order = msgspec.convert(msgspec.json.decode(msgspec.json.encode(sent(wanted))), BODY)
    assert asked_of(order, {}) == wanted
    words = [word for name, value in said.items() for word in (f"--{name}", _typed(value))]
    shown = CliRunner().invoke(app, ["x", "--epsilon", "1", "--method", "by-share", *words])
    plain = {n: v if isinstance(v, str) else type(v)(v) for n, v in said.items()}
    assert shown.exit_code == 0, shown.output
    for name, value in plain.items():
        assert f"{name}={_shown(value)}" in shown.output.replace("\n", "")


def _typed(value: Any) -> str:
    return value if isinstance(value, str) else f"{float(value):g}"


def _shown(value: Any) -> str:
    return repr(value if isinstance(value, str) else _number(value))


def _number(value: Any) -> float | int:
    return float(value) if value < 1 else int(value)


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ({"share": 1}, "not below 1"),
        ({"share": -0.1}, "below 0"),
        ({"share": float("nan")}, "share"),
        ({"share": True}, "share"),
        ({"share": "much"}, "give a number, or one of: auto"),
        ({"most": 0}, "below 1"),
        ({"most": 1.5}, "most"),
        ({"most": "some"}, "one of: all"),
    ],
)
def test_another_word_and_a_number_out_of_range_are_refused(
    said: dict[str, Any], message: str
) -> None:
    with pytest.raises(wn.ParameterError, match=message):
        ByShare(**said)
    kind = {"kind": "by-share", **said}
    if not any(isinstance(value, float) and value != value for value in said.values()):
        with pytest.raises(msgspec.ValidationError):
            msgspec.convert({"epsilon": 1, "method": kind}, BODY)


@pytest.mark.parametrize("words", [("--share", "much"), ("--share", "1"), ("--most", "1.5")])
def test_a_line_with_another_word_ends_with_the_code_2(words: tuple[str, ...]) -> None:
    asked = ["x", "--epsilon", "1", "--method", "by-share", *words]
    shown = CliRunner().invoke(app, asked)
    assert (
        shown.exit_code == 2
        and words[0].strip("-") in shown.output
        and "Traceback" not in shown.output
    )


def test_a_field_says_which_words_it_takes_beside_numbers() -> None:
    share, most = options(ByShare)
    assert share.or_word and share.words == ("auto",) and share.simple is float
    assert most.or_word and most.words == ("all",) and most.simple is int
    assert not options(Shared)[0].or_word
    line = CliRunner().invoke(app, ["x", "--epsilon", "1", "--beta", "none"])
    assert "beta='none'" in line.output
    assert "beta=0.05" in CliRunner().invoke(app, ["x", "--epsilon", "1"]).output
