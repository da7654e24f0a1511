"""Audits of quantiles: by halving, and by joint draws."""
