"""Tests of squidbot/core/changes."""
