"""Tests of squidbot/core/counting."""
