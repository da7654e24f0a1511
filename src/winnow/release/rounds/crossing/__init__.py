"""The only part of a release that opens private counts."""
