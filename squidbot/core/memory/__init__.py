"""Durable facts: where they come from, how they are found, and how they are told."""
