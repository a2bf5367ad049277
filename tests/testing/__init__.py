"""Tests of the public checks."""
