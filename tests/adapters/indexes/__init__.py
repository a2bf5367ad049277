"""Indexes of vectors that are kept on disk: what all promise, and what is of one kind."""
