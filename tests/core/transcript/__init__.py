"""Tests of squidbot.core.transcript."""
