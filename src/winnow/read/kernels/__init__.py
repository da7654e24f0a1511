"""Text files byte by byte."""
