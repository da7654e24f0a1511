"""Tables with noise: contingency tables, group-by counts, marginals, prefixes and ranges."""
