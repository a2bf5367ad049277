"""Tests of squidbot/core/notes."""
