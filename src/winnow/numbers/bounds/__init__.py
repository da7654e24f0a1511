"""Private bounds: between which numbers nearly all values of a column lie."""
