"""What opens private rows for quantiles: the rows of each group, and the draws over them."""
