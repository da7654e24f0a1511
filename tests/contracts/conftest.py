"""The servers of tests that are marked as extras."""

from servers import empty_postgres, java, postgres_address, postgres_server, spark

__all__ = ["empty_postgres", "java", "postgres_address", "postgres_server", "spark"]
