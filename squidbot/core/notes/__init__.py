"""Notes by rule, which replace messages that are no longer sent."""
