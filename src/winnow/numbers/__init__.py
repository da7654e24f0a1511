"""Numbers as they are: quantiles of columns on a public grid."""
