"""TranscriptStore and SummaryStore in one SQLite file, readable with any SQLite tool (view `transcript`).

| file         | holds |
|--------------|-------|
| store        | `SqliteStore`: the two ports |
| opened       | a file that is open: whose turn it is, closing, overwriting |
| queries      | every statement that reads or writes messages and records |
| session_rows | a session's row: found by its id, added, grown |
| summary_rows | every statement that reads or writes summaries |
| rows         | a message as a row and back, with its checksum |
| claims       | who works on what, of all processes |
| finding      | sessions found by what their records say |
| erase        | rows are forgotten for good, and their bytes overwritten |
| index        | what search finds messages by: a view that can be made anew |
| views        | what this index and that of memories share: names, generations, damage |
| proof        | whether both say what the rows say: damage that no search notices |
| files        | a file is created, recognised, opened, copied |
| doctor       | `check` what a file is like, `repair` it into a copy |
| salvage      | what a damaged file still holds, each row proved by its checksum |
| pages        | a file as pages and cells, read without SQLite |
| access       | one thread at a time; SQLite's errors become ours |
"""

from squidbot.adapters.sqlite3.store import SqliteStore

__all__ = ["SqliteStore"]
