"""``winnow serve``: run a server, and look after one that runs."""

from __future__ import annotations

import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from winnow.cli.reporting import report, reported
from winnow.core.unit import counted
from winnow.errors import DataError, ExtraMissing, ParameterError
from winnow.foreign import instead

if TYPE_CHECKING:
    from winnow.serve.accounts import Accounts
    from winnow.serve.config import Config
    from winnow.serve.service import Service

EXAMPLES = """\
Examples:

winnow serve demo

winnow serve --config winnow.toml

winnow serve token new ann --role analyst --dataset people --config winnow.toml

winnow serve share set people ann 0.25 --config winnow.toml
"""

ConfigOption = Annotated[
    Path, typer.Option("--config", metavar="FILE", help="The configuration of the server.")
]
_CONFIG = Path("winnow.toml")


def _config(path: Path) -> Config:
    with instead(ExtraMissing("msgspec", "server", "winnow serve"), ImportError):
        from winnow.serve.config import read_config
    if not path.exists():
        raise DataError(
            f"there is no configuration {path}; name it with --config, or try: winnow serve demo"
        )
    return read_config(path)


def _accounts(config: Config) -> Accounts:
    """The accounts of a server, which may run meanwhile or not have been started yet."""
    from winnow.serve.accounts import Accounts
    from winnow.serve.store import ServerStore
    from winnow.serve.vault import Vault

    config.home.mkdir(parents=True, exist_ok=True)
    vault = Vault.open(config.path(config.key), create=True)
    return Accounts(ServerStore.open(config.place(config.store), vault, create=True))


def _open_log() -> None:
    """What goes wrong from here on is written to the standard error, for the owner."""
    import logging
    import sys

    logging.basicConfig(
        stream=sys.stderr, level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s"
    )
    logging.getLogger("winnow").setLevel(logging.WARNING)  # the audit log has every release,
    logging.getLogger("winnow.serve").setLevel(logging.INFO)  # and this one no times of draws


def _run(service: Service) -> None:
    """Serve until a signal comes."""
    import gc
    import logging
    import os
    import sys

    from threadpoolctl import threadpool_limits

    from winnow.serve.app import Server, http_server

    sys.setswitchinterval(0.0005)  # the ticker must not wait for others' computations
    threadpool_limits(1, "blas")  # nor for its core; small matrices are slower on several
    gc.collect()
    gc.freeze()  # what is here stays: to look through it again and again would stop all answers
    service.workers.start()
    server = Server(service)
    address = service.config.metrics_address
    if address is not None:
        server.metrics.serve(*address)
    try:
        http_server(server).run()
    finally:
        if not server.ended:  # what goes on survives this as it does a crash
            logging.shutdown()
            sys.stdout.flush()
            os._exit(0)


@reported()
def serve(config: ConfigOption = _CONFIG) -> None:
    """Let analysts ask questions of private data over HTTP, under budgets.

    The configuration names the datasets, their caps, and where the server listens: on this machine
    alone, unless a proxy with TLS stands in front. See winnow serve demo for one that needs none.
    """
    settings = _config(config)
    from winnow.serve.service import Service

    service = Service(settings)
    if not service.accounts.tokens():
        report("note: there is no token yet; make one with: winnow serve token new NAME")
    _open_log()  # before anything is opened, or done again: what fails there is told, too
    service.start()
    typer.echo(f"serving at {settings.origin}")
    _run(service)


@reported()
def demo(
    folder: Annotated[
        Path, typer.Option("--folder", metavar="DIR", help="Where its files go.")
    ] = Path("winnow-serve-demo"),
    port: Annotated[
        int, typer.Option("--port", metavar="N", help="The port it listens on.")
    ] = 8100,
) -> None:
    """Start a server with made-up data, an owner's token and two analysts' tokens.

    It needs no configuration and listens on this machine alone. Its files lie in the folder.
    """
    with instead(ExtraMissing("starlette", "server", "winnow serve"), ImportError):
        from winnow.serve.demo import prepare
    made = prepare(folder, port=port)
    _open_log()
    made.service.start()
    typer.echo(f"serving made-up data at {made.service.config.origin}\n")
    roles = {"olga": "owner", "ann": "analyst", "bob": "analyst"}
    for name, token in made.tokens.items():
        typer.echo(f"{roles[name]:<8} {name:<5} {token}")
    typer.echo("\nOpen the address in a browser and log in with a token, or try:\n")
    typer.echo(
        f"  curl -H 'Authorization: Bearer {made.tokens['ann']}' "
        f"{made.service.config.origin}/v1/datasets\n"
    )
    _run(made.service)


