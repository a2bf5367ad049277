"""Tests of squidbot/core/view."""
