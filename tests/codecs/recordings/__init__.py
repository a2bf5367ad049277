"""Readers of the sessions that agents record."""
