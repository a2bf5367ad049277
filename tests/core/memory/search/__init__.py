"""The search for memories."""
