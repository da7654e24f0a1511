"""Audits of interactive sessions."""
