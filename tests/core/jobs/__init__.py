"""Tests of squidbot.core.jobs."""
