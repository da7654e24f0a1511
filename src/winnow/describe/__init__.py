"""A first look at a table: every column, in one charge."""
