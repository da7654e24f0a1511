"""The table of commands. Each is imported when it is called."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from winnow._version import __version__
from winnow.cli.lazy import CommandRow, lazy
from winnow.serve import cli as serve

EXAMPLES = """\
Examples:

winnow demo

winnow plan select --candidates 100 --gap 20 --epsilon 1

winnow select votes.csv --epsilon 1 --monotone

winnow top-k visits.csv --item page --person visitor -k 10 --epsilon 1 --delta 1e-6

winnow release people.csv --schema schema.json --workload marginals:3 --epsilon 1 --delta 1e-6 \
--out synthetic.csv --report report.html --one-row-per-person

Exit codes: 0 done, 1 a check failed, 2 bad input, 3 budget refused.
"""

RELEASE = "Release something about private data"
BEFORE = "Before and after"
START = "Start here"

COMMANDS = (
    CommandRow("demo", "winnow.cli.demo:demo", START,
        "See private releases in a few seconds, on made-up data."),
    CommandRow("describe", "winnow.describe.cli:describe", RELEASE,
        "Describe every column of a table: missing values, means, quantiles, common values.",
        tables=True),
    CommandRow("select", "winnow.select.cli.command:select", RELEASE,
        "Select the item with the highest score, or the top K, privately.", tables=True),
    CommandRow("top-k", "winnow.select.cli.top_k:top_k", RELEASE,
        "Release the K most common items privately.", tables=True),
    CommandRow("labels", "winnow.select.cli.labels:labels", RELEASE,
        "Find the items that many people have in a log, without a public list.", tables=True),
    CommandRow("itemsets", "winnow.itemsets.cli.command:itemsets", RELEASE,
        "Release the itemsets that most baskets hold, privately.", tables=True),
    CommandRow("learn", "winnow.learn.cli:learn", RELEASE,
        "Learn to predict a column, privately.", tables=True),
    CommandRow("tabulate", "winnow.release.tables.cli:tabulate", RELEASE,
        "Release tables of counts, sums and means, with a standard error for every number.",
        tables=True),
    CommandRow("bounds", "winnow.numbers.bounds.cli:bounds", RELEASE,
        "Release two numbers between which nearly all values of a column lie.", tables=True),
    CommandRow("moments", "winnow.numbers.moments.cli:moments", RELEASE,
        "Release counts, sums, means, variances and deviations of columns of numbers.",
        tables=True),
    CommandRow("quantiles", "winnow.numbers.cli:quantiles", RELEASE,
        "Release quantiles of a column of numbers: its median, quartiles, or others.",
        tables=True),
    CommandRow("histogram", "winnow.numbers.histogram.cli:histogram", RELEASE,
        "Release a histogram of a column of numbers: how many rows lie in each bin, with errors.",
        tables=True),
    CommandRow("regress", "winnow.numbers.regress.cli:regress", RELEASE,
        "Release a linear regression: coefficients of numbers and of values, with intervals.",
        tables=True),
    CommandRow("release", "winnow.release.cli.command:release", RELEASE,
        "Release a synthetic table that answers many queries about a private one.", tables=True),
    CommandRow("ask", "winnow.ask.cli.command:ask", RELEASE,
        "Ask questions about a private table, one after another.", tables=True),
    CommandRow("lp", "winnow.lp.cli:lp", RELEASE,
        "Solve a linear program privately: each row is met up to a promised violation."),
    CommandRow("mips", "winnow.inner_product.cli:mips", RELEASE,
        "Select the vector with the largest inner product with a private one.", "MIPS_EXAMPLES"),
    CommandRow("boost", "winnow.inner_product.cli:boost", RELEASE,
        "Choose weak learners whose vote classifies private examples well.", "BOOST_EXAMPLES"),
    CommandRow("compile", "winnow.cli.compiling:compile_all", BEFORE,
        "Compile what runs fast once, so that no later run waits for it."),
    CommandRow("audit", "winnow.cli.audit:audit", BEFORE,
        "Check every privacy claim of this version; exit code 1 if one fails."),
    CommandRow("reproduce", "winnow.cli.reproduce:reproduce", BEFORE,
        "Run the experiments of a paper again, and say what agrees and what differs."),
)  # fmt: skip
_PLANS = (
    CommandRow("describe", "winnow.describe.cli:plan", BEFORE, examples="PLAN_EXAMPLES"),
    CommandRow("select", "winnow.select.cli.plan:select", BEFORE),
    CommandRow("top-k", "winnow.select.cli.plan_top_k:top_k", BEFORE),
    CommandRow("labels", "winnow.select.cli.labels:plan", BEFORE, examples="PLAN_EXAMPLES"),
    CommandRow("margin", "winnow.select.cli.margin:margin", BEFORE),
    CommandRow("itemsets", "winnow.itemsets.cli.command:plan", BEFORE, examples="PLAN_EXAMPLES"),
    CommandRow("learn", "winnow.learn.cli:plan", BEFORE, examples="PLAN_EXAMPLES"),
    CommandRow("tabulate", "winnow.release.tables.cli:plan", BEFORE, examples="PLAN_EXAMPLES"),
    CommandRow("bounds", "winnow.numbers.bounds.cli:plan", BEFORE, examples="PLAN_EXAMPLES"),
    CommandRow("moments", "winnow.numbers.moments.cli:plan", BEFORE, examples="PLAN_EXAMPLES"),
    CommandRow("quantiles", "winnow.numbers.cli:plan", BEFORE, examples="PLAN_EXAMPLES"),
    CommandRow("histogram", "winnow.numbers.histogram.cli:plan", BEFORE, examples="PLAN_EXAMPLES"),
    CommandRow("regress", "winnow.numbers.regress.cli:plan", BEFORE, examples="PLAN_EXAMPLES"),
    CommandRow("release", "winnow.release.cli.plan:release", BEFORE),
    CommandRow("lp", "winnow.lp.cli:plan", BEFORE, examples="PLAN_EXAMPLES"),
    CommandRow("ask", "winnow.ask.cli.plan:ask", BEFORE),
)
_SCHEMAS = (
    CommandRow("draft", "winnow.cli.schema:draft", BEFORE, examples="DRAFT_EXAMPLES", tables=True),
    CommandRow("check", "winnow.cli.schema:check", BEFORE, examples="CHECK_EXAMPLES", tables=True),
)
_LEDGERS = (
    CommandRow("init", "winnow.cli.ledger:init", BEFORE, examples="INIT_EXAMPLES"),
    CommandRow("show", "winnow.cli.ledger:show", BEFORE),
    CommandRow("verify", "winnow.cli.ledger:verify", BEFORE),
    CommandRow("export", "winnow.cli.ledger:export", BEFORE),
)
_SHARES = (
    CommandRow("set", "winnow.cli.ledger:set_share", BEFORE, examples="SHARE_EXAMPLES"),
    CommandRow("list", "winnow.cli.ledger:list_shares", BEFORE, examples="SHARE_EXAMPLES"),
)
_SERVERS = (
    CommandRow("demo", "winnow.serve.cli:demo", START),
    CommandRow("check", "winnow.serve.cli:check", BEFORE),
)
_OF_SERVERS = {
    "token": (
        CommandRow("new", "winnow.serve.cli:token_new", BEFORE),
        CommandRow("list", "winnow.serve.cli:token_list", BEFORE),
        CommandRow("revoke", "winnow.serve.cli:token_revoke", BEFORE),
    ),
    "dataset": (
        CommandRow("add", "winnow.serve.cli:dataset_add", BEFORE),
        CommandRow("list", "winnow.serve.cli:dataset_list", BEFORE),
    ),
    "share": (CommandRow("set", "winnow.serve.cli:share_set", BEFORE),),
}
_HELP_OF_SERVERS = {
    "token": "Make, list and end tokens.",
    "dataset": "Add and list datasets.",
    "share": "Say how much of a cap each analyst may use.",
}


def _load(row: CommandRow) -> Any:
    """The command of a row; what makes commands is imported with the first of them."""
    from winnow.cli.making import made

    return made(row, releases=row.panel == RELEASE)


def _load_of_server(row: CommandRow) -> Any:
    """A command for a server, which has settings and a log of its own."""
    from winnow.cli.making import made

    return made(row, releases=False, alone=True)


app = lazy(
    COMMANDS,
    _load,
    name="winnow",
    epilog=EXAMPLES,
    invoke_without_command=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


NEXT = (
    ("New here", (
        ("winnow demo", "all of it in a minute, on made-up data"),
        ("winnow demo --write tour", "made-up files; then try:"),
        ("winnow top-k tour/sightings.csv --item bird --person person --max-items 5 -k 5 "
         "--with-counts --epsilon 1 --delta 1e-6", ""),
    )),
    ("Your own data", (
        ("winnow schema --help", "describe a table, and check the description"),
        ("winnow ledger --help", "a budget that outlives the process"),
        ("winnow plan --help", "what to expect, before anything is spent"),
    )),
    ("Help", (
        ("winnow --help", "all commands"),
        ("winnow COMMAND --help", "the options of one"),
    )),
)  # fmt: skip
"""What a user without a command sees: what to do next."""


def _show_next() -> None:
    lines = [f"Winnow {__version__}: differentially private statistics.", ""]
    for heading, commands in NEXT:
        lines.append(f"{heading}:")
        for command, about in commands:
            lines.append(
                f"  {command:<24}  {about}".rstrip() if len(command) < 25 else f"  {command}"
            )
        lines.append("")
    typer.echo("\n".join(lines[:-1]))


@app.callback()
def _winnow(
    context: typer.Context,
    version: Annotated[
        bool,
        typer.Option(
            "--version", help="Show the version.", is_eager=True, callback=lambda v: _version(v)
        ),
    ] = False,
) -> None:
    """Differentially private statistics: top lists, tables, synthetic data, questions."""
    if context.invoked_subcommand is None and not context.args:
        _show_next()


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"winnow {__version__}")
        raise typer.Exit


plans = lazy(_PLANS, _load, no_args_is_help=True)
app.add_typer(
    plans,
    name="plan",
    help="Predict errors before anything is spent.",
    rich_help_panel=BEFORE,
)
schemas = lazy(_SCHEMAS, _load, no_args_is_help=True)
app.add_typer(
    schemas,
    name="schema",
    help="Write the public schema of a table, and check it before anything is spent.",
    rich_help_panel=BEFORE,
)
ledgers = lazy(_LEDGERS, _load, no_args_is_help=True)
app.add_typer(
    ledgers,
    name="ledger",
    help="Keep a record of everything that was spent on a dataset.",
    rich_help_panel=BEFORE,
)
ledgers.add_typer(
    lazy(_SHARES, _load, no_args_is_help=True),
    name="share",
    help="Say how much of a dataset's cap each analyst may use.",
    rich_help_panel=BEFORE,
)
servers = lazy(_SERVERS, _load_of_server, invoke_without_command=True)
app.add_typer(
    servers,
    name="serve",
    help="Let analysts ask over HTTP, under budgets; the data stay here.",
    rich_help_panel=RELEASE,
)


@servers.callback(epilog=serve.EXAMPLES)
def _serve(context: typer.Context, config: serve.ConfigOption = Path("winnow.toml")) -> None:
    """Let analysts ask over HTTP, under budgets; the data stay here."""
    if context.invoked_subcommand is None:
        serve.serve(config)


for _name, _rows in _OF_SERVERS.items():
    servers.add_typer(
        lazy(_rows, _load_of_server, no_args_is_help=True),
        name=_name,
        help=_HELP_OF_SERVERS[_name],
        rich_help_panel=BEFORE,
    )
