"""Goals as values."""
