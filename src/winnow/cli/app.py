"""The commands, put together.

Bundles: options that several commands share, taken by each of them as one value.

A bundle is a frozen dataclass whose fields are options. A command has one parameter of that type;
``unbundled`` shows Typer the fields in its place. So an option that is added to a bundle is on
every command that takes the bundle.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, is_dataclass
from functools import wraps
from inspect import Parameter, getdoc, signature
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer
from typer.core import TyperCommand

from winnow._version import __version__
from winnow.cli import audit, demo, ledger, reproduce, schema
from winnow.cli.derived import parameters, record_in, typed
from winnow.cli.reporting import options_of_command, report, reported, weak_promises
from winnow.inner_product import cli as inner_product
from winnow.interactive.cli import command as ask
from winnow.interactive.cli import plan as plan_interactive
from winnow.itemsets.cli import command as itemsets
from winnow.learn import cli as learn
from winnow.lp import cli as lp
from winnow.release.cli import command as release
from winnow.release.cli import plan as plan_release
from winnow.select.cli import command as select
from winnow.select.cli import margin as plan_margin
from winnow.select.cli import plan
from winnow.serve import cli as serve
from winnow.tables import cli as tables
from winnow.topk.cli import command as topk
from winnow.topk.cli import plan as plan_topk


def unbundled(command: Callable[..., None]) -> Callable[..., None]:
    """The command with the options of its bundles as parameters of its own."""
    hints = get_type_hints(command, include_extras=True)
    shown: list[Parameter] = []
    bundles: dict[str, type[Any]] = {}
    requests: dict[str, type[Any]] = {}
    for name, parameter in signature(command).parameters.items():
        record = record_in(hints[name])
        if record is not None:
            requests[name] = record
            shown += [each.replace(kind=parameter.kind) for each in parameters(record)]
        elif is_dataclass(hints[name]):
            bundles[name] = hints[name]
            shown += _options(hints[name], parameter.kind)
        else:
            shown.append(parameter.replace(annotation=hints[name]))

    @wraps(command)
    def called(**given: Any) -> None:
        for name, bundle in bundles.items():
            given[name] = bundle(**{f.name: given.pop(f.name) for f in fields(bundle)})
        with reported():
            for name, record in requests.items():
                given[name] = typed(record, given)
        command(**given)

    # In a signature what has no default comes first; the help keeps this order.
    shown.sort(key=lambda parameter: parameter.default is not Parameter.empty)
    called.__signature__ = signature(command).replace(parameters=shown)  # type: ignore[attr-defined]
    called.__annotations__ = {parameter.name: parameter.annotation for parameter in shown}
    return called


def _options(bundle: type[Any], kind: Any) -> list[Parameter]:
    hints = get_type_hints(bundle, include_extras=True)
    return [
        Parameter(f.name, kind, default=f.default, annotation=hints[f.name]) for f in fields(bundle)
    ]


class OwnCommand(TyperCommand):
    """A command whose messages speak of its options, and whose ``--plot`` may stand alone.

    It does where nothing or another option follows it, so it comes last or before an option;
    ``winnow lp --plot model.mps`` names the figure model.mps, which is refused by its ending.
    """

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Fill in the name, then parse as ever."""
        filled: list[str] = []
        for place, argument in enumerate(args):
            filled.append(argument)
            following = args[place + 1] if place + 1 < len(args) else None
            if argument == "--plot" and (following is None or following.startswith("-")):
                filled.append(f"{self.name}.png")
        return super().parse_args(ctx, filled)

    def invoke(self, ctx: Any) -> Any:
        """Run it, with its options known to messages."""
        flags = {param.name: max(param.opts, key=len) for param in self.params if param.name}
        options_of_command.set({name: flag for name, flag in flags.items() if flag[0] == "-"})
        return super().invoke(ctx)


EXAMPLES = """\
Examples:

winnow demo

winnow plan select --candidates 100 --gap 20 --epsilon 1

winnow select votes.csv --epsilon 1 --monotone

winnow topk visits.csv --item page --person visitor -k 10 --epsilon 1 --delta 1e-6

winnow release people.csv --schema schema.json --workload marginals:3 --epsilon 1 --delta 1e-6 \
--out synthetic.csv --report report.html --one-row-per-person

Exit codes: 0 done, 1 a check failed, 2 bad input, 3 budget refused.
"""

RELEASE = "Release something about private data"
BEFORE = "Before and after"
START = "Start here"

app = typer.Typer(
    name="winnow",
    epilog=EXAMPLES,
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback()
def _winnow(
    version: Annotated[
        bool,
        typer.Option(
            "--version", help="Show the version.", is_eager=True, callback=lambda v: _version(v)
        ),
    ] = False,
) -> None:
    """Pick the best item, or the top k, of private data: exactly and with a receipt."""


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"winnow {__version__}")
        raise typer.Exit


def _warned(command: Callable[..., None]) -> Callable[..., None]:
    """The command, after a warning where its epsilon or delta protects nobody."""

    @wraps(command)
    def called(**given: Any) -> None:
        for warning in weak_promises(given.get("epsilon"), given.get("delta"), given.get("rows")):
            report(f"warning: {warning}")
        command(**given)

    return called


def _add(to: typer.Typer, name: str, command: Callable[..., None], panel: str, epilog: str) -> None:
    """Add a command with its docstring as help, without the line breaks of the source."""
    paragraphs = (getdoc(command) or "").split("\n\n")
    text = "\n\n".join(" ".join(paragraph.split()) for paragraph in paragraphs)
    shown = unbundled(command)
    to.command(name, cls=OwnCommand, help=text, epilog=epilog, rich_help_panel=panel)(
        _warned(shown) if panel == RELEASE else shown
    )


