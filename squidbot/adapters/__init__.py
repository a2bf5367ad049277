"""One file per third-party package: each serves a port of the core with it."""
