"""Notes made by rule: what stands for messages that are no longer sent."""
