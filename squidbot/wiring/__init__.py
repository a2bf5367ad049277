"""What bootstrap joins: adapters by name, extensions, and who listens."""
