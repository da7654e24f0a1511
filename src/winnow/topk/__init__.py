"""The k items with the highest counts."""
