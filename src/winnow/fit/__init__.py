"""The fit of a distribution to noisy numbers: cells, junction trees, queries. Post-processing."""
