"""Durable facts: learning, search, and injection into requests."""
