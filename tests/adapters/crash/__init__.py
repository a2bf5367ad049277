"""The store and the engine above it when processes are killed, race, or the power or the disk fails."""
