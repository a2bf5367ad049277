"""Codecs of messages, and recordings of conversations."""
