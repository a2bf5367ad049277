"""Tests of the core: they import squidbot, pytest and hypothesis only."""
