"""Goals as values: the active one with milestones, decisions, artifacts and blockers (O-07, O-18).

| file    | holds |
|---------|-------|
| book    | one session's goals: read from its store, changed by call |
| head    | the text that stands for them in a request, and its cap |
| marked  | changes, read from marked lines |
| records | changes by call, as they are stored; all of a session's goals, from records and marked lines |
| values  | `Goals`, and what a change makes of them |
"""
