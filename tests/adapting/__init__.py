"""What several adapters do alike."""
