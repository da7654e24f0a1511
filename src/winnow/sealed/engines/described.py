"""The columns of a source that DuckDB can see, and what they mean for a query."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from sqlglot import exp

from winnow.sealed.engines.keys import check_columns, is_whole
from winnow.sealed.engines.query import CountQuery


def column_types(connection: Any, source: exp.Expression) -> dict[str, str]:
    """The columns of a source and their types."""
    described = f"DESCRIBE {exp.select('*').from_(source.copy()).sql(dialect='duckdb')}"
    return {row[0]: row[1] for row in connection.execute(described).fetchall()}


def typed(query: CountQuery, types: Mapping[str, str]) -> CountQuery:
    """The query for columns of these types, if they may be counted."""
    check_columns(types, item=query.item, user=query.user)
    return replace(query, whole=is_whole(types, query.user))
