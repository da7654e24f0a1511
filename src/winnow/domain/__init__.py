"""Public vocabulary: neighbours, utilities, and the checks of public parameters."""
