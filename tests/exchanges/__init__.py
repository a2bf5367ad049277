"""Conversations as files of other systems, and back."""
