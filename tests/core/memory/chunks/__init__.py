"""Files in pieces."""
