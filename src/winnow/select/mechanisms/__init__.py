"""One file for each top-k mechanism."""
