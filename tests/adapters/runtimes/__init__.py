"""Runtimes that hold a model in this process; what needs one is skipped where it is not installed."""

import os

# Their threads wait for each other by turning: of tests on a machine that has other things to do most of the time.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
