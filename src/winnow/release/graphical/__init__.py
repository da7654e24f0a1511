"""A synthetic table of many columns by a graphical model."""
