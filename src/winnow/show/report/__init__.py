"""Releases as self-contained web pages."""
