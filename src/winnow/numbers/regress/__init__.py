"""Linear regression by noisy moments: coefficients, with intervals."""
