"""Tables over the cliques of a junction tree."""
