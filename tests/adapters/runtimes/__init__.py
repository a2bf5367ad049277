"""Runtimes that hold a model in this process; what needs one is skipped where it is not installed."""
