"""Tests of squidbot/core/budget."""
