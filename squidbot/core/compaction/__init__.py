"""When and what is compacted, and why."""
