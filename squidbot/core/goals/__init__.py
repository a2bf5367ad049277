"""Goals as values: the active one with milestones, decisions, artifacts and blockers (O-07, O-18)."""
