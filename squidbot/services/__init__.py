"""What an engine does beside turns: one file for each service."""
