"""Indexing, over real folders, and what is run and killed beside it."""
