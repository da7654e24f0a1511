"""Where a log is counted: DuckDB by default, Spark or Postgres where the data are there."""
