"""The servers of tests that are marked as extras."""

from __future__ import annotations

from servers import java, postgres_address, postgres_server, spark

__all__ = ["java", "postgres_address", "postgres_server", "spark"]
