"""Tests of squidbot.core.memory."""
