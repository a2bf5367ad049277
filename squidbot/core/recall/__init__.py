"""Earlier messages, found and brought back."""
