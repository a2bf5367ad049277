"""What squidbot decides: standard library only, no I/O, no clock, no randomness, no logging."""
