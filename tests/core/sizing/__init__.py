"""Tests of squidbot/core/sizing."""
