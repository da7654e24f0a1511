"""Where data lie: files and frames by DuckDB, Postgres, Spark."""
