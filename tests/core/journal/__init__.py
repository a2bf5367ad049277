"""The journal: entries, what is kept of them, what is told of them."""