@reported()
def check(config: ConfigOption = _CONFIG, json: Annotated[
    bool, typer.Option("--json", help="As JSON.")] = False) -> None:  # fmt: skip
    """Check a configuration: settings, files, schemas, keys, store, ledger and limits.

    Nothing is served or spent.
    """
    import json as writer

    settings = _config(config)
    from winnow.serve.checking import check as checked

    wrong = checked(settings)
    problems = wrong.problems
    if json:
        typer.echo(writer.dumps({"ok": not problems, **vars(wrong)}))
    else:
        for problem in problems:
            report(f"error: {problem}")
        for note in wrong.notes:
            typer.echo(note)
        for warning in wrong.warnings:
            report(f"warning: {warning}")
        if not problems and not wrong.warnings:
            many = counted(len(settings.datasets), "dataset")
            typer.echo(f"{config}: {many}, listens on {settings.listen}: fine")
    if problems:
        raise typer.Exit(1)


@reported()
def token_new(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Whose token it is.")],
    role: Annotated[
        str, typer.Option("--role", metavar="ROLE", help="owner or analyst.")
    ] = "analyst",
    scopes: Annotated[
        str,
        typer.Option(
            "--scopes",
            metavar="LIST",
            help="A part of the role's scopes, such as read,ask; by default all.",
        ),
    ] = "",
    days: Annotated[
        float | None, typer.Option("--days", metavar="N", help="Days until it expires.")
    ] = None,
    dataset: Annotated[
        list[str] | None,
        typer.Option("--dataset", metavar="NAME", help="A dataset that an analyst may see."),
    ] = None,
    config: ConfigOption = _CONFIG,
) -> None:
    """Make a token. It is shown once; the server keeps only its hash."""
    settings = _config(config)
    accounts = _accounts(settings)
    for each, declared in settings.datasets.items():
        accounts.add_dataset(each, declared, by="command line")
    identity, secret = accounts.new_token(
        name, role, scopes=scopes, days=days, datasets=tuple(dataset or ()), by="command line"
    )
    typer.echo(f"{secret}")
    report(f"note: token {identity} of {name}; keep it, it is not shown again")


@reported()
def token_list(config: ConfigOption = _CONFIG, json: Annotated[
    bool, typer.Option("--json", help="As JSON.")] = False) -> None:  # fmt: skip
    """List all tokens; what they are is not shown."""
    import json as writer

    tokens = _accounts(_config(config)).tokens()
    if json:
        typer.echo(writer.dumps([vars(each) for each in tokens]))
        return
    now = time.time()
    rows = []
    for each in tokens:
        ended = each.revoked is not None or (each.expires is not None and each.expires <= now)
        state = "ended" if ended else "valid" if each.expires is None else _day(each.expires)
        rows.append((each.id, each.principal, each.role, " ".join(each.scopes), state))
    _table(("token", "name", "role", "scopes", "until"), rows)


@reported()
def token_revoke(
    token: Annotated[str, typer.Argument(metavar="TOKEN", help="Its id, as the list shows it.")],
    config: ConfigOption = _CONFIG,
) -> None:
    """Revoke a token; it ends at once."""
    if not _accounts(_config(config)).revoke(token, by="command line"):
        raise ParameterError(f"there is no token {token!r}; see winnow serve token list")
    typer.echo(f"token {token} ended")


