"""Tests of squidbot/core/history."""
