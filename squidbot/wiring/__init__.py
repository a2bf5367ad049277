"""The parts that bootstrap joins: adapters by name, extensions, and listeners."""
