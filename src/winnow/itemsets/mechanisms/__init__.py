"""Itemset selections that look at the baskets themselves."""
