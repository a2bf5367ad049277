"""Durable facts: where they come from, how they are found, and how they are told.

| file     | holds |
|----------|-------|
| asking   | what the tool `memory` does: search, add, list, forget, within one view |
| heads    | what stands in a request unasked: the index, cold-start facts, profile and traits |
| telling  | memories as text, in groups, as many as fit |
| naming   | ids as a model copies them |
"""
