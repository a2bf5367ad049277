"""What a text costs, and how certain that is."""
