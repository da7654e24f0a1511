"""Public queries over a schema: marginals, prefixes, ranges, conditions, arrays."""