_add(app, "demo", demo.demo, START, demo.EXAMPLES)
_add(app, "select", select.select, RELEASE, select.EXAMPLES)
_add(app, "topk", topk.topk, RELEASE, topk.EXAMPLES)
_add(app, "itemsets", itemsets.itemsets, RELEASE, itemsets.EXAMPLES)
_add(app, "learn", learn.learn, RELEASE, learn.EXAMPLES)
_add(app, "tabulate", tables.tabulate, RELEASE, tables.EXAMPLES)
_add(app, "release", release.release, RELEASE, release.EXAMPLES)
_add(app, "ask", ask.ask, RELEASE, ask.EXAMPLES)
_add(app, "lp", lp.lp, RELEASE, lp.EXAMPLES)
_add(app, "mips", inner_product.mips, RELEASE, inner_product.MIPS_EXAMPLES)
_add(app, "boost", inner_product.boost, RELEASE, inner_product.BOOST_EXAMPLES)
plans = typer.Typer(no_args_is_help=True, rich_markup_mode="rich")
app.add_typer(
    plans,
    name="plan",
    help="Say what to expect before spending anything.",
    rich_help_panel=BEFORE,
)
_add(plans, "select", plan.select, BEFORE, plan.EXAMPLES)
_add(plans, "topk", plan_topk.topk, BEFORE, plan_topk.EXAMPLES)
_add(plans, "margin", plan_margin.margin, BEFORE, plan_margin.EXAMPLES)
_add(plans, "itemsets", itemsets.plan, BEFORE, itemsets.PLAN_EXAMPLES)
_add(plans, "learn", learn.plan, BEFORE, learn.PLAN_EXAMPLES)
_add(plans, "tabulate", tables.plan, BEFORE, tables.PLAN_EXAMPLES)
_add(plans, "release", plan_release.release, BEFORE, plan_release.EXAMPLES)
_add(plans, "lp", lp.plan, BEFORE, lp.PLAN_EXAMPLES)
_add(plans, "interactive", plan_interactive.interactive, BEFORE, plan_interactive.EXAMPLES)
schemas = typer.Typer(no_args_is_help=True, rich_markup_mode="rich")
app.add_typer(
    schemas,
    name="schema",
    help="Write the public schema of a table, and check it before anything is spent.",
    rich_help_panel=BEFORE,
)
_add(schemas, "draft", schema.draft, BEFORE, schema.DRAFT_EXAMPLES)
_add(schemas, "check", schema.check, BEFORE, schema.CHECK_EXAMPLES)
ledgers = typer.Typer(no_args_is_help=True, rich_markup_mode="rich")
app.add_typer(
    ledgers,
    name="ledger",
    help="Keep a record of everything that was spent on a dataset.",
    rich_help_panel=BEFORE,
)
_add(ledgers, "init", ledger.init, BEFORE, ledger.INIT_EXAMPLES)
_add(ledgers, "show", ledger.show, BEFORE, ledger.EXAMPLES)
_add(ledgers, "verify", ledger.verify, BEFORE, ledger.EXAMPLES)
_add(ledgers, "export", ledger.export, BEFORE, ledger.EXAMPLES)
shares = typer.Typer(no_args_is_help=True, rich_markup_mode="rich")
ledgers.add_typer(
    shares,
    name="share",
    help="Say how much of a dataset's cap each analyst may use.",
    rich_help_panel=BEFORE,
)
_add(shares, "set", ledger.set_share, BEFORE, ledger.SHARE_EXAMPLES)
_add(shares, "list", ledger.list_shares, BEFORE, ledger.SHARE_EXAMPLES)
servers = typer.Typer(rich_markup_mode="rich", invoke_without_command=True, epilog=serve.EXAMPLES)
app.add_typer(
    servers,
    name="serve",
    help="Let analysts ask over HTTP, under budgets; nobody gets the data.",
    rich_help_panel=RELEASE,
)


@servers.callback(epilog=serve.EXAMPLES)
def _serve(context: typer.Context, config: serve.ConfigOption = Path("winnow.toml")) -> None:
    """Let analysts ask over HTTP, under budgets; nobody gets the data."""
    if context.invoked_subcommand is None:
        serve.serve(config)


_add(servers, "demo", serve.demo, START, serve.EXAMPLES)
_add(servers, "check", serve.check, BEFORE, serve.EXAMPLES)
_GROUPS: tuple[tuple[str, str, dict[str, Callable[..., None]]], ...] = (
    (
        "token",
        "Make, list and end tokens.",
        {"new": serve.token_new, "list": serve.token_list, "revoke": serve.token_revoke},
    ),
    (
        "dataset",
        "Add and list datasets.",
        {"add": serve.dataset_add, "list": serve.dataset_list},
    ),
    ("share", "Say how much of a cap each analyst may use.", {"set": serve.share_set}),
)
for _name, _help, _commands in _GROUPS:
    _group = typer.Typer(no_args_is_help=True, rich_markup_mode="rich")
    servers.add_typer(_group, name=_name, help=_help, rich_help_panel=BEFORE)
    for _word, _command in _commands.items():
        _add(_group, _word, _command, BEFORE, serve.EXAMPLES)
_add(app, "audit", audit.audit, BEFORE, audit.EXAMPLES)
_add(app, "reproduce", reproduce.reproduce, BEFORE, reproduce.EXAMPLES)