@reported()
def dataset_add(
    name: Annotated[str, typer.Argument(metavar="NAME", help="What analysts call it.")],
    path: Annotated[str, typer.Option("--path", metavar="FILE", help="The private data.")],
    epsilon: Annotated[
        float,
        typer.Option("--epsilon", metavar="E", help="The cap on epsilon; it cannot be changed."),
    ],
    delta: Annotated[float, typer.Option("--delta", metavar="D", help="The cap on delta.")] = 0.0,
    kind: Annotated[
        str, typer.Option("--kind", metavar="KIND", help="table, events or baskets.")
    ] = "table",
    schema: Annotated[
        str | None, typer.Option("--schema", metavar="FILE", help="The public schema of a table.")
    ] = None,
    person: Annotated[
        str | None, typer.Option("--person", metavar="COLUMN", help="The column of people.")
    ] = None,
    max_per_person: Annotated[
        int,
        typer.Option(
            "--max-per-person", metavar="N", help="The most rows or items of one person that count."
        ),
    ] = 1,
    item: Annotated[
        str | None, typer.Option("--item", metavar="COLUMN", help="The column of items.")
    ] = None,
    relation: Annotated[
        str | None,
        typer.Option("--relation", metavar="NAME", help="add-remove or substitution."),
    ] = None,
    about: Annotated[
        str, typer.Option("--about", metavar="TEXT", help="A public sentence for analysts.")
    ] = "",
    config: ConfigOption = _CONFIG,
) -> None:
    """Add a dataset; a running server opens it within seconds.

    Questions and further settings are for the configuration file.
    """
    settings = _config(config)
    import msgspec

    from winnow.serve.declarations import Declaration

    given: dict[str, Any] = {
        "path": path, "epsilon": epsilon, "delta": delta, "kind": kind, "schema": schema,
        "person": person, "max_per_person": max_per_person, "item": item, "relation": relation,
        "about": about,
    }  # fmt: skip
    problem = ""
    try:
        declared = msgspec.convert(given, Declaration)
    except msgspec.ValidationError as error:
        problem = str(error)
    if problem:
        raise ParameterError(problem)
    missing = declared.missing(settings.home)
    if missing is not None:
        raise DataError(f"there is no file {missing!r} in {settings.home}")
    added = _accounts(settings).add_dataset(name, declared, by="command line")
    typer.echo(f"dataset {name}: {'added' if added else 'is there already'}")


@reported()
def dataset_list(config: ConfigOption = _CONFIG) -> None:
    """List all datasets with their caps."""
    settings = _config(config)
    declared = settings.datasets | _accounts(settings).datasets()
    rows = [
        (name, each.kind, f"{each.epsilon:g}", f"{each.delta:g}", each.neighbours, each.about)
        for name, each in declared.items()
    ]
    _table(("dataset", "kind", "epsilon", "delta", "relation", "about"), rows)


@reported()
def share_set(
    dataset: Annotated[str, typer.Argument(metavar="DATASET", help="Its name.")],
    analyst: Annotated[str, typer.Argument(metavar="ANALYST", help="Whose share it is.")],
    part: Annotated[float, typer.Argument(metavar="PART", help="A share of the cap, from 0 to 1.")],
    config: ConfigOption = _CONFIG,
) -> None:
    """Let an analyst use at most a part of a dataset's cap; earlier use counts."""
    from winnow.privacy.ledger import Ledger

    settings = _config(config)
    accounts = _accounts(settings)
    declared = settings.datasets | accounts.datasets()
    if dataset not in declared:
        raise ParameterError(f"there is no dataset {dataset!r}; see winnow serve dataset list")
    about = declared[dataset]
    key = settings.path(settings.ledger_key) if settings.ledger_key else None
    ledger = Ledger.open(settings.place(settings.ledger), key_file=key, create=True)
    ledger.open_dataset(
        dataset, epsilon=about.epsilon, delta=about.delta, relation=about.neighbours
    )
    ledger.set_share(dataset, analyst, part)
    accounts.note("command line", "share set", dataset=dataset, analyst=analyst, part=part)
    typer.echo(f"{analyst} may use {part:g} of the cap of {dataset}")


def _day(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M")


def _table(heads: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> None:
    from winnow.cli.printing import console, grid

    console().print(grid([(head, "left") for head in heads], rows))
