"""The journal: what was done, decided and left open, in entries that outlive any session (document 003, Journal 247).

| file     | holds |
|----------|-------|
| ports    | what the core asks of a journal: append, the newest, a day |
| rules    | what is kept of an entry: secrets taken out, caps, files and errors where they are wanted |
| asking   | an entry written by a language model |
| making   | an entry made by rule of what was said since the one before |
| progress | how far a session has been told |
| digest   | the newest entry and what is open, in a small room |
| markdown | an entry, and a day, for people |
| entry    | `Entry`, and its line of JSON |
"""
