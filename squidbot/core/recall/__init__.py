"""What was said before, found and brought back."""
