"""The only part of a linear program that opens private rows or right-hand sides."""
