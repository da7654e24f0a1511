from collections.abc import Iterator
from pathlib import Path

import pytest

from serve.served import Served, config_of, serving, write_data
from servers import postgres_address, postgres_server

__all__ = ["postgres_address", "postgres_server", "served"]


@pytest.fixture(scope="session")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """One server for all tests that leave it as it is, but for what they spend."""
    folder: Path = tmp_path_factory.mktemp("served")
    write_data(folder)
    with serving(config_of(folder)) as running:
        yield running
