"""The tests; fixtures for all are in conftest.py."""
