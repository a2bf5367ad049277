"""Tests of squidbot.core.prompts."""
